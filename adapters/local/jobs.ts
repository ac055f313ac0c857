// The Jobs port on a table: takes what is due, runs it, renews the leases of what runs, and writes down how it ended.
// Keeps nothing itself.
import { singleFlight } from '../../src/shared/concurrency/single-flight.ts';
import { HubError } from '../../src/shared/error.ts';
import { checkedJob, GiveUp, jobBackoff, jobLeaseMs, jobProgress, reasonOf } from '../../src/shared/job.ts';
import { type Clock, upTo } from '../../src/shared/ports/clock.ts';
import type { JobRunKey, JobTable, TakenJob } from '../../src/shared/ports/job-table.ts';
import type { JobHandler, Jobs } from '../../src/shared/ports/jobs.ts';
import type { Log } from '../../src/shared/ports/log.ts';

export interface LocalJobsOptions {
  readonly table: JobTable;
  readonly clock: Clock;
  readonly log: Log;
  /** How long a run holds its job unless renewed; 30 s by default. */
  readonly leaseMs?: number;
  /** No other process works on the table: what one that died held is run at once, not when its lease ends. */
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

export function createLocalJobs(options: LocalJobsOptions): Jobs {
  const { table, clock, log, leaseMs = jobLeaseMs, alone = false } = options;
  const queues = new Map<string, Queue>();
  let hasReleased = !alone;
  let lastTurn = clock.monotonic();
  let renewedAt = clock.now();
  let closing: Promise<void> | null = null;

  const running = (): Running[] => [...queues.values()].flatMap((queue) => [...queue.running]);

  async function renew(now: number): Promise<void> {
    const held = running();
    // Also after a clock went back: the leases would end late, which holds up nothing but a loss.
    if (held.length === 0 || Math.abs(now - renewedAt) < leaseMs / 3) return;
    renewedAt = now;
    const lost = await table.renew(
      held.map(({ key }) => key),
      now + leaseMs,
    );
    const lostNames = new Set(lost.map(({ queue, id, run }) => JSON.stringify([queue, id, run])));
    for (const { key, abort } of held) {
      if (lostNames.has(JSON.stringify([key.queue, key.id, key.run]))) abort.abort();
    }
  }

  async function take(queue: Queue, now: number): Promise<void> {
    const free = queue.concurrency - queue.running.size;
    if (free <= 0 || closing) return;
    for (const job of await table.take(queue.name, free, now, now + leaseMs)) {
      if (closing) await table.again({ queue: queue.name, id: job.id, run: job.run }, now, null);
      else begin(queue, job);
    }
  }

  async function turn(): Promise<void> {
    // One time for the whole turn, and renewed before anything is taken: this process must not take what it runs,
    // however its clock jumps.
    const now = clock.now();
    if (!hasReleased) {
      await table.release();
      hasReleased = true;
    }
    await renew(now);
    for (const queue of queues.values()) await take(queue, now);
    lastTurn = clock.monotonic();
  }

  const taking = singleFlight(
    () => turn().catch((err: unknown) => log.warn({ err }, 'cannot run due jobs; the next run retries')),
    () => closing !== null,
  );
  const poke = (): void => void taking.ask();

  function begin(queue: Queue, job: TakenJob): void {
    const key = { queue: queue.name, id: job.id, run: job.run };
    const one: Running = { key, abort: new AbortController(), ended: Promise.resolve() };
    queue.running.add(one);
    one.ended = perform(queue, job, one).finally(() => {
      queue.running.delete(one);
      poke();
    });
  }

  async function perform(queue: Queue, job: TakenJob, { key, abort }: Running): Promise<void> {
    const { signal } = abort;
    const { id, payload, failures, maxAttempts } = job;
    const progress = async (value: unknown): Promise<void> => {
      await table.progress(key, jobProgress(value));
    };
    const run = { id, payload, attempt: failures + 1, maxAttempts, signal, progress };
    let record: () => Promise<void>;
    try {
      await queue.handler(run);
      record = () => table.finish(key);
    } catch (error) {
      record = () => recordFailure(job, key, signal, error);
    }
    // What cannot be written down now runs again when the lease ends.
    await record().catch((err: unknown) => log.warn({ err, job: id, queue: queue.name }, 'a job runs again'));
  }

  async function recordFailure(
    job: TakenJob,
    key: JobRunKey,
    signal: AbortSignal,
    error: unknown,
  ): Promise<void> {
    const now = clock.now();
    const failures = job.failures + 1;
    const about = { job: job.id, queue: key.queue, failures };
    if (error instanceof GiveUp || (!signal.aborted && failures >= job.maxAttempts)) {
      log.error({ ...about, err: error }, 'a job is dead');
      return table.bury(key, now, reasonOf(error));
    }
    if (signal.aborted) return table.again(key, now, null);
    log.warn({ ...about, err: error }, 'a job failed; it is retried');
    return table.again(key, now + jobBackoff(job, failures, clock.random()), reasonOf(error));
  }

  async function close(graceMs: number): Promise<void> {
    poll.cancel();
    await taking.idle();
    const left = running();
    for (const { abort } of left) abort.abort();
    await upTo(clock, graceMs, Promise.all(left.map(({ ended }) => ended)));
  }

  const poll = clock.every(Math.min(pollMs, leaseMs / 3), poke);

  return {
    async add(job) {
      await table.add(checkedJob(job));
      if (job.runAt <= clock.now() && queues.has(job.queue)) poke();
    },
    work(queue, handler, { concurrency = 1 } = {}) {
      if (queues.has(queue)) throw new HubError('internal', `The queue ${queue} already has a worker.`);
      queues.set(queue, { name: queue, handler, concurrency, running: new Set() });
      poke();
    },
    find: (queue, id) => table.find(queue, id),
    counts: () => table.counts(),
    dead: (queue, limit) => table.dead(queue, limit),
    async retry(queue, id) {
      const done = await table.retry(queue, id, clock.now());
      if (done) poke();
      return done;
    },
    remove: (queue, id) => table.remove(queue, id),
    health() {
      const late = clock.monotonic() - lastTurn > stuckMs;
      const state = closing ? 'stopped' : late ? 'crashed' : 'running';
      return { state, lastTurn, running: running().length };
    },
    close(graceMs = 5000) {
      closing ??= close(graceMs);
      return closing;
    },
  };
}
