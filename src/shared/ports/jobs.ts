// Durable background jobs: unique id, payload, time to run, attempts with backoff, dead letters, progress. Two
// implementations: a table of the embedded store with the runner of adapters/local, and adapters/bullmq. Both
// keep promise P32, in detail:
//
// - At least once. A job that was added runs until its handler resolves once. When the process dies in the middle, or
//   loses the job's lease, the job runs again: handlers are idempotent. Such losses use up no attempt. But a job that
//   was lost `maxLosses` times without progress in between is dead: what kills its process would kill the next
//   one too.
// - Never before `runAt`, and normally at most 1 s after it, in no promised order. A lost one runs again within about
//   two leases; where one process runs all jobs, as soon as it is started again.
// - No two runs of one job at a time while the lease holds. The `signal` of a run that lost it fires, and the result of
//   that run is ignored.
// - Nothing is once for ever: the id of a job that is done is forgotten, and adding it again makes a new job.
import type { Job } from '../job.ts';

export type { Job } from '../job.ts';

/** One run of a job, as its handler sees it. */
export interface JobRun {
  readonly id: string;
  readonly payload: unknown;
  /** 1 in the first run; counts failed runs, not lost ones. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /**
   * Aborted when the jobs close or the lease is lost. A handler that throws after that has not failed: it runs again,
   * with no attempt used up.
   */
  readonly signal: AbortSignal;
  /**
   * Keeps a small JSON value (4 KiB) for `find`; the last one stays across runs. Lost with a loss of the lease. Losses
   * before it no longer count.
   */
  progress(value: unknown): Promise<void>;
}

/** Resolves when the job is done, throws when the run failed. */
export type JobHandler = (run: JobRun) => Promise<void>;

export type JobState = 'waiting' | 'running' | 'dead';

/** A job as its queue shows it. */
export interface JobStatus {
  readonly id: string;
  readonly state: JobState;
  /** Failed runs so far. */
  readonly failures: number;
  /** Error of the latest failed run, at most 1,000 characters; null if none failed. */
  readonly error: string | null;
  /** The latest value from `progress`, else null. */
  readonly progress: unknown;
}

/** The jobs of a queue in one state, on all nodes. */
export interface JobCount {
  readonly queue: string;
  readonly state: JobState;
  readonly count: number;
}

/** A job that failed too often, or was lost too often. */
export interface DeadJob {
  readonly id: string;
  readonly payload: unknown;
  readonly failures: number;
  readonly error: string;
  /** Epoch milliseconds. */
  readonly diedAt: number;
}

/** State of this node's jobs, for health. */
export interface JobsHealth {
  /** `crashed`: no turn has succeeded for 8 s, so that due jobs may be waiting. `stopped`: closed. */
  readonly state: 'running' | 'stopped' | 'crashed';
  /** The clock's monotonic milliseconds when a turn last succeeded (the start, before the first). */
  readonly lastTurn: number;
  /** Handlers at work in this process. */
  readonly running: number;
}

/** The queues of all jobs. */
export interface Jobs {
  /**
   * Durable when resolved. Safe to repeat: the id makes it one job.
   * @throws HubError('internal') for a job outside its bounds, a mistake of the caller; 'unavailable' when it is not
   *   known to be kept
   */
  add(job: Job): Promise<void>;
  /**
   * Runs `handler` for jobs of the queue, at most `concurrency` (1 by default) at a time on this node. Call once per
   * queue. A job of a queue that nobody works waits.
   */
  work(queue: string, handler: JobHandler, options?: { readonly concurrency?: number }): void;
  /** Null when it is unknown or done. */
  find(queue: string, id: string): Promise<JobStatus | null>;
  /** States without a job may be left out. Where nodes share the jobs: of the queues that this node works. */
  counts(): Promise<readonly JobCount[]>;
  /** Jobs that are dead, the latest first. The newest 10,000 of a queue are kept. */
  dead(queue: string, limit: number): Promise<readonly DeadJob[]>;
  /** Makes a dead job wait again, due now, with all its attempts. False when it is not dead. */
  retry(queue: string, id: string): Promise<boolean>;
  /** Forgets a job that waits or is dead. False when there is none, or it runs. */
  remove(queue: string, id: string): Promise<boolean>;
  /**
   * Forgets jobs with a payload that contains the tenant's id, at most `limit`; returns how many.
   * Those that run stay. 0 where the store keeps the jobs: there it erases them with the tenant.
   */
  removeOfTenant(tenantId: string, limit: number): Promise<number>;
  health(): JobsHealth;
  /**
   * Starts no more runs and aborts the signals of active ones. The promise resolves when they have ended, or after
   * `graceMs` (5 s). Another node repeats unfinished runs when their leases end. Added jobs stay.
   */
  close(graceMs?: number): Promise<void>;
}
