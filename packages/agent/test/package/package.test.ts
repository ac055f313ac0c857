// The package as people install it: packed from the files that git knows (in CI from the build of the same clone), put
// into an empty project with nothing but its one dependency, and used from JavaScript, TypeScript and CommonJS; its
// rule engine bundled for a runtime without Node.
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { createContext, runInContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isNightly, rowsOfRun } from '../../../../test/runs.ts';

const root = join(import.meta.dirname, '../../../..');
const run = promisify(execFile);
const program = (cwd: string, file: string, ...args: readonly string[]) =>
  run(process.execPath, [file, ...args], { cwd });

let folder = '';
let project = '';
let packed: readonly string[] = [];

/** A copy of what git has or would take: what a fresh clone is, with the packages that `npm ci` brings. */
async function freshClone(): Promise<string> {
  const clone = join(folder, 'clone');
  const { stdout } = await run('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: root,
    maxBuffer: 1 << 26,
  });
  const needed = stdout
    .split('\n')
    .filter((path) => /^(packages\/agent\/|scripts\/|src\/|docs\/[^/]+\.md$|[^/]+$)/.test(path));
  for (const path of needed) {
    if (!(await stat(join(root, path)).catch(() => null))?.isFile()) continue;
    await mkdir(join(clone, dirname(path)), { recursive: true });
    await cp(join(root, path), join(clone, path));
  }
  await symlink(join(root, 'node_modules'), join(clone, 'node_modules'));
  return clone;
}

/** The build of CI is seconds old and of a fresh clone, so per commit it stands for another one. */
const isBuilt = process.env.CI !== undefined && !isNightly;

async function pack(
  source: string,
  ...options: readonly string[]
): Promise<{ filename: string; files: { path: string }[] }> {
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder, ...options], {
    cwd: source,
    maxBuffer: 1 << 26,
  });
  const [answer] = JSON.parse(stdout.slice(stdout.indexOf('[')));
  return answer;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reeve-package-'));
  project = join(folder, 'project');
  const ours = isBuilt
    ? await pack(join(root, 'packages/agent'), '--ignore-scripts')
    : await pack(join(await freshClone(), 'packages/agent'));
  packed = ours.files.map(({ path }) => path);
  const yaml = await pack(join(root, 'node_modules/yaml'), '--ignore-scripts');
  await mkdir(project);
  await writeFile(join(project, 'package.json'), '{ "private": true }');
  const tarballs = [ours, yaml].map(({ filename }) => join(folder, filename));
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', ...tarballs], { cwd: project });
}, 180_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the packed files', () => {
  it('are the compiled library in both forms, its manifest, its page and its licence', () => {
    const top = new Set(
      packed.map((path) =>
        path
          .split('/')
          .slice(0, path.startsWith('dist/') ? 2 : 1)
          .join('/'),
      ),
    );
    expect([...top].sort()).toEqual([
      'LICENSE',
      'README.md',
      'dist/cjs',
      'dist/docs',
      'dist/esm',
      'package.json',
    ]);
    expect(
      packed.filter(
        (path) => !/(\.js|\.d\.ts|\.json|^LICENSE|^README\.md|^dist\/docs\/[a-z-]+\.md)$/.test(path),
      ),
    ).toEqual([]);
    const esm = packed.filter((path) => path.startsWith('dist/esm/')).map((path) => path.slice(9));
    const cjs = packed.filter((path) => path.startsWith('dist/cjs/')).map((path) => path.slice(9));
    // The program is an ES module, and nobody requires it.
    expect(cjs.filter((path) => path !== 'package.json')).toEqual(
      esm.filter((path) => !path.startsWith('cli/')),
    );
  });

  it('are those that the manifest names', async () => {
    const manifest = JSON.parse(
      await readFile(join(project, 'node_modules/reeve-agent/package.json'), 'utf8'),
    );
    const named = [manifest.main, manifest.types, ...Object.values(manifest.bin)].concat(
      Object.values(manifest.exports).flatMap((entry) => leavesOf(entry)),
    );
    const missing = (named as string[])
      .map((path) => path.replace('./', ''))
      .filter((path) => !packed.includes(path) && !path.startsWith('src/'));
    expect(missing).toEqual([]);
    expect(manifest.dependencies).toEqual({ yaml: expect.any(String) });
    expect(Object.keys(manifest.peerDependenciesMeta).sort()).toEqual(
      Object.keys(manifest.peerDependencies).sort(),
    );
  });

  it('take at most 3.7 MB installed, the YAML reader included', async () => {
    expect(await readdir(join(project, 'node_modules'))).toEqual(
      expect.arrayContaining(['reeve-agent', 'yaml']),
    );
    const files = await readdir(join(project, 'node_modules'), { recursive: true, withFileTypes: true });
    const sizes = await Promise.all(
      files
        .filter((file) => file.isFile())
        .map(async (file) => (await stat(join(file.parentPath, file.name))).size),
    );
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(3_700_000);
  });
});

function leavesOf(entry: unknown): string[] {
  if (typeof entry === 'string') return [entry];
  return Object.values(entry as object).flatMap(leavesOf);
}

describe("the guide's first example", async () => {
  const guide = await readFile(join(root, 'docs/agent-guide.md'), 'utf8');
  const [, code = '', output = ''] =
    /## A first guard[\s\S]*?```js\n([\s\S]*?)```\s*```text\n([\s\S]*?)```/.exec(guide) ?? [];
  const asCommonJs = `${code.replace(/^import \{(.*)\} from '(.*)';$/m, "const {$1} = require('$2');")}`;
  /** CommonJS waits for nothing at the top. */
  const inFunction = (text: string): string => {
    const [head = '', ...rest] = text.split(';\n');
    return `${head};\n(async () => {\n${rest.join(';\n')}\n})();\n`;
  };

  it('runs as an ES module', async () => {
    await writeFile(join(project, 'first.mjs'), code);
    expect((await program(project, 'first.mjs')).stdout).toBe(output);
  });

  it('runs as CommonJS', async () => {
    expect(asCommonJs).not.toBe(code);
    await writeFile(join(project, 'first.cjs'), inFunction(asCommonJs));
    expect((await program(project, 'first.cjs')).stdout).toBe(output);
  });

  const typescript: readonly (readonly string[])[] = [
    ['CommonJS', 'second.cts', 'NodeNext', 'NodeNext', ''],
    ['an ES module', 'first.mts', 'NodeNext', 'NodeNext', code],
    ['a bundled module', 'third.ts', 'ESNext', 'Bundler', code],
  ];
  it.each(rowsOfRun(typescript, 1))(
    'compiles strictly as TypeScript in %s, and runs',
    async (_name = '', file = '', module = '', moduleResolution = '', text = '') => {
      const typed = (text === '' ? inFunction(code) : code)
        .replace('async ({ path })', 'async ({ path }: { path: string }): Promise<string>')
        // A call has the type of its tool.
        .replace('console.log(await guard', 'const shown: string = await guard')
        .replace('readFile, conversation));', 'readFile, conversation);\nconsole.log(shown);');
      const own = join(project, `typescript-${moduleResolution}-${file}`);
      await mkdir(own, { recursive: true });
      await writeFile(join(own, file), typed);
      await writeFile(
        join(own, 'tsconfig.json'),
        JSON.stringify({
          compilerOptions: {
            module,
            moduleResolution,
            target: 'ES2022',
            strict: true,
            exactOptionalPropertyTypes: true,
            noUncheckedIndexedAccess: true,
            skipLibCheck: false,
            types: ['node'],
            typeRoots: [join(root, 'node_modules/@types')],
            outDir: 'out',
            rootDir: '.',
          },
          files: [file],
        }),
      );
      await program(own, join(root, 'node_modules/typescript/bin/tsc'), '-p', own).catch((failure) => {
        throw new Error(`${failure.stdout}${failure.stderr}`);
      });
      const compiled = file.replace(/ts$/, 'js');
      if (moduleResolution === 'Bundler') await writeFile(join(own, 'package.json'), '{ "type": "module" }');
      expect((await program(own, join('out', compiled))).stdout).toBe(output);
    },
    60_000,
  );
});

describe('the library alone', () => {
  it('says nothing about telemetry that is not there, and what it needs for a WebSocket', async () => {
    await writeFile(
      join(project, 'alone.mjs'),
      `import { Guard, guardTools } from 'reeve-agent';
const guard = Guard.fromYaml(\`
apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
contracts:
  - { id: no, type: pre, tool: "*", when: { args.path: { contains: ".env" } }, then: { effect: deny, message: secrets } }
\`);
const tools = guardTools(guard, { read: { execute: async ({ path }) => 'read ' + path } });
console.log(await tools.read.execute({ path: 'a' }, {}), await tools.read.execute({ path: '.env' }, {}));
await Guard.connect({ url: 'http://localhost:1', apiKey: 'k', transport: 'websocket' }).catch((error) => console.log(error.name, error.message));
`,
    );
    const { stdout, stderr } = await program(project, 'alone.mjs');
    expect(stdout).toBe(
      "read a { refusal: 'denied', contract: 'no', message: 'secrets' }\nTypeError option transport: 'websocket' needs the package ws (npm install ws)\n",
    );
    expect(stderr).toBe('');
  });

  it('brings its program and its typed client', async () => {
    const { stdout } = await run(join(project, 'node_modules/.bin/reeve-agent'), ['check', '--help']);
    expect(stdout).toContain('Usage: reeve-agent check');
    for (const command of ['mcp', 'gate', 'test']) {
      const { stdout: help } = await run(join(project, 'node_modules/.bin/reeve-agent'), [command, '--help']);
      expect(help).toContain(`Usage: reeve-agent ${command}`);
    }
    const client = `const { consoleClient, consoleRoutes } = require('reeve-agent/console');
console.log(typeof consoleClient({ url: 'http://localhost:1' }).listKeys, consoleRoutes.login.path);`;
    const { stdout: told } = await run(process.execPath, ['-e', client], { cwd: project });
    expect(told).toBe('function /api/v1/auth/login\n');
  });
});

describe('the hook command', () => {
  it('judges as it is packed: one file, without the YAML reader, and with what it loads beside it', async () => {
    await writeFile(
      join(project, 'guardrails.yaml'),
      `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
contracts:
  - { id: no, type: pre, tool: Bash, when: { args.command: { contains: "rm -rf" } }, then: { effect: deny, message: "not here" } }
`,
    );
    const gate = async (command: string) => {
      const args = ['gate', '--contracts', 'guardrails.yaml', '--state', join(project, 'state')];
      const child = run(join(project, 'node_modules/.bin/reeve-agent'), args, { cwd: project });
      child.child.stdin?.end(JSON.stringify({ tool: 'Bash', args: { command } }));
      return child.then(({ stdout }) => stdout).catch((failure: { stdout: string }) => failure.stdout);
    };
    expect(JSON.parse(await gate('rm -rf /'))).toEqual({
      verdict: 'deny',
      contract: 'no',
      reason: 'not here',
    });
    expect(JSON.parse(await gate('ls'))).toMatchObject({ verdict: 'allow' });
  });
});

describe('the rule engine', () => {
  const source = `import { compileBundle, dryRun, evaluateCall } from 'reeve-agent/rules';
const compiled = compileBundle(\`
apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
contracts:
  - { id: no-env, type: pre, tool: "*", when: { args.path: { matches: "[.]env$" } }, then: { effect: deny, message: "no {args.path}" } }
  - { id: inside, type: sandbox, tool: read, within: [/srv], message: "outside" }
\`);
const verdictOf = (path) => dryRun(compiled.bundle, { tool: 'read', args: { path } }).verdict;
globalThis.verdicts = ['/srv/a', '/srv/.env', '/etc/passwd'].map(verdictOf);
const counters = { attempts: 1, executions: 0, toolExecutions: 0 };
globalThis.live = evaluateCall(compiled.bundle, { tool: 'read', args: { path: '/srv/.env' } }, { counters }).reason;`;

  const bundled = async (entry: string, text: string): Promise<string> => {
    await writeFile(join(project, entry), text);
    const { outputFiles } = await build({
      entryPoints: [join(project, entry)],
      absWorkingDir: project,
      bundle: true,
      minify: true,
      write: false,
      platform: 'browser',
      format: 'iife',
      target: 'es2022',
    });
    return outputFiles[0]?.text ?? '';
  };

  it('fits a browser or an edge runtime', async () => {
    const engine = await bundled(
      'engine-alone.js',
      `import { compileBundle, dryRun, evaluateCall } from 'reeve-agent/rules';
globalThis.engine = [compileBundle, dryRun, evaluateCall];`,
    );
    // Of it, the profiles of 173 programs take 6 KiB, and the prefixes of 90 vendors' tokens 1.4 KiB.
    expect(gzipSync(engine).length).toBeLessThan(70 * 1024);
  });

  it('runs with the standards of the web alone', async () => {
    const code = await bundled('engine.js', source);
    // Neither process nor Buffer nor require: what is not of the language itself is handed in.
    const context = createContext({ URL, TextEncoder, TextDecoder });
    runInContext(code, context);
    expect(context.verdicts).toEqual(['allow', 'deny', 'deny']);
    expect(context.live).toBe('no /srv/.env');
  });
});
