// A hub in a process of its own, from this or another built checkout, set up through the public API alone.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { adminOf, benchOperatorToken, setUp } from '../admin.ts';
import { UsageFault, unknownName } from './arguments.ts';
import { CannotRun } from './failure.ts';
import { makeTemporaryFolder } from './folder.ts';
import { freePort } from './free-port.ts';
import { onInterrupt } from './interrupt.ts';
import { newRunName, type RemoteAccess, readAccess, signIn } from './remote.ts';
import { root } from './root.ts';

export interface HubOptions {
  /** A built checkout. */
  readonly folder: string;
  /** Modules in `bench/slow/`, without their ending, that all threads of the hub load first. Default: none. */
  readonly preloads?: readonly string[];
  /** Further environment variables. */
  readonly settings?: { readonly [name: string]: string };
  /** Writes processor profiles of all threads to `profileFolder` when the hub ends. Default: false */
  readonly profile?: boolean;
  /** It stays after the run. Default: a temporary folder that goes with the hub */
  readonly keptFolder?: string;
}

export interface Hub {
  /** 0: a hub that the suite has not started, whose process it cannot measure. */
  readonly pid: number;
  readonly port: number;
  readonly url: string;
  readonly dataFolder: string;
  /** Of agents and keys on a hub that others use; null on the suite's own hub. */
  readonly runName: string | null;
  /** Credentials of a hub that the suite has not started. */
  readonly access: RemoteAccess | null;
  /** Bytes that the hub has written to its log, which is its output; null for a hub that the suite has not started. */
  logBytes(): number | null;
  /** Sends `question` to the preloaded modules. @returns the next answer */
  ask(question: string): Promise<unknown>;
  /** Ends the process and removes its data. */
  stop(): Promise<void>;
}

const startMs = 60_000;
/** Of `--profile`; files open in Chrome's developer tools. */
export const profileFolder = join(root, '.cache/bench/profiles');

const mainFileOf = (folder: string): string => join(folder, 'dist/src/main.js');

const slowFolder = join(root, 'bench/slow');
/** Modules that measure and slow nothing down. */
const meterNames: readonly string[] = ['count', 'loop', 'reached'];

/** Names that `--slow` takes. */
export const slowDowns = (): readonly string[] =>
  readdirSync(slowFolder)
    .filter((file) => file.endsWith('.mjs'))
    .map((file) => file.slice(0, -'.mjs'.length))
    .filter((name) => !meterNames.includes(name));

/** @throws UsageFault for an unknown name, with the near one */
export function checkSlowDowns(names: readonly string[]): void {
  const existingNames = slowDowns();
  const unknown = names.find((name) => !existingNames.includes(name));
  if (unknown !== undefined) throw new UsageFault(unknownName('slow-down', unknown, existingNames));
}

const preloadArguments = (names: readonly string[]): string[] =>
  names.flatMap((name) => ['--import', join(slowFolder, `${name}.mjs`)]);

/** The modules of a hub with slow-downs, one of which answers `checkReached`. */
export const withSlowDowns = (preloads: readonly string[], slow: readonly string[]): readonly string[] => {
  const hasAnswer = slow.length === 0 || preloads.includes('count');
  return [...preloads, ...slow, ...(hasAnswer ? [] : ['reached'])];
};

/** @throws CannotRun if the slow-downs of a run have acted in none of its hubs */
export async function checkReached(hubs: readonly Hub[], slow: readonly string[]): Promise<void> {
  if (slow.length === 0) return;
  const counts = await Promise.all(hubs.map((hub) => hub.ask('slow_downs')));
  if (counts.every((count) => count === 0)) throw new CannotRun(`The run never reached ${slow.join(', ')}.`);
}

/** @throws CannotRun for a folder without a built hub */
export function checkBuild(folder: string): void {
  const mainFile = mainFileOf(folder);
  if (existsSync(mainFile)) return;
  throw new CannotRun(`There is no built hub at ${mainFile}. Run npm run build in ${folder}.`);
}

/** Resolves with the port from the line that a started hub prints. */
function readPort(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let output = '';
    const fail = (reason: string): void =>
      reject(new CannotRun(`The hub ${reason}: ${output.trim().slice(-1000) || 'it printed nothing'}`));
    const timer = setTimeout(fail, startMs, `did not listen within ${startMs / 1000} s`);
    const read = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-10_000);
      const match = /listening on http:\/\/[^\s/]*:(\d+)/.exec(output);
      if (!match) return;
      clearTimeout(timer);
      resolve(Number(match[1]));
    };
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', read);
    child.once('exit', (code) => {
      clearTimeout(timer);
      fail(`ended with code ${code} at its start`);
    });
  });
}

/** Counts the bytes that a process writes from now on. */
function countOutput(child: ChildProcess): () => number {
  let bytes = 0;
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
  }
  return () => bytes;
}

async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await exited;
  clearTimeout(timer);
}

/** @throws CannotRun if the hub ends before its answer */
async function askHub(child: ChildProcess, question: string): Promise<unknown> {
  const waiting = new AbortController();
  const { signal } = waiting;
  try {
    const answered = once(child, 'message', { signal }).then(([answer]) => answer as unknown);
    const exited = once(child, 'exit', { signal }).then(() => {
      throw new CannotRun('The hub ended during the run.');
    });
    exited.catch(() => undefined);
    child.send(question);
    return await Promise.race([answered, exited]);
  } finally {
    waiting.abort();
  }
}

/** @throws CannotRun for a folder without a build, or a hub that does not start */
export async function startBenchHub({
  folder,
  preloads = [],
  settings = {},
  profile = false,
  keptFolder,
}: HubOptions): Promise<Hub> {
  checkBuild(folder);
  const mainFile = mainFileOf(folder);
  const profileArguments = profile ? ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`] : [];
  const args = [...profileArguments, ...preloadArguments(preloads), mainFile];
  const ownFolder = keptFolder === undefined ? makeTemporaryFolder() : null;
  const dataFolder = keptFolder ?? ownFolder?.path ?? '';
  const child = spawn(process.execPath, args, {
    env: {
      PATH: process.env.PATH ?? '',
      DATA_DIR: dataFolder,
      HOST: '127.0.0.1',
      PORT: String(await freePort()),
      LOG_LEVEL: 'warn',
      DRAIN_SECONDS: '0',
      OPERATOR_TOKEN: benchOperatorToken,
      REEVE_BENCH_HUB: mainFile,
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const logBytes = countOutput(child);
  const remove = (): void => {
    child.kill('SIGKILL');
    ownFolder?.remove();
  };
  // Before the removal of folders that outlast the hub.
  process.prependOnceListener('exit', remove);
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const withdraw = onInterrupt(() => {
    remove();
    return exited;
  });
  const stop = async (): Promise<void> => {
    await endProcess(child);
    process.off('exit', remove);
    withdraw();
    remove();
  };
  let port: number;
  try {
    port = await readPort(child);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    pid: child.pid ?? 0,
    port,
    url: `http://127.0.0.1:${port}`,
    dataFolder,
    runName: null,
    access: null,
    logBytes,
    ask: (question) => askHub(child, question),
    stop,
  };
}

let nameOfRun: string | null = null;

/** One for all scenarios of a command. Says so the first time. */
function runNameOnce(): string {
  if (nameOfRun !== null) return nameOfRun;
  nameOfRun = newRunName();
  process.stderr.write(
    `This run makes keys and agents named ${nameOfRun}. Remove the keys with --clean ${nameOfRun}.\n`,
  );
  return nameOfRun;
}

/** A running hub. Bounds have their files in a temporary folder of this machine. */
function attachHub(url: string): Hub {
  const { origin, port, protocol } = new URL(url);
  const access = readAccess(process.env);
  const folder = makeTemporaryFolder();
  return {
    pid: 0,
    port: Number(port) || (protocol === 'https:' ? 443 : 80),
    url: origin,
    dataFolder: folder.path,
    runName: runNameOnce(),
    access,
    logBytes: () => null,
    ask: () => Promise.reject(new CannotRun('A hub by --url answers no questions of the suite.')),
    stop: async () => folder.remove(),
  };
}

export interface HubChoice {
  readonly hub: string;
  readonly url: string | null;
  readonly slow: readonly string[];
  readonly profile: boolean;
  readonly report: (text: string, share: number) => void;
}

/** The hub of `--url`, or a new one from the checkout, whose end throws CannotRun for slow-downs that never acted. */
export async function openHub(
  { hub, url, slow, profile, report }: HubChoice,
  { preloads = [], ...others }: Pick<HubOptions, 'preloads' | 'settings' | 'keptFolder'> = {},
): Promise<Hub> {
  if (url === null) {
    report('starting a hub', 0);
    const preloadsOfHub = withSlowDowns(preloads, slow);
    const started = await startBenchHub({ folder: hub, preloads: preloadsOfHub, ...others, profile });
    const stop = (): Promise<void> => checkReached([started], slow).finally(started.stop);
    return { ...started, stop };
  }
  return attachHub(url);
}

/**
 * Makes the first admin and as many tenants; on a hub that others use, signs in and takes or makes one key.
 * @returns the admin, and an API key of each tenant
 * @throws CannotRun for a hub that others use without a login
 */
export async function makeTenants(hub: Hub, tenants: number) {
  if (hub.access !== null) {
    const admin = await signIn(hub.url, hub.access, hub.runName ?? '');
    return { admin, keys: hub.access.keys.length > 0 ? [...hub.access.keys] : [await admin.newKey()] };
  }
  const admin = await setUp(hub.url);
  const others = Array.from({ length: tenants - 1 }, (_, n) => adminOf(hub.url).newTenant(`bench-${n + 1}`));
  return { admin, keys: await Promise.all([admin.newKey(), ...others]) };
}

/** The keys of `makeTenants`; on a hub that others use, those of REEVE_BENCH_KEYS need no login. */
export async function makeKeys(hub: Hub, tenants: number): Promise<readonly string[]> {
  const keys = hub.access?.keys ?? [];
  return keys.length > 0 ? keys : (await makeTenants(hub, tenants)).keys;
}
