// Real MongoDB and Redis servers for benchmarks: those of MONGODB_URL and REDIS_URL, or the ones that the tests' script
// finds or installs.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { removeOnInterrupt } from './suite/interrupt.ts';
import { removeStored } from './suite/stored-names.ts';

export interface BenchServices {
  readonly mongoUrl: string;
  readonly redisUrl: string;
  /** Ends servers that the suite started, and removes from others what this run has stored. */
  stop(): Promise<void>;
}

/** After this time a killed hub or client writes no more. Milliseconds. */
const lastWriteMs = 500;

/** Servers of the environment stay, so the databases and keys of this run must go. */
function removalFrom(mongoUrl: string, redisUrl: string): () => Promise<void> {
  const { MONGODB_URL, REDIS_URL } = process.env;
  if (!MONGODB_URL && !REDIS_URL) return async () => undefined;
  const withdraw = removeOnInterrupt(async () => {
    await delay(lastWriteMs);
    await removeStored(mongoUrl, redisUrl);
  });
  return () => removeStored(mongoUrl, redisUrl).finally(withdraw);
}

/**
 * A failure is a warning: the result of a scenario must not be lost for it.
 * @param warn writes a line; default: to the error output
 */
export async function removeOrWarn(
  remove: () => Promise<void>,
  warn: (text: string) => void = (text) => void process.stderr.write(text),
): Promise<void> {
  try {
    await remove();
  } catch (error) {
    warn(`Cannot remove everything that this run has stored: ${String(error)}\n`);
  }
}

/** Run from the project's folder. */
export async function startServices(): Promise<BenchServices> {
  const child = spawn(process.execPath, ['--import', 'tsx', 'test/services/main.ts'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const gone = once(child, 'exit');
  // A benchmark that fails leaves no server behind.
  process.once('exit', () => child.kill('SIGTERM'));
  let output = '';
  const address = (name: string): string | undefined => new RegExp(`^${name}='(.*)'$`, 'm').exec(output)?.[1];
  for await (const chunk of child.stdout) {
    output += String(chunk);
    const [mongoUrl, redisUrl] = [address('MONGODB_URL'), address('REDIS_URL')];
    if (mongoUrl === undefined || redisUrl === undefined) continue;
    const remove = removalFrom(mongoUrl, redisUrl);
    const stop = async (): Promise<void> => {
      await removeOrWarn(remove);
      child.kill('SIGTERM');
      await gone;
    };
    return { mongoUrl, redisUrl, stop };
  }
  throw new Error('The servers did not start: see the lines above.');
}
