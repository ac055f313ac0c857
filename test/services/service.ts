// A server that a test may kill, start again on the same data, pause and resume. Knows no product; mongo.ts and
// redis.ts say what to run.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { freePort } from '../../bench/suite/free-port.ts';
import type { Reaper } from './reaper.ts';

export interface Service {
  readonly url: string;
  /** Null when the server was given by its address: such a one cannot be killed from here. */
  readonly pid: number | null;
  /** Ends the server at once, as a power cut would. Resolves when it is gone. */
  kill9(): Promise<void>;
  /** Starts it again on the same port and data; resolves when it answers. Harmless when it runs. */
  start(): Promise<void>;
  /** Stops it from answering, connections left open. */
  pause(): Promise<void>;
  resume(): Promise<void>;
}

/** A server before it runs. */
export interface Program {
  readonly name: string;
  readonly command: string;
  readonly args: (port: number) => readonly string[];
  readonly url: (port: number) => string;
  /** Resolves when the server answers; throws when it does not yet. Called until it succeeds. */
  readonly answers: (url: string) => Promise<void>;
  /** Called before each start, with the port. */
  readonly prepare?: (port: number) => Promise<void>;
  /** Instead of SIGKILL, for a program whose own processes would outlive it. */
  readonly endSignal?: 'SIGTERM';
}

const startMs = 30_000;

/**
 * True when every thread of the process has stopped; a signal takes its time to reach them. Where that cannot be told,
 * true.
 */
async function stopped(pid: number): Promise<boolean> {
  const tasks = `/proc/${pid}/task`;
  const threads = await readdir(tasks).catch(() => []);
  const states = await Promise.all(
    threads.map((thread) => readFile(`${tasks}/${thread}/stat`, 'utf8').catch(() => ') T')),
  );
  return states.every((line) => line.slice(line.lastIndexOf(')')).startsWith(') T'));
}

/** One line about what was found or done, for whoever reads the test's output. */
export const say = (line: string): void => {
  process.stderr.write(`services: ${line}\n`);
};

/** Calls `probe` until it resolves, at most `ms`; `alive` false ends it early. */
export async function until(
  what: string,
  probe: () => Promise<void>,
  alive = () => true,
  ms = startMs,
): Promise<void> {
  const end = performance.now() + ms;
  for (;;) {
    try {
      return await probe();
    } catch (error) {
      if (!alive()) throw new Error(`${what} ended before it answered.`, { cause: error });
      if (performance.now() > end)
        throw new Error(`${what} did not answer within ${ms} ms.`, { cause: error });
      await wait(20);
    }
  }
}

/** Runs a program as a service on a free port. Another port is tried when someone took the first. */
export async function run(program: Program, reaper: Reaper): Promise<Service> {
  for (let attempt = 1; ; attempt++) {
    const service = new ProcessService(program, await freePort(), reaper);
    try {
      await service.start();
      return service;
    } catch (error) {
      await service.kill9();
      if (attempt === 3) throw error;
    }
  }
}

class ProcessService implements Service {
  readonly url: string;
  readonly #program: Program;
  readonly #port: number;
  readonly #reaper: Reaper;
  #child: ChildProcess | null = null;

  constructor(program: Program, port: number, reaper: Reaper) {
    this.#program = program;
    this.#port = port;
    this.#reaper = reaper;
    this.url = program.url(port);
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  async start(): Promise<void> {
    if (this.#child !== null) return;
    const { name, command, args, answers, prepare } = this.#program;
    await prepare?.(this.#port);
    const child = spawn(command, args(this.#port), { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr?.on('data', (bytes: Buffer) => {
      said = (said + bytes.toString()).slice(-2000);
    });
    let ended = false;
    child.once('exit', () => {
      ended = true;
      if (this.#child === child) this.#child = null;
      if (child.pid !== undefined) this.#reaper.forget(child.pid);
    });
    child.once('error', (error) => {
      ended = true;
      said += error.message;
    });
    this.#child = child;
    if (child.pid !== undefined) this.#reaper.watch(child.pid);
    await until(
      name,
      () => answers(this.url),
      () => !ended,
    ).catch((error: Error) => {
      throw new Error(`${error.message} ${said}`.trim(), { cause: error });
    });
  }

  async kill9(): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill(this.#program.endSignal ?? 'SIGKILL');
    await gone;
  }

  async pause(): Promise<void> {
    const pid = this.pid;
    if (pid === null) return;
    process.kill(pid, 'SIGSTOP');
    while (!(await stopped(pid))) await wait(1);
  }

  async resume(): Promise<void> {
    this.#child?.kill('SIGCONT');
  }
}

/** A server that someone else runs, known by its address. */
export function external(url: string): Service {
  const refuse = async () => {
    throw new Error('This server was given by its address, so that it cannot be killed or paused from here.');
  };
  return { url, pid: null, kill9: refuse, start: refuse, pause: refuse, resume: refuse };
}
