// A hub in a process of its own, from this or another built checkout, set up through the public API alone.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { adminOf, benchOperatorToken, setUp } from '../admin.ts';
import { UsageFault, unknownName } from './arguments.ts';
import { CannotRun } from './failure.ts';
import { root } from './root.ts';

export interface HubOptions {
  /** A built checkout. */
  readonly folder: string;
  /** Modules in `bench/slow/`, without their ending, that all threads of the hub load first. Default: none. */
  readonly preloads?: readonly string[];
}

export interface Hub {
  readonly pid: number;
  readonly port: number;
  readonly url: string;
  readonly dataFolder: string;
  /** Sends `question` to the preloaded modules. @returns the next answer */
  ask(question: string): Promise<unknown>;
  /** Ends the process and removes its data. */
  stop(): Promise<void>;
}

const startMs = 60_000;

const mainFileOf = (folder: string): string => join(folder, 'dist/src/main.js');

const slowFolder = join(root, 'bench/slow');
const counterName = 'count';

/** Names that `--slow` takes. */
export const slowDowns = (): readonly string[] =>
  readdirSync(slowFolder)
    .filter((file) => file.endsWith('.mjs'))
    .map((file) => file.slice(0, -'.mjs'.length))
    .filter((name) => name !== counterName);

const preloadArguments = (names: readonly string[]): string[] =>
  names.flatMap((name) => {
    const file = join(slowFolder, `${name}.mjs`);
    if (!existsSync(file)) throw new UsageFault(unknownName('slow-down', name, slowDowns()));
    return ['--import', file];
  });

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

/** @throws CannotRun for a folder without a build, or a hub that does not start; UsageFault for an unknown preload */
export async function startBenchHub({ folder, preloads = [] }: HubOptions): Promise<Hub> {
  const mainFile = mainFileOf(folder);
  if (!existsSync(mainFile)) {
    throw new CannotRun(`There is no built hub at ${mainFile}. Run npm run build in ${folder}.`);
  }
  const args = [...preloadArguments(preloads), mainFile];
  const dataFolder = mkdtempSync(join(tmpdir(), 'reeve-bench-'));
  const child = spawn(process.execPath, args, {
    env: {
      PATH: process.env.PATH ?? '',
      DATA_DIR: dataFolder,
      HOST: '127.0.0.1',
      PORT: '0',
      LOG_LEVEL: 'warn',
      DRAIN_SECONDS: '0',
      OPERATOR_TOKEN: benchOperatorToken,
      REEVE_BENCH_HUB: mainFile,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const remove = (): void => {
    child.kill('SIGKILL');
    rmSync(dataFolder, { recursive: true, force: true });
  };
  process.once('exit', remove);
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
      await exited;
      clearTimeout(timer);
    }
    process.off('exit', remove);
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
    async ask(question) {
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
    },
    stop,
  };
}

/** Makes the first admin and as many tenants. @returns the admin, and an API key of each tenant */
export async function makeTenants(hub: Hub, tenants: number) {
  const admin = await setUp(hub.url);
  const keys = [await admin.newKey()];
  for (let n = 1; n < tenants; n++) keys.push(await adminOf(hub.url).newTenant(`bench-${n}`));
  return { admin, keys };
}
