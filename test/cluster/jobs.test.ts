// Jobs on BullMQ keep every promise of their port.
import { randomUUID } from 'node:crypto';
import { Worker } from 'bullmq';
import { createClient } from 'redis';
import { inject } from 'vitest';
import { openBullJobs } from '../../adapters/bullmq/index.ts';
import { systemClock } from '../../adapters/node/clock.ts';
import { maxLosses } from '../../src/shared/job.ts';
import type { Jobs } from '../../src/shared/ports/jobs.ts';
import { jobsContract, shortLeaseMs } from '../conformance/jobs.ts';
import { memoryLog } from '../log.ts';

jobsContract('bullmq', async () => {
  const url = inject('redisUrl');
  const prefix = `test-${randomUUID()}`;
  const opened: Jobs[] = [];
  const log = memoryLog();
  const doomed = new Map<string, Worker>();
  const client = createClient({ url });
  await client.connect();
  const another = async (): Promise<Jobs> => {
    const jobs = await openBullJobs({ url, clock: systemClock, log, prefix, leaseMs: shortLeaseMs });
    opened.push(jobs);
    return jobs;
  };
  /** A worker that takes jobs and never says another word about them. */
  const takerOf = async (queue: string): Promise<Worker> => {
    const known = doomed.get(queue);
    if (known) return known;
    const taker = new Worker(queue, null, {
      connection: client,
      prefix: `${prefix}:jobs`,
      autorun: false,
      lockDuration: 50,
      stalledInterval: 50,
      skipLockRenewal: true,
      maxStalledCount: maxLosses - 1,
    });
    taker.on('error', () => {});
    doomed.set(queue, taker);
    await taker.startStalledCheckTimer();
    return taker;
  };
  return {
    jobs: await another(),
    log,
    another,
    takeAndDie: async (queue) =>
      (await (await takerOf(queue)).getNextJob(randomUUID(), { block: false })) !== undefined,
    async close() {
      for (const taker of doomed.values()) await taker.close(true);
      await Promise.all(opened.map((jobs) => jobs.close(100)));
      const keys = await client.keys(`${prefix}:*`);
      if (keys.length > 0) await client.del(keys);
      client.destroy();
    },
  };
});
