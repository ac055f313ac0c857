// Durable background jobs: unique id, payload, time to run, attempts with backoff, dead letters.

export interface Job {
  /** Unique: adding an id that exists (waiting, running or dead) changes nothing. */
  readonly id: string;
  readonly queue: string;
  readonly payload: unknown;
  /** Epoch milliseconds; not run before. */
  readonly runAt: number;
  readonly maxAttempts: number;
}

export interface Jobs {
  /** Durable when resolved. Safe to repeat: the id makes it one job. */
  add(job: Job): Promise<void>;
  /** Runs `work` for jobs of the queue; at least once each; a throw is retried with doubling waits, then kept as dead. */
  work(queue: string, work: (payload: unknown, jobId: string) => Promise<void>): void;
  /** Jobs that failed every attempt. */
  dead(queue: string, limit: number): Promise<readonly { id: string; payload: unknown; error: string }[]>;
  close(): Promise<void>;
}
