// Processes of rivals: found on PATH or in .cache/rivals, started in a temporary folder, ended with the suite.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CannotRun } from '../suite/failure.ts';
import { processTree } from '../suite/machine.ts';
import { root } from '../suite/root.ts';
import type { Absence, Installation, RivalProcess } from './rival.ts';

/** Programs that `rivals install` built. */
export const rivalCache = join(root, '.cache/rivals');
export const rivalFolder = join(root, 'bench/rivals');

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Debian's servers are in /usr/sbin, which is on the PATH of administrators alone. */
const programFolders = (): readonly string[] => [
  rivalCache,
  ...(process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== ''),
  '/usr/sbin',
];

/** The path of a program; null where there is none. */
export const findProgram = (name: string): string | null =>
  programFolders()
    .map((folder) => join(folder, name))
    .find(isProgram) ?? null;

/** The part of a version text that matches, from either output of the program. */
export function readVersion(program: string, args: readonly string[], pattern: RegExp): string {
  try {
    // nginx prints its version on stderr.
    const text = execFileSync('/bin/sh', ['-c', 'exec "$0" "$@" 2>&1', program, ...args], {
      encoding: 'utf8',
      timeout: 10_000,
    });
    return pattern.exec(text)?.[1] ?? 'unknown';
  } catch {
    return 'unknown';
  }
}

export const installHint = (name: string): string => `: run npm run bench -- rivals install ${name}`;

/** Finds a program that needs nothing beside it. @param hint what a missing program's reason ends with */
export const locateByVersion =
  (name: string, args: readonly string[], pattern: RegExp, hint = '') =>
  (): Installation | Absence => {
    const program = findProgram(name);
    return program === null
      ? { absent: `${name} is not on PATH${hint}` }
      : { program, version: readVersion(program, args, pattern) };
  };

/** A file of `bench/rivals`. @param values replace their names in braces; other braces stay */
export const fillTemplate = (file: string, values: { readonly [name: string]: string | number }): string =>
  readFileSync(join(rivalFolder, file), 'utf8').replaceAll(/\{(\w+)\}/g, (text, name: string) =>
    String(values[name] ?? text),
  );

/** Ports that no server uses now. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => net.createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => server.listening || once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as net.AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

const startMs = 30_000;

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });

export interface RivalStart {
  readonly program: string;
  readonly args: readonly string[];
  /** The server is ready when it listens on all of these. */
  readonly ports: readonly number[];
  /** A folder of `makeRivalFolder`, which goes with the server. */
  readonly folder: string;
  readonly env?: { readonly [name: string]: string };
}

export const makeRivalFolder = (): string => mkdtempSync(join(tmpdir(), 'reeve-bench-rival-'));

function endAll(child: ChildProcess): void {
  // A rival's own children do not always end with it.
  const pids = child.pid === undefined ? [] : processTree(child.pid);
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
}

/** @throws CannotRun with the last lines of the server's output if it does not listen within 30 s */
export async function startRival({
  program,
  args,
  ports,
  folder,
  env = {},
}: RivalStart): Promise<RivalProcess> {
  const child = spawn(program, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-2000);
    });
  }
  let hasEnded = false;
  const exited = new Promise<void>((resolve) => {
    for (const name of ['exit', 'error'] as const) {
      child.once(name, () => {
        hasEnded = true;
        resolve();
      });
    }
  });
  const remove = (): void => {
    if (!hasEnded) endAll(child);
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', remove);
  const stop = async (): Promise<void> => {
    process.off('exit', remove);
    if (!hasEnded) endAll(child);
    await exited;
    rmSync(folder, { recursive: true, force: true });
  };
  for (const end = performance.now() + startMs; ; ) {
    const states = await Promise.all(ports.map(isListening));
    if (states.every(Boolean)) break;
    if (hasEnded || performance.now() > end) {
      await stop();
      throw new CannotRun(`${program} does not listen: ${output.trim().slice(-500) || 'it printed nothing'}`);
    }
    await delay(50);
  }
  return { pids: () => (child.pid === undefined ? [] : processTree(child.pid)), stop };
}
