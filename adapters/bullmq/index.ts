// The Jobs port on BullMQ: queues in Redis that every node shares. Done jobs are removed, dead ones kept; BullMQ holds
// and renews the leases.

import type { Queue } from 'bullmq';
import { outageOf } from '../../src/admission/outages.ts';
import { ConnectionGroup } from '../../src/shared/concurrency/connection-group.ts';
import { HubError } from '../../src/shared/error.ts';
import { checkedJob, type Job, sharedJobLeaseMs } from '../../src/shared/job.ts';
import type { Clock, Timer } from '../../src/shared/ports/clock.ts';
import type {
  DeadJob,
  JobCount,
  JobHandler,
  JobState,
  JobStatus,
  Jobs,
  JobsHealth,
} from '../../src/shared/ports/jobs.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import { connectionTo, type RedisClient, within } from './connection.ts';
import { forgetLossesScript, type Kept, progressOf, redisId } from './form.ts';
import { BullQueues, newJobOptions } from './queues.ts';
import { openWorker, type QueueWorker } from './worker.ts';

export interface BullJobsOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Of all connections to this server; one of its own that logs nothing, by default. */
  readonly group?: ConnectionGroup;
  /** Prefix of all keys; `reeve` by default. */
  readonly prefix?: string;
  /** How long a run holds its job unless renewed; 10 s by default. */
  readonly leaseMs?: number;
}

const timeoutMs = 2000;
const pulseMs = 2000;
/** Jobs that one page of a queue's removal reads. */
const jobsPerPage = 200;
const stuckMs = 8000;

/** A job and its state, which are two questions: asked again while the state moves between them. */
async function lookUp(queue: Queue, id: string) {
  let state = await queue.getJobState(id);
  for (let turn = 0; ; turn++) {
    const job = await queue.getJob(id);
    const after = await queue.getJobState(id);
    if (state === after || turn === 10) return { job, bullState: after };
    state = after;
  }
}

async function countsOf(queue: Queue): Promise<readonly JobCount[]> {
  const { name } = queue;
  const counts = await queue.getJobCounts('wait', 'delayed', 'prioritized', 'active', 'failed');
  const { active = 0, failed = 0, ...waiting } = counts;
  return [
    { queue: name, state: 'waiting', count: Object.values(waiting).reduce((sum, count) => sum + count, 0) },
    { queue: name, state: 'running', count: active },
    { queue: name, state: 'dead', count: failed },
  ];
}

class BullJobs implements Jobs {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #leaseMs: number;
  readonly #prefix: string;
  readonly #group: ConnectionGroup;
  readonly #caller: RedisClient;
  readonly #patient: RedisClient;
  readonly #queues: BullQueues;
  readonly #workers = new Map<string, QueueWorker>();
  #lastTurn: number;
  #closing: Promise<void> | null = null;
  readonly #pulse: Timer;

  constructor(options: BullJobsOptions) {
    const { url, clock, log, leaseMs = sharedJobLeaseMs } = options;
    this.#clock = clock;
    this.#log = log;
    this.#leaseMs = leaseMs;
    this.#prefix = `${options.prefix ?? 'reeve'}:jobs`;
    this.#group = options.group ?? new ConnectionGroup({ down() {}, up() {} });
    this.#caller = connectionTo({ url, clock, group: this.#group, name: 'jobs', patient: false });
    this.#patient = connectionTo({ url, clock, group: this.#group, name: 'job-workers', patient: true });
    this.#queues = new BullQueues(this.#caller, this.#prefix);
    this.#lastTurn = clock.monotonic();
    this.#pulse = clock.every(pulseMs, () => {
      within(clock, timeoutMs, this.#caller.ping()).then(
        () => {
          if ([...this.#workers.values()].every((worker) => worker.alive()))
            this.#lastTurn = clock.monotonic();
        },
        () => {},
      );
    });
  }

  /** @throws HubError('unavailable') when Redis does not answer within about 2 s */
  async connect(): Promise<void> {
    await within(
      this.#clock,
      timeoutMs,
      Promise.all([this.#caller.connect(), this.#patient.connect()]),
    ).catch((error) => {
      this.#pulse.cancel();
      this.#caller.destroy();
      this.#patient.destroy();
      throw error;
    });
  }

  async add(newJob: Job): Promise<void> {
    const { id, queue, payload, runAt, maxAttempts, backoffMs, longestBackoffMs } = checkedJob(newJob);
    const now = this.#clock.now();
    const kept: Kept = { id, payload, backoffMs, longestBackoffMs };
    const delay = Math.max(0, runAt - now);
    const options = newJobOptions({ jobId: redisId(id), timestamp: now, delay, attempts: maxAttempts });
    await this.#ask(() => this.#queues.of(queue).add(queue, kept, options));
  }

  work(queue: string, handler: JobHandler, { concurrency = 1 } = {}): void {
    if (this.#workers.has(queue)) throw new HubError('internal', `The queue ${queue} already has a worker.`);
    this.#workers.set(
      queue,
      openWorker({
        queue,
        handler,
        concurrency,
        connection: this.#patient,
        prefix: this.#prefix,
        leaseMs: this.#leaseMs,
        clock: this.#clock,
        log: this.#log,
      }),
    );
  }

  find(queue: string, id: string): Promise<JobStatus | null> {
    return this.#ask(async () => {
      const { job, bullState } = await lookUp(this.#queues.of(queue), redisId(id));
      if (!job || bullState === 'completed' || bullState === 'unknown') return null;
      const state: JobState =
        bullState === 'failed' ? 'dead' : bullState === 'active' ? 'running' : 'waiting';
      const error = job.failedReason ?? null;
      return { id, state, failures: job.attemptsMade, error, progress: progressOf(job.progress) };
    });
  }

  counts(): Promise<readonly JobCount[]> {
    return this.#ask(async () =>
      (await Promise.all([...this.#workers.keys()].map((name) => countsOf(this.#queues.of(name))))).flat(),
    );
  }

  dead(queue: string, limit: number): Promise<readonly DeadJob[]> {
    return this.#ask(async () => {
      if (limit < 1) return [];
      const jobs = await this.#queues.of(queue).getJobs(['failed'], 0, limit - 1, false);
      return jobs.map((job) => {
        const { id, payload } = job.data as Kept;
        const error = job.failedReason ?? '';
        return { id, payload, failures: job.attemptsMade, error, diedAt: job.finishedOn ?? 0 };
      });
    });
  }

  retry(queue: string, id: string): Promise<boolean> {
    return this.#ask(async () => {
      const job = await this.#deadJob(queue, id);
      if (!job) return false;
      const keys = [this.#queues.of(queue).toKey(redisId(id))];
      await this.#caller.eval(forgetLossesScript, { keys, arguments: [] });
      await job.retry('failed', { resetAttemptsMade: true, resetAttemptsStarted: true });
      return true;
    });
  }

  remove(queue: string, id: string): Promise<boolean> {
    return this.#ask(async () => {
      const job = await this.#queues.of(queue).getJob(redisId(id));
      if (!job || (await job.isActive())) return false;
      return (await this.#queues.of(queue).remove(redisId(id))) === 1;
    });
  }

  async removeOfTenant(tenantId: string, limit: number): Promise<number> {
    let removed = 0;
    for (const name of this.#workers.keys()) {
      if (removed < limit) removed += await this.#removeFrom(name, tenantId, limit - removed);
    }
    return removed;
  }

  health(): JobsHealth {
    const late = this.#clock.monotonic() - this.#lastTurn > stuckMs;
    const state = this.#closing ? 'stopped' : late ? 'crashed' : 'running';
    return {
      state,
      lastTurn: this.#lastTurn,
      running: [...this.#workers.values()].reduce((sum, one) => sum + one.running(), 0),
    };
  }

  close(graceMs = 5000): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  #ask<T>(task: () => Promise<T>): Promise<T> {
    if (this.#closing) return Promise.reject(outageOf('jobQueueClosed'));
    return within(this.#clock, timeoutMs, task());
  }

  /** A queue's dead job, or null. */
  async #deadJob(name: string, id: string) {
    const job = await this.#queues.of(name).getJob(redisId(id));
    return job && (await job.isFailed()) ? job : null;
  }

  /** Of one queue, page by page: a page that lost jobs moves the next one up. */
  async #removeFrom(name: string, tenantId: string, limit: number): Promise<number> {
    const queue = this.#queues.of(name);
    let removed = 0;
    for (const state of ['wait', 'delayed', 'prioritized', 'failed'] as const) {
      for (let start = 0; removed < limit; ) {
        const ids = await this.#ask(() => queue.getRanges([state], start, start + jobsPerPage - 1, true));
        const before = removed;
        const jobs = await this.#ask(() => Promise.all(ids.map((id) => queue.getJob(id))));
        for (const [i, id] of ids.entries()) {
          const isOwn = JSON.stringify(jobs[i]?.data ?? null).includes(tenantId);
          if (isOwn && removed < limit) removed += await this.#ask(() => queue.remove(id));
        }
        start += ids.length - (removed - before);
        if (ids.length < jobsPerPage) break;
      }
    }
    return removed;
  }

  async #close(graceMs: number): Promise<void> {
    this.#group.close();
    this.#pulse.cancel();
    await Promise.all([...this.#workers.values()].map((worker) => worker.close(graceMs)));
    await within(this.#clock, timeoutMs, this.#queues.close()).catch(() => {});
    for (const client of [this.#caller, this.#patient]) if (client.isOpen) client.destroy();
  }
}

/** Connects. @throws HubError('unavailable') when Redis does not answer within about 2 s */
export async function openBullJobs(options: BullJobsOptions): Promise<Jobs> {
  const jobs = new BullJobs(options);
  await jobs.connect();
  return jobs;
}
