// Real MongoDB and Redis servers for benchmarks: those of MONGODB_URL and REDIS_URL, or the ones that the tests' script
// finds or installs.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface BenchServices {
  readonly mongoUrl: string;
  readonly redisUrl: string;
  stop(): Promise<void>;
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
    const stop = async (): Promise<void> => {
      child.kill('SIGTERM');
      await gone;
    };
    return { mongoUrl, redisUrl, stop };
  }
  throw new Error('The servers did not start: see the lines above.');
}
