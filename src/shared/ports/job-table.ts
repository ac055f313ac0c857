// Table of the embedded store's jobs; the runner of adapters/local works on it. The sqlite adapter is the
// one implementation.
import type { Job } from '../job.ts';
import type { DeadJob, JobCount, JobStatus } from './jobs.ts';

/** A job as it was taken from a table: the run's number fences it against earlier runs of the same job. */
export interface TakenJob {
  readonly id: string;
  readonly payload: unknown;
  readonly run: number;
  readonly failures: number;
  /** Runs that ended without a word since the last progress. */
  readonly losses: number;
  readonly maxAttempts: number;
  readonly backoffMs: number;
  readonly longestBackoffMs: number;
}

/** One run of a job. */
export interface JobRunKey {
  readonly queue: string;
  readonly id: string;
  readonly run: number;
}

/**
 * Where the runner of adapters/local keeps jobs. Every write is durable when resolved and one step; a write under an
 * old run changes nothing.
 */
export interface JobTable {
  /** Nothing happens when the queue has the id. */
  add(job: Required<Job>): Promise<void>;
  /**
   * Takes due ones, the longest due first, under a lease until `until`. Those whose lease ended by `now` are due, and
   * were lost once more.
   */
  take(queue: string, limit: number, now: number, until: number): Promise<readonly TakenJob[]>;
  /**
   * Ends every lease. For a process that alone works on the table, before it takes anything: what its predecessor ran
   * when it died is due at once, and counts as lost.
   */
  release(): Promise<void>;
  /** Prolongs the leases that are held; answers the lost ones. */
  renew(runs: readonly JobRunKey[], until: number): Promise<readonly JobRunKey[]>;
  /** Forgets the job: it is done. */
  finish(run: JobRunKey): Promise<void>;
  /** Makes it wait until `runAt`: after a failure with its `error`, else (null) as if this run had not been. */
  again(run: JobRunKey, runAt: number, error: string | null): Promise<void>;
  bury(run: JobRunKey, now: number, error: string): Promise<void>;
  progress(run: JobRunKey, value: unknown): Promise<void>;
  find(queue: string, id: string): Promise<JobStatus | null>;
  counts(): Promise<readonly JobCount[]>;
  dead(queue: string, limit: number): Promise<readonly DeadJob[]>;
  retry(queue: string, id: string, now: number): Promise<boolean>;
  remove(queue: string, id: string): Promise<boolean>;
}
