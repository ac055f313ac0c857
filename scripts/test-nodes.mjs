// Runs, on the other versions of Node, the agent library's tests and those of the edge on Node's own HTTP server, which
// the hub uses where the native one does not load; and the latter on this version too: node test-nodes.mjs [MAJOR...]
// Their binaries come from the npm package `node` and are kept in node_modules/.cache. A version that cannot be had is
// said and left out.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const promised = ['20', '22', '24'];
const own = process.versions.node.split('.')[0];
const asked = process.argv.slice(2);
const majors = asked.length > 0 ? asked : promised.filter((major) => major !== own);

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
const edge = ['--config', 'vitest.node-http.config.ts', 'test/adapters/uws', 'test/e2e/main-job.test.ts'];
const vitest = (binary, suite) =>
  spawnSync(binary, ['node_modules/vitest/vitest.mjs', 'run', ...suite], { stdio: 'inherit' }).status !== 0;

let failed = false;
if (asked.length === 0) {
  console.log(`The edge on the HTTP server of Node ${own}:`);
  failed = vitest(process.execPath, [...edge, 'test/e2e/bounds-http.test.ts', 'test/e2e/frames.test.ts']);
}
for (const major of majors) {
  const binary = binaryOf(major);
  if (binary === null) continue;
  console.log(`The library's tests on Node ${major}:`);
  failed = vitest(binary, ['packages/agent/test', '--exclude', 'packages/agent/test/package/**']) || failed;
  console.log(`The edge on the HTTP server of Node ${major}:`);
  failed = vitest(binary, edge) || failed;
}
process.exit(failed ? 1 : 0);
