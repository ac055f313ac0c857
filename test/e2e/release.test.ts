// The release archive, as people install it: made from the build, unpacked into an empty folder, started with plain
// Node.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { filesBelow } from '../../scripts/production-packages.ts';
import { checkBinary, type RecordedBinaries } from '../../scripts/release.ts';
import { isNightly } from '../runs.ts';
import { HubProcess } from './process.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const recorded: RecordedBinaries = JSON.parse(
  readFileSync(join(root, 'deploy/native-binaries.json'), 'utf8'),
);
const sha256 = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

const folder = mkdtempSync(join(tmpdir(), 'reeve-release-'));
const archives = join(folder, 'archives');
const installed = join(folder, 'installed');
let name = '';
let files: readonly string[] = [];

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('a release is not made from a binary with another SHA-256 or none', () => {
  const path = Object.keys(recorded)[0] ?? '';
  expect(() => checkBinary(path, Buffer.from('other'), recorded)).toThrow(/not the recorded/);
  expect(() => checkBinary('other/a.node', Buffer.from('other'), recorded)).toThrow(/no SHA-256/);
});

// The archive takes ten seconds of the processor.
describe.runIf(isNightly)('an archive that is made and unpacked', () => {
  beforeAll(async () => {
    await run(process.execPath, ['--import', 'tsx', 'scripts/release.ts', '--to', archives], { cwd: root });
    name = readdirSync(archives).find((file) => file.endsWith('.tgz')) ?? '';
    mkdirSync(installed);
    await run('tar', ['-xzf', join(archives, name), '-C', installed, '--strip-components=1']);
    files = filesBelow(installed);
  }, 120_000);

  describe('a release archive', () => {
    it('names version, system, architecture and Node, and has its SHA-256 beside it', () => {
      const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
      const [major] = process.versions.node.split('.');
      expect(name).toBe(`reeve-${version}-${process.platform}-${process.arch}-node${major}.tgz`);
      const sums = readFileSync(join(archives, 'SHA256SUMS'), 'utf8');
      expect(sums).toBe(`${sha256(join(archives, name))}  ${name}\n`);
    });

    it('takes at most 60 MB unpacked, without source maps, types and packages for development', () => {
      const bytes = files.reduce((total, file) => total + statSync(join(installed, file)).size, 0);
      expect(bytes).toBeLessThanOrEqual(60_000_000);
      // Far below it, something would be missing.
      expect(bytes).toBeGreaterThan(20_000_000);
      expect(files.filter((file) => /\.(map|[cm]?ts|tsx)$/.test(file))).toEqual([]);
      const packages = readdirSync(join(installed, 'node_modules'));
      expect(packages).toEqual(expect.arrayContaining(['reeve-agent', 'zod', 'libsql', 'mongodb']));
      expect(
        packages.filter((one) => /^(\.bin|vitest|typescript|playwright-core|react|ai)$/.test(one)),
      ).toEqual([]);
    });

    it('has the two native binaries of its target, with their recorded SHA-256', () => {
      const binaries = files.filter((file) => file.endsWith('.node')).sort();
      const packages = binaries.map((file) => file.slice('node_modules/'.length));
      expect(packages).toEqual([
        expect.stringMatching(/^@libsql\/[^/]+\/index\.node$/),
        `uWebSockets.js/uws_${process.platform}_${process.arch}_${process.versions.modules}.node`,
      ]);
      for (const [at, file] of binaries.entries()) {
        expect(sha256(join(installed, file))).toBe(recorded[packages[at] ?? '']);
      }
    });

    it('has nothing that an installation could run', () => {
      const manifests = files.filter((file) => file.endsWith('package.json'));
      expect(manifests.length).toBeGreaterThan(20);
      const scripted = manifests.filter(
        (file) => 'scripts' in JSON.parse(readFileSync(join(installed, file), 'utf8')),
      );
      expect(scripted).toEqual([]);
    });
  });

  describe('a hub from an archive', () => {
    const hub = new HubProcess({}, join(installed, 'dist/src/main.js'));
    beforeAll(() => hub.start(), 60_000);
    afterAll(() => hub.remove());

    it('starts in an empty folder and serves its API, the console and the agent library', async () => {
      expect((await hub.call('GET', '/api/v1/health/ready')).status).toBe(200);
      expect((await fetch(`${hub.url}/dashboard/`)).status).toBe(200);
      expect(await (await fetch(`${hub.url}/downloads/SHA256SUMS`)).text()).toMatch(
        /^[0-9a-f]{64} {2}reeve-agent-/,
      );
    });

    it('stores documents and judges them in its threads', async () => {
      await hub.call('POST', '/api/v1/setup', {
        body: { email: 'ann@example.com', password: 'correct horse battery' },
      });
      const cookie = await hub.login('ann@example.com');
      const yaml_content = 'metadata: { name: guardrails }\ncontracts: []\n';
      const uploaded = await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content } });
      expect(uploaded).toMatchObject({ status: 201, body: { name: 'guardrails', version: 1 } });
    });

    it('loads the clients of a cluster', async () => {
      const cluster = JSON.stringify(join(installed, 'dist/src/hub/cluster.js'));
      const program = `const { openCluster } = await import(${cluster}); process.stdout.write(typeof openCluster);`;
      const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], {
        cwd: installed,
      });
      expect(stdout).toBe('function');
    });
  });
});
