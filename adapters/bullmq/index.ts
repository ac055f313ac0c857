// The Jobs port on BullMQ: queues in Redis that every node shares. Done jobs are removed, dead ones kept; BullMQ holds
// and renews the leases.
import { Queue } from 'bullmq';
import { ConnectionGroup } from '../../src/shared/concurrency/connection-group.ts';
import { HubError } from '../../src/shared/error.ts';
import { checkedJob, keptDeadJobs, sharedJobLeaseMs } from '../../src/shared/job.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { JobCount, JobState, Jobs } from '../../src/shared/ports/jobs.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import { connectionTo, within } from './connection.ts';
import { type Kept, progressOf, redisId } from './form.ts';
import { openWorker, type QueueWorker } from './worker.ts';

export interface BullJobsOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Of all connections to this server; one of its own that logs nothing, by default. */
  readonly group?: ConnectionGroup;
  /** What all keys begin with; `reeve` by default. */
  readonly prefix?: string;
  /** How long a run holds its job unless renewed; 10 s by default. */
  readonly leaseMs?: number;
}

const timeoutMs = 2000;
const pulseMs = 2000;
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

/** Connects. @throws HubError('unavailable') when Redis does not answer within about 2 s */
export async function openBullJobs(options: BullJobsOptions): Promise<Jobs> {
  const { url, clock, log, leaseMs = sharedJobLeaseMs } = options;
  const prefix = `${options.prefix ?? 'reeve'}:jobs`;
  const group = options.group ?? new ConnectionGroup({ down() {}, up() {} });
  const caller = connectionTo({ url, clock, group, name: 'jobs', patient: false });
  const patient = connectionTo({ url, clock, group, name: 'job-workers', patient: true });
  const queues = new Map<string, Queue>();
  const workers = new Map<string, QueueWorker>();
  let lastTurn = clock.monotonic();
  let closing: Promise<void> | null = null;

  await within(clock, timeoutMs, Promise.all([caller.connect(), patient.connect()])).catch((error) => {
    caller.destroy();
    patient.destroy();
    throw error;
  });

  function queueOf(name: string): Queue {
    const open = queues.get(name);
    if (open) return open;
    const queue = new Queue(name, {
      connection: caller,
      prefix,
      skipWaitingForReady: true,
      streams: { events: { maxLen: 100 } },
    });
    // Told by the connection itself, and to each caller.
    queue.on('error', () => {});
    queues.set(name, queue);
    return queue;
  }

  const ask = <T>(task: () => Promise<T>): Promise<T> => {
    if (closing) return Promise.reject(new HubError('shutting_down', 'The hub is shutting down.'));
    return within(clock, timeoutMs, task());
  };

  /** A queue's dead job, or null. */
  async function deadJob(name: string, id: string) {
    const job = await queueOf(name).getJob(redisId(id));
    return job && (await job.isFailed()) ? job : null;
  }

  const pulse = clock.every(pulseMs, () => {
    within(clock, timeoutMs, caller.ping()).then(
      () => {
        if ([...workers.values()].every((worker) => worker.alive())) lastTurn = clock.monotonic();
      },
      () => {},
    );
  });

  async function close(graceMs: number): Promise<void> {
    group.close();
    pulse.cancel();
    await Promise.all([...workers.values()].map((worker) => worker.close(graceMs)));
    await within(clock, timeoutMs, Promise.all([...queues.values()].map((queue) => queue.close()))).catch(
      () => {},
    );
    for (const client of [caller, patient]) if (client.isOpen) client.destroy();
  }

  return {
    async add(newJob) {
      const { id, queue, payload, runAt, maxAttempts, backoffMs, longestBackoffMs } = checkedJob(newJob);
      const now = clock.now();
      const kept: Kept = { id, payload, backoffMs, longestBackoffMs };
      await ask(() =>
        queueOf(queue).add(queue, kept, {
          jobId: redisId(id),
          timestamp: now,
          delay: Math.max(0, runAt - now),
          attempts: maxAttempts,
          backoff: { type: 'reeve' },
          removeOnComplete: true,
          removeOnFail: { count: keptDeadJobs },
          stackTraceLimit: 1,
        }),
      );
    },
    work(queue, handler, { concurrency = 1 } = {}) {
      if (workers.has(queue)) throw new HubError('internal', `The queue ${queue} already has a worker.`);
      workers.set(
        queue,
        openWorker({ queue, handler, concurrency, connection: patient, prefix, leaseMs, clock, log }),
      );
    },
    find: (queue, id) =>
      ask(async () => {
        const { job, bullState } = await lookUp(queueOf(queue), redisId(id));
        if (!job || bullState === 'completed' || bullState === 'unknown') return null;
        const state: JobState =
          bullState === 'failed' ? 'dead' : bullState === 'active' ? 'running' : 'waiting';
        const error = job.failedReason ?? null;
        return { id, state, failures: job.attemptsMade, error, progress: progressOf(job.progress) };
      }),
    counts: () =>
      ask(async () => (await Promise.all([...workers.keys()].map((name) => countsOf(queueOf(name))))).flat()),
    dead: (queue, limit) =>
      ask(async () => {
        if (limit < 1) return [];
        const jobs = await queueOf(queue).getJobs(['failed'], 0, limit - 1, false);
        return jobs.map((job) => {
          const { id, payload } = job.data as Kept;
          const error = job.failedReason ?? '';
          return { id, payload, failures: job.attemptsMade, error, diedAt: job.finishedOn ?? 0 };
        });
      }),
    retry: (queue, id) =>
      ask(async () => {
        const job = await deadJob(queue, id);
        if (!job) return false;
        await job.retry('failed', { resetAttemptsMade: true, resetAttemptsStarted: true });
        return true;
      }),
    remove: (queue, id) =>
      ask(async () => {
        const job = await queueOf(queue).getJob(redisId(id));
        if (!job || (await job.isActive())) return false;
        return (await queueOf(queue).remove(redisId(id))) === 1;
      }),
    health() {
      const late = clock.monotonic() - lastTurn > stuckMs;
      const state = closing ? 'stopped' : late ? 'crashed' : 'running';
      return { state, lastTurn, running: [...workers.values()].reduce((sum, one) => sum + one.running(), 0) };
    },
    close(graceMs = 5000) {
      closing ??= close(graceMs);
      return closing;
    },
  };
}
