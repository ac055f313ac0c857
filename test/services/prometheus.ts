// Prometheus and promtool for tests: those of this machine, or Debian's package, unpacked into the cache. The package
// is one download and needs no other package and no rights.
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder, onPath, output } from './command.ts';
import { exists } from './debian.ts';
import { alone } from './lock.ts';
import type { Reaper } from './reaper.ts';
import { run, type Service, say } from './service.ts';

const folder = join(cacheFolder, 'prometheus');
const downloadMs = 300_000;

const missing = (cause: unknown) =>
  new Error('These tests need promtool and prometheus 2.42 or later: install Prometheus, or run on Debian.', {
    cause,
  });

async function unpack(): Promise<void> {
  const draft = `${folder}.${process.pid}`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { recursive: true });
  const download = () =>
    output('sh', ['-c', 'cd "$0" && apt-get download -qq prometheus', draft], downloadMs);
  await download().catch(async () => {
    await output('apt-get', ['update', '-qq'], downloadMs);
    await download();
  });
  const file = (await readdir(draft)).find((name) => name.endsWith('.deb'));
  await output('dpkg-deb', ['-x', join(draft, file ?? ''), draft], downloadMs);
  await rename(draft, folder);
}

/** The path of one of the package's programs. Throws what to install. */
export async function prometheusProgram(name: 'prometheus' | 'promtool'): Promise<string> {
  const installed = await onPath(name);
  if (installed !== null) return installed;
  const path = join(folder, 'usr/bin', name);
  await alone(cacheFolder, async () => {
    if (await exists(path)) return;
    say(`unpacking Debian's prometheus into ${folder}`);
    await unpack();
  }).catch((error: unknown) => {
    throw missing(error);
  });
  return path;
}

/** The output of promtool; its errors are in the message when it fails. @param input for its standard input */
export async function promtool(args: readonly string[], input?: string): Promise<string> {
  const command = await prometheusProgram('promtool');
  if (input === undefined) return output(command, args, 60_000);
  const { spawn } = await import('node:child_process');
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...args], { stdio: ['pipe', 'pipe', 'pipe'] });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (bytes: Buffer) => {
        text += bytes.toString();
      });
    }
    child.once('error', reject);
    child.once('exit', (code) => (code === 0 ? resolve(text) : reject(new Error(text || `exit ${code}`))));
    child.stdin.end(input);
  });
}

/** Runs Prometheus on these settings. @param settings YAML */
export async function startPrometheus(reaper: Reaper, settings: string): Promise<Service> {
  const command = await prometheusProgram('prometheus');
  say(`Prometheus: ${command}`);
  const data = join(reaper.folder, `prometheus-${Math.random().toString(36).slice(2)}`);
  await mkdir(data);
  const file = join(data, 'prometheus.yml');
  await writeFile(file, settings);
  return run(
    {
      name: 'prometheus',
      command,
      args: (port) => [
        `--config.file=${file}`,
        `--storage.tsdb.path=${data}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--query.lookback-delta=15s',
        '--log.level=warn',
      ],
      url: (port) => `http://127.0.0.1:${port}`,
      async answers(url) {
        const response = await fetch(`${url}/-/ready`);
        if (response.status !== 200) throw new Error('not ready');
      },
    },
    reaper,
  );
}
