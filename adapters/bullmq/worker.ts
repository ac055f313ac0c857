// One queue's worker on this node: BullMQ fetches, renews and retries; here a handler's end becomes what BullMQ
// understands.
import { type Job as BullJob, DelayedError, UnrecoverableError, Worker } from 'bullmq';
import { GiveUp, jobBackoff, jobProgress, maxLosses, reasonOf } from '../../src/shared/job.ts';
import { type Clock, upTo } from '../../src/shared/ports/clock.ts';
import type { JobHandler } from '../../src/shared/ports/jobs.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import type { RedisClient } from './connection.ts';
import { forgetLossesScript, type Kept, type KeptProgress } from './form.ts';

export interface WorkerOptions {
  readonly queue: string;
  readonly handler: JobHandler;
  readonly concurrency: number;
  readonly connection: RedisClient;
  readonly prefix: string;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

export interface QueueWorker {
  /** False when the loop that fetches jobs has ended by itself. */
  alive(): boolean;
  running(): number;
  close(graceMs: number): Promise<void>;
}

class BullWorker implements QueueWorker {
  readonly #queue: string;
  readonly #handler: JobHandler;
  readonly #connection: RedisClient;
  readonly #clock: Clock;
  readonly #log: Log;
  #running = 0;
  #closing = false;
  readonly #worker: Worker<Kept>;

  constructor(options: WorkerOptions) {
    const { queue, handler, concurrency, connection, prefix, leaseMs, clock, log } = options;
    this.#queue = queue;
    this.#handler = handler;
    this.#connection = connection;
    this.#clock = clock;
    this.#log = log;
    this.#worker = new Worker<Kept>(
      queue,
      // BullMQ counts the parameters: with the third it makes a signal.
      async (job, token, signal) => {
        // Its type is that of a polyfill; at run time it is Node's own.
        await this.#perform(job, token, signal as unknown as AbortSignal);
      },
      {
        connection,
        prefix,
        concurrency,
        lockDuration: leaseMs,
        lockRenewTime: leaseMs / 2,
        stalledInterval: leaseMs / 2,
        maxStalledCount: maxLosses - 1,
        runRetryDelay: 1000,
        settings: {
          backoffStrategy: (failures, _type, _error, job) =>
            jobBackoff(job?.data as Kept, failures, clock.random()),
        },
      },
    );
    // The connection reports an outage once for all queues.
    this.#worker.on('error', (error) => {
      if (!this.#closing) log.debug({ kind: error.name, queue }, 'a job worker cannot reach its queue');
    });
    // A job that was lost too often fails without a run.
    this.#worker.on('failed', (job, err) => {
      if (!job?.deferredFailure) return;
      log.error({ job: job.data.id, queue, failures: job.attemptsMade, err }, 'a job is dead');
    });
    this.#worker.on('lockRenewalFailed', (ids) => {
      for (const id of ids) this.#worker.cancelJob(id, 'the node lost its lease');
    });
  }

  alive(): boolean {
    return this.#closing || this.#worker.isRunning();
  }

  running(): number {
    return this.#running;
  }

  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    const closed = this.#worker.close();
    closed.catch(() => {});
    this.#worker.cancelAllJobs('closing');
    await upTo(this.#clock, graceMs, closed);
    await this.#worker.disconnect().catch(() => {});
  }

  async #perform(job: BullJob<Kept>, token: string | undefined, signal: AbortSignal): Promise<void> {
    const { id, payload } = job.data;
    const progress = async (value: unknown): Promise<void> => {
      const kept: KeptProgress = { value: jobProgress(value) };
      if (signal.aborted) return;
      await job.updateProgress(kept);
      await this.#connection.eval(forgetLossesScript, {
        keys: [this.#worker.toKey(job.id ?? '')],
        arguments: [],
      });
    };
    const attempt = job.attemptsMade + 1;
    this.#running++;
    try {
      await this.#handler({ id, payload, attempt, maxAttempts: job.opts.attempts ?? 1, signal, progress });
    } catch (error) {
      const about = { job: id, queue: this.#queue, failures: attempt };
      if (error instanceof GiveUp || (!signal.aborted && attempt >= (job.opts.attempts ?? 1))) {
        this.#log.error({ ...about, err: error }, 'a job is dead');
        throw new UnrecoverableError(reasonOf(error));
      }
      if (signal.aborted) {
        // Without the lease it is another's: BullMQ refuses, and nothing is written.
        await job.moveToDelayed(this.#clock.now(), token);
        throw new DelayedError();
      }
      this.#log.warn({ ...about, err: error }, 'a job failed; it is retried');
      throw new Error(reasonOf(error));
    } finally {
      this.#running--;
    }
  }
}

export const openWorker = (options: WorkerOptions): QueueWorker => new BullWorker(options);
