// The hub process that files of a worker share.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SharedHub } from './shared-hub.ts';

const [first, second] = [new SharedHub(), new SharedHub()];
beforeAll(async () => {
  await first.start();
  await second.start();
});
afterAll(async () => {
  await first.remove();
  await second.remove();
});

it('has a tenant for each file, which sees nothing of another', async () => {
  expect(second.url).toBe(first.url);
  const [cookie, other] = [await first.admin(), await second.admin()];
  await first.key(cookie);
  expect((await first.call('GET', '/api/v1/keys', { cookie })).body).toHaveLength(1);
  expect((await second.call('GET', '/api/v1/keys', { cookie: other })).body).toEqual([]);
});

it('is ended by no file', async () => {
  await expect(first.kill()).rejects.toThrow('starts its own');
  await expect(first.stop()).rejects.toThrow('starts its own');
});

it('ends with its worker, also when a signal ends the whole suite, and leaves no folder', async () => {
  const script = `
    import { startHub } from ${JSON.stringify(new URL('shared-hub.ts', import.meta.url).href)};
    const { hub, guard } = await startHub();
    console.log(JSON.stringify({ pid: hub.child.pid, guardPid: guard.pid, folder: hub.folder }));`;
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  const worker = spawn(process.execPath, ['--import', loader, '--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(worker.stdout, 'data')) as [Buffer];
  const { pid, guardPid, folder } = JSON.parse(line.toString()) as {
    [name in 'pid' | 'guardPid']: number;
  } & { folder: string };
  const isRunning = (): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  expect([isRunning(), existsSync(folder)]).toEqual([true, true]);
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM']) process.kill(guardPid, signal);
  worker.kill('SIGKILL');
  await expect.poll(() => [isRunning(), existsSync(folder)]).toEqual([false, false]);
});
