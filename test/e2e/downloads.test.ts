// The agent library as a hub hands it out: the same on both HTTP servers, without credentials, and installable.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { itAtNight, rowsOfRun } from '../runs.ts';
import { HubProcess } from './process.ts';

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);

describe.each(rowsOfRun(['native', 'node'], 1))('the downloads of a hub on the %s HTTP server', (server) => {
  const hub = new HubProcess(server === 'node' ? { HTTP_SERVER: 'node' } : {});
  const folder = mkdtempSync(join(tmpdir(), 'reeve-downloads-'));
  beforeAll(() => hub.start());
  afterAll(async () => {
    await hub.remove();
    rmSync(folder, { recursive: true, force: true });
  });
  const get = (path: string, init: RequestInit = {}) =>
    fetch(`${hub.url}${path}`, { redirect: 'manual', ...init });
  const names = async () => (await (await get('/downloads/SHA256SUMS')).text()).trim().split('  ');

  it('are a page without scripts, and the checksum of the package', async () => {
    const page = await get('/downloads/');
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'");
    const text = await page.text();
    const [digest = '', name = ''] = await names();
    expect(text).not.toMatch(/<script|<style|style=|\{BASE_URL\}/);
    expect(text).toContain(`/downloads/${name}</pre>`);
    expect(text).toContain(digest);
    const tarball = await get(`/downloads/${name}`);
    expect(Object.fromEntries(tarball.headers)).toMatchObject({
      'content-type': 'application/gzip',
      'content-disposition': `attachment; filename="${name}"`,
      'x-content-type-options': 'nosniff',
    });
    const bytes = Buffer.from(await tarball.arrayBuffer());
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(digest);
    const headers = { 'if-none-match': tarball.headers.get('etag') ?? '' };
    expect((await get(`/downloads/${name}`, { headers })).status).toBe(304);
    const head = await get(`/downloads/${name}`, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(bytes.length)]);
  });

  it('are nothing else, and nowhere else', async () => {
    for (const path of [
      '/downloads',
      '/downloads/index.html',
      '/downloads/other.tgz',
      '/downloads/..%2fpackage.json',
    ]) {
      expect([path, (await get(path)).status]).toEqual([path, 404]);
    }
    expect((await get('/downloads/SHA256SUMS', { method: 'POST' })).status).toBe(405);
  });

  itAtNight(
    'give an empty folder the program and the library',
    async () => {
      const [, name = ''] = await names();
      // The one dependency comes from a registry; here from this repository.
      const { stdout } = await run(
        'npm',
        ['pack', '--json', '--ignore-scripts', '--pack-destination', folder, join(root, 'node_modules/yaml')],
        { cwd: root },
      );
      const [yaml] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [{ filename: string }];
      const tarball = join(folder, name);
      writeFileSync(tarball, Buffer.from(await (await get(`/downloads/${name}`)).arrayBuffer()));
      writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}');
      const install = [
        'install',
        '--offline',
        '--no-audit',
        '--no-fund',
        tarball,
        join(folder, yaml.filename),
      ];
      await run('npm', install, { cwd: folder });
      const { stdout: help } = await run(join(folder, 'node_modules/.bin/reeve-agent'), ['--help']);
      expect(help).toContain('Usage: reeve-agent <command>');
      writeFileSync(
        join(folder, 'a.js'),
        "import { Guard } from 'reeve-agent'; console.log(typeof Guard.connect);",
      );
      expect((await run(process.execPath, ['a.js'], { cwd: folder })).stdout.trim()).toBe('function');
      await run('test', ['-s', join(folder, 'node_modules/reeve-agent/dist/docs/agent-guide.md')]);
    },
    120_000,
  );
});
