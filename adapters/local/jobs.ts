// The Jobs port on a table: takes what is due, runs it, renews the leases of what runs, and writes down how it ended.
// Keeps nothing itself.
import { singleFlight } from '../../src/shared/concurrency/single-flight.ts';
import { HubError } from '../../src/shared/error.ts';
import {
  checkedJob,
  GiveUp,
  type Job,
  jobBackoff,
  jobLeaseMs,
  jobProgress,
  maxLosses,
  reasonOf,
} from '../../src/shared/job.ts';
import { type Clock, type Timer, upTo } from '../../src/shared/ports/clock.ts';
import type { JobRunKey, JobTable, TakenJob } from '../../src/shared/ports/job-table.ts';
import type {
  DeadJob,
  JobCount,
  JobHandler,
  JobStatus,
  Jobs,
  JobsHealth,
} from '../../src/shared/ports/jobs.ts';
import type { Log } from '../../src/shared/ports/log.ts';

export interface LocalJobsOptions {
  readonly table: JobTable;
  readonly clock: Clock;
  readonly log: Log;
  /** How long a run holds its job unless renewed; 30 s by default. */
  readonly leaseMs?: number;
  /** No other process works on the table: jobs of a dead process run at once, not when their leases end. */
  readonly alone?: boolean;
}

interface Running {
  readonly key: JobRunKey;
  readonly abort: AbortController;
  ended: Promise<void>;
}

interface Queue {
  readonly name: string;
  readonly handler: JobHandler;
  readonly concurrency: number;
  readonly running: Set<Running>;
}

const pollMs = 1000;
const stuckMs = 8000;
const lostTooOften = 'The processes that ran the job died too often.';

class LocalJobs implements Jobs {
  readonly #table: JobTable;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #leaseMs: number;
  readonly #queues = new Map<string, Queue>();
  #hasReleased: boolean;
  #lastTurn: number;
  #renewedAt: number;
  #closing: Promise<void> | null = null;
  readonly #taking: ReturnType<typeof singleFlight>;
  readonly #poll: Timer;

  constructor(options: LocalJobsOptions) {
    const { table, clock, log, leaseMs = jobLeaseMs, alone = false } = options;
    this.#table = table;
    this.#clock = clock;
    this.#log = log;
    this.#leaseMs = leaseMs;
    this.#hasReleased = !alone;
    this.#lastTurn = clock.monotonic();
    this.#renewedAt = clock.now();
    this.#taking = singleFlight(
      () =>
        this.#turn().catch((err: unknown) => log.warn({ err }, 'cannot run due jobs; the next run retries')),
      () => this.#closing !== null,
    );
    this.#poll = clock.every(Math.min(pollMs, leaseMs / 3), () => this.#poke());
  }

  async add(job: Job): Promise<void> {
    await this.#table.add(checkedJob(job));
    if (job.runAt <= this.#clock.now() && this.#queues.has(job.queue)) this.#poke();
  }

  work(queue: string, handler: JobHandler, { concurrency = 1 } = {}): void {
    if (this.#queues.has(queue)) throw new HubError('internal', `The queue ${queue} already has a worker.`);
    this.#queues.set(queue, { name: queue, handler, concurrency, running: new Set() });
    this.#poke();
  }

  find(queue: string, id: string): Promise<JobStatus | null> {
    return this.#table.find(queue, id);
  }

  counts(): Promise<readonly JobCount[]> {
    return this.#table.counts();
  }

  dead(queue: string, limit: number): Promise<readonly DeadJob[]> {
    return this.#table.dead(queue, limit);
  }

  async retry(queue: string, id: string): Promise<boolean> {
    const done = await this.#table.retry(queue, id, this.#clock.now());
    if (done) this.#poke();
    return done;
  }

  remove(queue: string, id: string): Promise<boolean> {
    return this.#table.remove(queue, id);
  }

  async removeOfTenant(): Promise<number> {
    return 0;
  }

  health(): JobsHealth {
    const late = this.#clock.monotonic() - this.#lastTurn > stuckMs;
    const state = this.#closing ? 'stopped' : late ? 'crashed' : 'running';
    return { state, lastTurn: this.#lastTurn, running: this.#running().length };
  }

  close(graceMs = 5000): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  #running(): Running[] {
    return [...this.#queues.values()].flatMap((queue) => [...queue.running]);
  }

  async #renew(now: number): Promise<void> {
    const held = this.#running();
    // Also after a clock went back: the leases would end late, which holds up nothing but a loss.
    if (held.length === 0 || Math.abs(now - this.#renewedAt) < this.#leaseMs / 3) return;
    this.#renewedAt = now;
    const lost = await this.#table.renew(
      held.map(({ key }) => key),
      now + this.#leaseMs,
    );
    const lostNames = new Set(lost.map(({ queue, id, run }) => JSON.stringify([queue, id, run])));
    for (const { key, abort } of held) {
      if (lostNames.has(JSON.stringify([key.queue, key.id, key.run]))) abort.abort();
    }
  }

  async #take(queue: Queue, now: number): Promise<void> {
    const free = queue.concurrency - queue.running.size;
    if (free <= 0 || this.#closing) return;
    for (const job of await this.#table.take(queue.name, free, now, now + this.#leaseMs)) {
      const key = { queue: queue.name, id: job.id, run: job.run };
      if (this.#closing) await this.#table.again(key, now, null);
      else this.#begin(queue, job, key);
    }
  }

  async #turn(): Promise<void> {
    // One time for the whole turn, and renewed before anything is taken: this process must not take what it runs,
    // however its clock jumps.
    const now = this.#clock.now();
    if (!this.#hasReleased) {
      await this.#table.release();
      this.#hasReleased = true;
    }
    await this.#renew(now);
    for (const queue of this.#queues.values()) await this.#take(queue, now);
    this.#lastTurn = this.#clock.monotonic();
  }

  #poke(): void {
    void this.#taking.ask();
  }

  #begin(queue: Queue, job: TakenJob, key: JobRunKey): void {
    const one: Running = { key, abort: new AbortController(), ended: Promise.resolve() };
    queue.running.add(one);
    one.ended = this.#perform(queue, job, one).finally(() => {
      queue.running.delete(one);
      this.#poke();
    });
  }

  async #perform(queue: Queue, job: TakenJob, { key, abort }: Running): Promise<void> {
    const { signal } = abort;
    const { id, payload, failures, maxAttempts } = job;
    const progress = async (value: unknown): Promise<void> => {
      await this.#table.progress(key, jobProgress(value));
    };
    const run = { id, payload, attempt: failures + 1, maxAttempts, signal, progress };
    let record: () => Promise<void>;
    try {
      if (job.losses >= maxLosses) throw new GiveUp(lostTooOften);
      await queue.handler(run);
      record = () => this.#table.finish(key);
    } catch (error) {
      record = () => this.#recordFailure(job, key, signal, error);
    }
    // A job whose result cannot be stored now runs again when its lease ends.
    await record().catch((err: unknown) =>
      this.#log.warn({ err, job: id, queue: queue.name }, 'a job runs again'),
    );
  }

  async #recordFailure(job: TakenJob, key: JobRunKey, signal: AbortSignal, error: unknown): Promise<void> {
    const now = this.#clock.now();
    const failures = job.failures + 1;
    if (error instanceof GiveUp || (!signal.aborted && failures >= job.maxAttempts)) {
      return this.#bury(job, key, now, error);
    }
    if (signal.aborted) return this.#table.again(key, now, null);
    this.#log.warn({ job: job.id, queue: key.queue, failures, err: error }, 'a job failed; it is retried');
    return this.#table.again(key, now + jobBackoff(job, failures, this.#clock.random()), reasonOf(error));
  }

  #bury({ id, failures }: TakenJob, key: JobRunKey, now: number, error: unknown): Promise<void> {
    this.#log.error({ job: id, queue: key.queue, failures: failures + 1, err: error }, 'a job is dead');
    return this.#table.bury(key, now, reasonOf(error));
  }

  async #close(graceMs: number): Promise<void> {
    this.#poll.cancel();
    await this.#taking.idle();
    const left = this.#running();
    for (const { abort } of left) abort.abort();
    await upTo(this.#clock, graceMs, Promise.all(left.map(({ ended }) => ended)));
  }
}

export const createLocalJobs = (options: LocalJobsOptions): Jobs => new LocalJobs(options);
