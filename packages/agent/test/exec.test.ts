// Programs in isolation: what a program contained by bubblewrap cannot do, whatever its words say, and what happens
// where nothing contains it.
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exists, installed } from '../../../test/services/debian.ts';
import { type ExecOptions, exec, IsolationError } from '../src/exec/index.ts';
import { isolationProblem } from '../src/exec/isolation.ts';
import { Guard } from '../src/index.ts';
import { bundleOf, pre } from './rules/evaluate/rules.ts';
import { leaves } from './rules/sandbox/sandboxes.ts';

const bwrap = '/usr/bin/bwrap';
await installed('bubblewrap', () => exists(bwrap));
const problem = await isolationProblem('bwrap');

let base = '';
let work = '';
beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'exec-')));
  work = join(base, 'work');
  await mkdir(join(work, 'secret'), { recursive: true });
  await writeFile(join(base, 'outside.txt'), 'OUTSIDE');
  await writeFile(join(work, 'inside.txt'), 'inside');
  await writeFile(join(work, 'secret/key'), 'SECRET');
  await writeFile(join(work, '.env'), 'SECRET');
  await symlink(join(base, 'outside.txt'), join(work, 'link'));
});
afterAll(() => rm(base, { recursive: true, force: true }));

const shell = (line: string, options: Partial<ExecOptions> = {}) =>
  exec({ argv: ['sh', '-c', line], within: [work], isolation: 'required', ...options });

describe('where nothing isolates', () => {
  const nowhere = { bubblewrap: '/nonexistent/bwrap' };

  it('required refuses before the program starts', async () => {
    const running = shell('touch started', nowhere);
    await expect(running).rejects.toThrow(IsolationError);
    await expect(running).rejects.toThrow(/bubblewrap does not work here .*preferred/);
    expect(existsSync(join(work, 'started'))).toBe(false);
  });

  it('preferred runs, and the result contains that nothing contained the program', async () => {
    const result = await shell('cat inside.txt; exit 3', { ...nowhere, isolation: 'preferred' });
    expect(result).toMatchObject({ stdout: 'inside', code: 3, signal: null, isolation: 'none' });
  });

  it('the stricter mode of guard and call holds', async () => {
    const guardOf = (isolation: 'required' | 'none') => Guard.fromYaml(bundleOf(pre('a')), { isolation });
    const strict = shell('true', { ...nowhere, isolation: 'none', guard: guardOf('required') });
    await expect(strict).rejects.toThrow(IsolationError);
    await expect(shell('true', { ...nowhere, guard: guardOf('none') })).rejects.toThrow(IsolationError);
    expect(() => guardOf('docker' as never)).toThrow(/isolation must be 'none' or 'preferred' or 'required'/);
  });
});

it('a failure that may pass is tried again, and a missing program is not', async () => {
  const program = join(base, 'bwrap');
  expect(await isolationProblem(program)).toMatch(/ENOENT/);
  const other = join(base, 'other');
  await writeFile(other, '#!/bin/sh\necho busy >&2; exit 1\n', { mode: 0o755 });
  expect(await isolationProblem(other)).toBe('busy');
  for (const path of [program, other]) await writeFile(path, '#!/bin/sh\n', { mode: 0o755 });
  expect(await isolationProblem(other)).toBeNull();
  expect(await isolationProblem(program)).toMatch(/ENOENT/);
});

describe('a program', () => {
  it('has bounds on its outputs and its time', async () => {
    const long = await shell('yes | head -c 100000; echo x >&2', { isolation: 'none', maxOutput: 1000 });
    expect(long).toMatchObject({ stdout: 'y\n'.repeat(500), stderr: 'x\n', isCut: true, isTimeout: false });
    const slow = await shell('sleep 600 & wait', { isolation: 'none', timeout: 50 });
    expect(slow).toMatchObject({ signal: 'SIGKILL', isTimeout: true });
  });

  it('is waited for no longer than its time, also where a process in its own session holds the outputs', async () => {
    const line = 'echo early; setsid sleep 60 & echo $!';
    const result = await shell(line, { isolation: 'none', timeout: 300 });
    expect(result).toMatchObject({ code: 0, isTimeout: true });
    const [early, id] = result.stdout.split('\n');
    expect(early).toBe('early');
    process.kill(Number(id), 'SIGKILL');
  });

  it.each([
    [{ argv: [] }, 'option argv must be a list of strings that is not empty'],
    [{ within: undefined }, 'option within is not set'],
    [{ isolation: 'docker' }, 'option isolation must be'],
    [{ timeouts: 1 }, 'did you mean timeout?'],
    [{ cwd: '/' }, 'option cwd must be a folder in within'],
  ])('with the options %j does not start', async (options, message) => {
    const running = exec({ argv: ['true'], within: [work], ...options } as unknown as ExecOptions);
    await expect(running).rejects.toThrow(message);
  });
});

describe.skipIf(problem !== null)(`in isolation${problem === null ? '' : ` (not here: ${problem})`}`, () => {
  it('a program does its work in its folder', async () => {
    const result = await shell('cat inside.txt - > made.txt; pwd; id -u >/dev/null && echo done', {
      input: ' in',
    });
    expect(result).toMatchObject({ stdout: `${work}\ndone\n`, stderr: '', code: 0, isolation: 'bubblewrap' });
    expect(await readFile(join(work, 'made.txt'), 'utf8')).toBe('inside in');
  });

  // Words catch mistakes: the first line is refused before it runs, the others are not. Isolation contains them all.
  it.each([
    ['cat ../outside.txt', true],
    ['sh read.sh', false],
    ['cat link', false],
  ])('%s reads nothing outside', async (line, isRefusedByWords) => {
    await writeFile(join(work, 'read.sh'), 'cat ../out*; cat /etc/shadow /root/.[a-z]*; ls ..');
    expect(leaves(`within: [${JSON.stringify(work)}]`, { command: line }, { cwd: work })).toBe(
      isRefusedByWords,
    );
    const { stdout, stderr, code } = await shell(line);
    expect(stdout).not.toMatch(/OUTSIDE|root:|outside\.txt/);
    expect([stderr, code]).not.toEqual(['', 0]);
  });

  it('a program changes nothing outside', async () => {
    const { stderr } = await shell(
      `echo x > ../new.txt; echo x > ${base}/outside.txt; echo x > /usr/new.txt`,
    );
    expect(stderr).toMatch(/Read-only file system/);
    expect([existsSync(join(base, 'new.txt')), existsSync('/usr/new.txt')]).toEqual([false, false]);
    expect(await readFile(join(base, 'outside.txt'), 'utf8')).toBe('OUTSIDE');
  });

  it('a program does not see excluded folders and files', async () => {
    const notWithin = [join(work, 'secret'), join(work, '.env'), join(work, 'missing')];
    const { stdout } = await shell('cat secret/* .env; ls secret; cat inside.txt', { notWithin });
    expect(stdout).toBe('inside');
    expect(existsSync(join(work, 'missing'))).toBe(false);
  });

  it('a program sees no excluded file through a link to the folder, and writes nothing that is read-only', async () => {
    const linked = join(base, 'linked');
    await symlink(work, linked);
    await mkdir(join(work, 'vendor/own'), { recursive: true });
    await writeFile(join(work, 'vendor/lib'), 'lib');
    const excluded = { within: [linked], notWithin: [join(linked, 'secret'), join(linked, '.env')] };
    const hidden = await shell(`cat secret/* .env ${work}/.env; cat inside.txt; echo x > .env`, excluded);
    expect(hidden.stdout).toBe('inside');
    expect(await readFile(join(work, '.env'), 'utf8')).toBe('SECRET');
    const write = 'cat vendor/lib; echo x > vendor/lib; echo x > vendor/own/new; rm vendor/lib';
    for (const options of [
      { readOnly: [join(work, 'vendor')] },
      { within: [linked], readOnly: [join(work, 'vendor')] },
    ]) {
      expect((await shell(write, options)).stdout).toBe('lib');
      expect(await readFile(join(work, 'vendor/lib'), 'utf8')).toBe('lib');
      expect(existsSync(join(work, 'vendor/own/new'))).toBe(false);
    }
    // A folder to write in, below one that is read-only.
    const nested = { within: [work, join(work, 'vendor/own')], readOnly: [join(work, 'vendor')] };
    await shell(write, nested);
    expect(await readFile(join(work, 'vendor/lib'), 'utf8')).toBe('lib');
    expect(existsSync(join(work, 'vendor/own/new'))).toBe(true);
  });

  it('a program sees neither other processes nor variables of this one', async () => {
    const { stdout } = await shell('ls -d /proc/[0-9]* | wc -l; env', {
      env: { PATH: '/usr/bin:/bin', OWN: 'x' },
    });
    expect(Number(stdout.split('\n')[0])).toBeLessThan(8);
    expect(stdout).toMatch(/^OWN=x$/m);
    expect(stdout).not.toMatch(/^(?:npm_|VITEST|HOME=\/root)/m);
  });

  it('a program and its children end with its time', async () => {
    const slow = await shell('sleep 600 & sleep 600', { timeout: 300 });
    expect(slow).toMatchObject({ isTimeout: true, isolation: 'bubblewrap' });
  });

  it('a program has no network, but for names in domains, which the proxy resolves', async () => {
    const server = createServer((request, response) => response.end(`page ${request.headers.host}`));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await writeFile(
      join(work, 'get.cjs'),
      // An agent of its own: Node's global one may take the proxy of the environment, and would ask it for itself.
      `const { Agent, request } = require('node:http');
       const agent = new Agent();
       const proxy = process.env.http_proxy && new URL(process.env.http_proxy);
       const ask = (options) => new Promise((resolve) => request({ agent, ...options }, (answer) => {
         let text = answer.statusCode + ' ';
         answer.on('data', (chunk) => { text += chunk; }).on('end', () => resolve(text.trim()));
       }).on('connect', ({ statusCode }, socket) => resolve('connect ' + statusCode, socket.destroy()))
         .on('error', ({ code }) => resolve(code)).end());
       const way = (host) => proxy ? { host: proxy.hostname, port: proxy.port, path: 'http://' + host + ':${port}/' }
         : { host, port: ${port} };
       (async () => {
         for (const host of ['localhost', '127.0.0.1']) console.log(await ask(way(host)));
         for (const path of proxy ? ['localhost:${port}', '127.0.0.1:${port}', 'evil.com:443'] : [])
           console.log(await ask({ host: proxy.hostname, port: proxy.port, method: 'CONNECT', path }));
         console.log(await ask({ host: '127.0.0.1', port: ${port} }));
       })();`,
    );
    const argv = [process.execPath, 'get.cjs'];
    const options = { argv, within: [work], isolation: 'required', readOnly: [process.execPath] } as const;
    const [without, allowed] = await Promise.all([exec(options), exec({ ...options, domains: ['LOCAL*'] })]);
    expect(without.stdout).not.toContain('page');
    expect(allowed.stdout.split('\n')).toEqual([
      `200 page localhost:${port}`,
      '403 127.0.0.1 is not among the domains of this program',
      'connect 200',
      'connect 403',
      'connect 403',
      'ECONNREFUSED',
      '',
    ]);
    await new Promise((resolve) => server.close(resolve));
  });
});
