// The queues of a cluster in BullMQ, each opened when it is first used, and the options that every job has.
import { type JobsOptions, Queue } from 'bullmq';
import { keptDeadJobs } from '../../src/shared/job.ts';
import type { RedisClient } from './connection.ts';

export class BullQueues {
  readonly #connection: RedisClient;
  readonly #prefix: string;
  readonly #open = new Map<string, Queue>();

  /** @param prefix of all keys */
  constructor(connection: RedisClient, prefix: string) {
    this.#connection = connection;
    this.#prefix = prefix;
  }

  of(name: string): Queue {
    const open = this.#open.get(name);
    if (open) return open;
    const queue = new Queue(name, {
      connection: this.#connection,
      prefix: this.#prefix,
      skipWaitingForReady: true,
      streams: { events: { maxLen: 100 } },
    });
    // Told by the connection itself, and to each caller.
    queue.on('error', () => {});
    this.#open.set(name, queue);
    return queue;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((queue) => queue.close()));
  }
}

export const newJobOptions = (job: {
  readonly jobId: string;
  readonly timestamp: number;
  readonly delay: number;
  readonly attempts: number;
}): JobsOptions => ({
  ...job,
  backoff: { type: 'reeve' },
  removeOnComplete: true,
  removeOnFail: { count: keptDeadJobs },
  stackTraceLimit: 1,
});
