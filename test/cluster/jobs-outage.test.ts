// Jobs on BullMQ while Redis is away or killed: callers hear at once, nothing that was added is lost, and
// workers go on by themselves.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBullJobs } from '../../adapters/bullmq/index.ts';
import { systemClock } from '../../adapters/node/clock.ts';
import type { Job, Jobs } from '../../src/shared/ports/jobs.ts';
import { uuid } from '../conformance/fixtures.ts';
import { until } from '../services/service.ts';
import { type Service, startOwnRedis } from '../services/start.ts';
import { noLog } from './stage.ts';

let redis: Service;
let stop: () => Promise<void>;
beforeAll(async () => {
  ({ redis, stop } = await startOwnRedis('always'));
});
afterAll(() => stop());

async function using(test: (jobs: Jobs, queue: string) => Promise<void>): Promise<void> {
  const prefix = `test-${uuid()}`;
  const jobs = await openBullJobs({ url: redis.url, clock: systemClock, log: noLog, prefix, leaseMs: 1500 });
  try {
    await test(jobs, 'q');
  } finally {
    await jobs.close(100);
  }
}

const due = (queue: string, id: string): Job => ({
  id,
  queue,
  payload: null,
  runAt: Date.now(),
  maxAttempts: 5,
  backoffMs: 50,
});

describe('jobs while redis is killed', () => {
  it('refuses to add, is told as crashed, and recovers within 10 s of the return', () =>
    using(async (jobs, queue) => {
      const ran = new Set<string>();
      jobs.work(queue, async ({ id }) => void ran.add(id));
      await jobs.add(due(queue, 'before'));
      await until('the first job', async () => {
        if (!ran.has('before')) throw new Error('not yet');
      });
      await redis.kill9();
      await expect(jobs.add(due(queue, 'while away'))).rejects.toMatchObject({ code: 'unavailable' });
      await until('the health', async () => {
        if (jobs.health().state !== 'crashed') throw new Error('not yet');
      });
      await redis.start();
      const back = performance.now();
      await until('a job to be added', () => jobs.add(due(queue, 'after')));
      await until('the job after', async () => {
        if (!ran.has('after')) throw new Error('not yet');
      });
      await until('the health', async () => {
        if (jobs.health().state !== 'running') throw new Error('not yet');
      });
      expect(performance.now() - back).toBeLessThan(10_000);
    }));

  it('every job that was added runs, over kills under load', () =>
    using(async (jobs, queue) => {
      const ran = new Set<string>();
      jobs.work(queue, async ({ id }) => void ran.add(id), { concurrency: 4 });
      const added: string[] = [];
      let next = 0;
      const load = async (n: number) => {
        for (let i = 0; i < n; i++) {
          const id = `n${next++}`;
          await jobs.add(due(queue, id)).then(
            () => added.push(id),
            () => {},
          );
        }
      };
      for (let round = 0; round < 3; round++) {
        await load(60);
        const killed = redis.kill9();
        await load(5);
        await killed;
        await redis.start();
        await until('redis', () => jobs.add(due(queue, `back${round}`)));
      }
      await load(20);
      await until('every job', async () => {
        if (added.some((id) => !ran.has(id))) throw new Error('not yet');
      });
      expect(added.length).toBeGreaterThanOrEqual(200);
      expect(await jobs.dead(queue, 10)).toEqual([]);
    }));
});
