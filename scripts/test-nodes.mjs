// Runs, per commit, at most 15 files on each other version of Node: on the newest those of the agent library that
// depend on Node, on the other one the edge on Node's own HTTP server, which the hub uses where the native one does not
// load, and what opens connections in the library: node test-nodes.mjs [--all] [MAJOR...]. `--all` runs the whole
// library and the edge on each version. Their binaries come from the npm package `node` and are kept in
// node_modules/.cache. A version that cannot be had is said and left out.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const promised = ['20', '22', '24'];
const own = process.versions.node.split('.')[0];
const isWhole = process.argv.includes('--all');
const chosen = process.argv.slice(2).filter((argument) => argument !== '--all');
const majors = chosen.length > 0 ? chosen : promised.filter((major) => major !== own);

/** The path of the binary; null when it cannot be had. */
function binaryOf(major) {
  const folder = join('node_modules/.cache/nodes', major);
  const binary = join(process.cwd(), folder, 'node_modules/node/bin/node');
  try {
    if (!existsSync(binary)) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
      const install = ['install', '--no-save', '--no-audit', '--no-fund', `node@${major}`];
      execFileSync('npm', install, { cwd: folder, stdio: 'pipe', timeout: 300_000 });
    }
    return execFileSync(binary, ['--version'], { encoding: 'utf8' }).startsWith(`v${major}.`) ? binary : null;
  } catch (failure) {
    console.warn(`The tests are left out on Node ${major}: ${failure.message.split('\n')[0]}`);
    return null;
  }
}

/** The edge, and the hub's main job played against its process, on Node's own HTTP server. */
const edge = ['test/adapters/uws', 'test/e2e/main-job.test.ts'];
const onNodeServer = { HTTP_SERVER: 'node' };
/**
 * Left out: the package as it is packed, and long searches of the engine and of redaction, which are plain language on
 * any version.
 */
const leftOut = [
  'package/**',
  'rules/redact{.test.ts,/**}',
  'rules/evaluate/differential.test.ts',
  'rules/sandbox/{oracle,reference,shell}.test.ts',
].flatMap((files) => ['--exclude', `packages/agent/test/${files}`]);
const wholeLibrary = ['packages/agent/test', ...leftOut];
const testsOf = (names) => names.map((name) => `packages/agent/test/${name}.test.ts`);
/** Tests of what the library has of Node alone to open connections: bodies of answers and WebSockets. */
const connections = testsOf(['body', 'websocket']);
/** Also what is built on them, keys and files, and packages of other vendors. */
const dependsOnNode = [
  ...connections,
  ...testsOf(['connect', 'hub', 'sinks', 'stream', 'mcp/session', 'pins', 'real/mcp', 'real/telemetry']),
];
/** Processes of the library with a hub: standard input and output, processes of their own, files between them. */
const withHub = 'with a hub (fetches once|asks there)';
const programs = [...testsOf(['gate/gate', 'mcp/real']), '--testNamePattern', withHub];

const suites = [];
const binaries = majors
  .map((major) => ({ major, binary: binaryOf(major) }))
  .filter(({ binary }) => binary !== null);
const frames = 'test/e2e/frames.test.ts';
if ((isWhole && chosen.length === 0) || binaries.length === 0) {
  const title = `The edge on the HTTP server of Node ${own}:`;
  const more = [frames, 'test/e2e/bounds-http.test.ts'];
  suites.push({ title, binary: process.execPath, suite: [...edge, ...more], env: onNodeServer });
}
for (const [i, { major, binary }] of binaries.entries()) {
  const isNewest = i === binaries.length - 1;
  if (isWhole || i === 0) {
    const title = `The edge on the HTTP server of Node ${major}:`;
    suites.push({ title, binary, suite: [...edge, frames], env: onNodeServer });
  }
  const library = isWhole ? wholeLibrary : isNewest ? dependsOnNode : connections;
  suites.push({ title: `The library's tests on Node ${major}:`, binary, suite: library });
  if (isNewest && !isWhole)
    suites.push({ title: `The library's programs on Node ${major}:`, binary, suite: programs });
}

/** Runs a suite; what it prints comes at its end, in one piece. Resolves with whether it passed. */
function run({ title, binary, suite, env = {} }) {
  const child = spawn(binary, ['scripts/test-suite.mjs', ...suite], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const printed = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => printed.push(chunk));
  return new Promise((resolve) => {
    child.on('close', (code) => {
      process.stdout.write(Buffer.concat([Buffer.from(`${title}\n`), ...printed]));
      resolve(code === 0);
    });
  });
}

// One after another: beside other suites, two at a time kept each other from answering in time.
let passed = true;
for (const suite of suites) passed = (await run(suite)) && passed;
process.exitCode = passed ? 0 : 1;
