// nginx with the shipped configuration before hubs of a test: only addresses, and folders that it writes to, differ.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { onPath } from './command.ts';
import { exists, installed } from './debian.ts';
import type { Reaper } from './reaper.ts';
import { run, type Service, say } from './service.ts';

const shippedFile = new URL('../../deploy/nginx.conf', import.meta.url);
/** Where Debian puts it; often not on the PATH of a user without rights. */
const packagedBinary = '/usr/sbin/nginx';

const url = (port: number): string => `http://127.0.0.1:${port}`;

const answers = (address: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(address).port), '127.0.0.1', () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });

const findBinary = async (): Promise<string | null> =>
  (await onPath('nginx')) ?? ((await exists(packagedBinary)) ? packagedBinary : null);

async function binary(): Promise<string> {
  const path = await findBinary();
  if (path !== null) return path;
  await installed('nginx', async () => (await findBinary()) !== null);
  const packaged = await findBinary();
  if (packaged === null) {
    throw new Error('The test of deploy/nginx.conf needs nginx: install nginx 1.22 or later.');
  }
  return packaged;
}

/** The processes that the master runs; they outlive one that is killed. */
async function workersOf(pid: number): Promise<readonly number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return children.split(' ').filter(Boolean).map(Number);
}

/** The shipped file with the hubs at these ports of this machine, listening on `port`. */
async function configuration(folder: string, port: number, hubs: readonly number[]): Promise<string> {
  const shipped = await readFile(shippedFile, 'utf8');
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${join(folder, kind)};`)
    .join(' ');
  const text = hubs
    .reduce((conf, hub, i) => conf.replaceAll(`hub${i + 1}:8000`, `127.0.0.1:${hub}`), shipped)
    .replace('http {', `http { ${folders}`)
    .replace('listen 8080', `listen 127.0.0.1:${port}`)
    .replace('/tmp/nginx.pid', join(folder, 'nginx.pid'));
  if (/hub\d:8000/.test(text)) throw new Error('deploy/nginx.conf has more hubs than the test.');
  return text;
}

/** Starts it before hubs at these ports of 127.0.0.1. */
export async function startNginx(reaper: Reaper, hubs: readonly number[]): Promise<Service> {
  const command = await binary();
  say(`nginx: ${command}`);
  const folder = join(reaper.folder, 'nginx');
  await mkdir(folder, { recursive: true });
  const file = join(folder, 'nginx.conf');
  const args = (): readonly string[] => ['-p', folder, '-c', file, '-g', 'daemon off;'];
  const prepare = async (port: number) => writeFile(file, await configuration(folder, port, hubs));
  const program = { name: 'nginx', command, args, url, answers, prepare, endSignal: 'SIGTERM' } as const;
  const service = await run(program, reaper);
  for (const pid of await workersOf(service.pid ?? 0)) reaper.watch(pid);
  return service;
}
