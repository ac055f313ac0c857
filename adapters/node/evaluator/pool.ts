// A few worker threads, one job each at a time: started when first needed, reused, terminated when a job takes too
// long. Owners of jobs take turns (promise P44). Knows nothing of what the jobs are.

import { Worker } from 'node:worker_threads';
import { refusalOf } from '../../../src/admission/admission.ts';
import { outageOf } from '../../../src/admission/outages.ts';
import { admissionTable } from '../../../src/admission/table.ts';
import { FairQueue, type Shares } from '../../../src/shared/concurrency/fair-queue.ts';
import { HubError } from '../../../src/shared/error.ts';
import type { Clock, Timer } from '../../../src/shared/ports/clock.ts';
import { threadFile } from '../../threads/thread-file.ts';
import type { TaskRefusal } from './answers.ts';

export interface PoolOptions {
  /**
   * The module that each worker runs: posts `ready`, then to each message its result as JSON text in UTF-8 bytes, or
   * a TaskRefusal as JSON in a text.
   */
  readonly entry: URL;
  /** Workers alive at once. */
  readonly size: number;
  /** Jobs of one owner, and of all, that may run at once and wait for a worker; a further one is refused at once. */
  readonly shares: Shares;
  /** Milliseconds that a job waits for a worker before it is refused. */
  readonly waitMs: number;
  /** Milliseconds that a job may run, counted from when its worker is ready. */
  readonly limitMs: number;
  /** Megabytes of heap of one worker. */
  readonly memoryMb: number;
  /** Milliseconds that a worker may take to start. */
  readonly startMs: number;
  readonly clock: Clock;
  /** Errors for refused, timed out and overgrown jobs. */
  readonly refused: () => HubError;
  readonly timedOut: () => HubError;
  readonly overgrown: () => HubError;
}

/** The places of a class, for which owners take turns here: a place is free when its thread is. */
export const placesOf = (
  name: 'dryRuns' | 'bundleReadings' | 'replayParts',
): Pick<PoolOptions, 'size' | 'shares' | 'waitMs' | 'refused'> => {
  const {
    bounds: [ofOwner, ofAll],
    ms,
  } = admissionTable[name];
  return {
    size: ofAll.atOnce,
    shares: { running: ofOwner.atOnce, waiting: ofOwner.waiting, allWaiting: ofAll.waiting },
    waitMs: ms,
    refused: () => refusalOf(name),
  };
};

export interface Pool {
  /** The worker's result. @throws HubError of the work, or of the pool's bounds */
  run(task: unknown, owner: string): Promise<unknown>;
  /** The same, unread: JSON text in UTF-8. */
  runToJson(task: unknown, owner: string): Promise<Uint8Array>;
  close(): Promise<void>;
}

interface Job {
  readonly task: unknown;
  resolve(json: Uint8Array): void;
  reject(error: HubError): void;
}

interface Queued extends Job {
  /** Ends its wait. */
  timer: Timer | null;
  started: boolean;
}

const utf8 = new TextDecoder();

const closing = () => outageOf('workersClosed');

class ThreadPool implements Pool {
  readonly #options: PoolOptions;
  readonly #idle: Thread[] = [];
  readonly #alive = new Set<Thread>();
  readonly #queue: FairQueue<Queued>;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#queue = new FairQueue<Queued>(options.shares);
  }

  runToJson(task: unknown, owner: string): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(closing());
      const job: Queued = { task, resolve, reject, timer: null, started: false };
      this.#queue.add(owner, job);
      this.#next();
      if (job.started) return;
      const refuse = (): void => {
        if (this.#queue.remove(owner, job)) reject(this.#options.refused());
      };
      if (this.#queue.isOver(owner)) refuse();
      else job.timer = this.#options.clock.after(this.#options.waitMs, refuse);
    });
  }

  async run(task: unknown, owner: string): Promise<unknown> {
    return JSON.parse(utf8.decode(await this.runToJson(task, owner)));
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { timer, reject } of this.#queue.clear()) {
      timer?.cancel();
      reject(closing());
    }
    await Promise.all([...this.#alive].map((thread) => thread.end(closing())));
    this.#idle.length = 0;
  }

  /** Starts whatever may run. */
  #next(): void {
    while (!this.#closed && (this.#isAnyIdle() || this.#alive.size < this.#options.size)) {
      const taken = this.#queue.take();
      if (!taken) return;
      const { owner, item: job } = taken;
      job.started = true;
      job.timer?.cancel();
      const thread = this.#free();
      thread.work(job).then((reusable) => {
        this.#queue.done(owner);
        if (reusable && !this.#closed) this.#idle.push(thread);
        else this.#alive.delete(thread);
        this.#next();
      });
    }
  }

  /** A thread may end while it is idle. */
  #isAnyIdle(): boolean {
    while (this.#idle.at(-1)?.ended) this.#idle.pop();
    return this.#idle.length > 0;
  }

  #free(): Thread {
    const waiting = this.#idle.pop();
    if (waiting) return waiting;
    const started = new Thread(this.#options, (gone) => {
      this.#alive.delete(gone);
      this.#next();
    });
    this.#alive.add(started);
    return started;
  }
}

export const createPool = (options: PoolOptions): Pool => new ThreadPool(options);

/** One worker thread. */
class Thread {
  readonly #worker: Worker;
  readonly #options: PoolOptions;
  readonly #gone: (thread: Thread) => void;
  #ready = false;
  #ended = false;
  #timer: Timer | null = null;
  #job: (Job & { done(reusable: boolean): void }) | null = null;

  constructor(options: PoolOptions, gone: (thread: Thread) => void) {
    this.#options = options;
    this.#gone = gone;
    const { entry } = options;
    this.#worker = new Worker(threadFile(entry), {
      // A rule must not reach the server's environment, arguments or streams.
      env: {},
      argv: [],
      execArgv: [],
      stdin: false,
      resourceLimits: {
        maxOldGenerationSizeMb: options.memoryMb,
        maxYoungGenerationSizeMb: 16,
        stackSizeMb: 4,
      },
    });
    this.#worker.unref();
    this.#worker.on('message', (message: Uint8Array | string) => this.#message(message));
    this.#worker.on('error', (error: NodeJS.ErrnoException) => {
      const overgrown = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      void this.end(
        overgrown ? this.#options.overgrown() : new HubError('internal', 'A worker stopped unexpectedly.'),
      );
    });
    this.#worker.on('exit', () => void this.end(new HubError('internal', 'A worker stopped unexpectedly.')));
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Runs a job. Resolves when the thread is free again (true) or gone (false). */
  work(job: Job): Promise<boolean> {
    return new Promise((done) => {
      if (this.#ended) {
        job.reject(new HubError('internal', 'A worker stopped unexpectedly.'));
        return done(false);
      }
      this.#job = { ...job, done };
      this.#worker.ref();
      if (this.#ready) this.#begin();
      else {
        this.#timer = this.#options.clock.after(this.#options.startMs, () => {
          void this.end(outageOf('workerNotStarted'));
        });
      }
    });
  }

  /** Stops the thread; its job, if any, is refused at once. */
  async end(reason: HubError): Promise<void> {
    const first = !this.#ended;
    this.#ended = true;
    const job = this.#take();
    job?.reject(reason);
    await this.#worker.terminate();
    if (first) this.#gone(this);
    // Only now: until it has stopped the thread still takes its share of the machine.
    job?.done(false);
  }

  #message(message: Uint8Array | string): void {
    if (message === 'ready') {
      this.#ready = true;
      this.#timer?.cancel();
      if (this.#job) this.#begin();
      return;
    }
    const job = this.#take();
    if (!job) return;
    if (typeof message === 'string') {
      const { code, message: text, detail } = JSON.parse(message) as TaskRefusal;
      job.reject(new HubError(code, text, detail));
    } else job.resolve(message);
    job.done(true);
  }

  #begin(): void {
    this.#timer = this.#options.clock.after(this.#options.limitMs, () => {
      void this.end(this.#options.timedOut());
    });
    this.#worker.postMessage(this.#job?.task);
  }

  #take(): (Job & { done(reusable: boolean): void }) | null {
    const job = this.#job;
    this.#job = null;
    // A thread without a job does not keep the process alive.
    if (!this.#ended) this.#worker.unref();
    this.#timer?.cancel();
    this.#timer = null;
    return job;
  }
}
