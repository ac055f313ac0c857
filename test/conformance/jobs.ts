// The promises of every kind of background job (shared/ports/jobs), in real time.
import { describe, expect, it } from 'vitest';
import { GiveUp, keptDeadJobs, maxLosses } from '../../src/shared/job.ts';
import type { Job, JobRun, JobState, Jobs } from '../../src/shared/ports/jobs.ts';
import type { memoryLog } from '../log.ts';
import { parallel, uuid } from './fixtures.ts';

export interface OpenJobs {
  readonly jobs: Jobs;
  /** The same jobs as the next process sees them; closes nothing. */
  another(): Promise<Jobs>;
  /** Takes a job of the queue as a process that is killed in the middle of it. True when there was one to take. */
  takeAndDie(queue: string): Promise<boolean>;
  /** Log of all of them. */
  readonly log: ReturnType<typeof memoryLog>;
  close(): Promise<void>;
}

/** Leases of the opened jobs last this long, in milliseconds, so that a loss is noticed soon. */
export const shortLeaseMs = 600;

const due = (queue: string, over: Partial<Job> = {}): Job => ({
  id: uuid(),
  queue,
  payload: { n: 1 },
  runAt: Date.now(),
  maxAttempts: 3,
  backoffMs: 20,
  ...over,
});

/** Collects what handlers saw, and resolves when there are so many. */
function collector<T>() {
  const got: T[] = [];
  let wake = () => {};
  return {
    got,
    add(item: T) {
      got.push(item);
      wake();
    },
    async reached(n: number): Promise<readonly T[]> {
      while (got.length < n) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return got;
    },
  };
}

/** Resolves when `ask` answers what `fits`; the test's own time limit ends it otherwise. */
async function eventually<T>(ask: () => Promise<T>, fits: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (fits(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const isNull = (answer: unknown) => answer === null;

export function jobsContract(name: string, open: () => Promise<OpenJobs>): void {
  const using = async (test: (jobs: Jobs, queue: string, opened: OpenJobs) => Promise<void>) => {
    const opened = await open();
    try {
      await test(opened.jobs, `q-${uuid().slice(0, 8)}`, opened);
    } finally {
      await opened.close();
    }
  };

  describe(`${name}: jobs`, () => {
    it('runs a job with what it was given, and forgets it when it is done', () =>
      using(async (jobs, queue) => {
        const seen = collector<JobRun>();
        jobs.work(queue, async (run) => seen.add(run));
        const job = due(queue, { payload: { text: 'ü "quoted" \u0000', list: [1, null] }, id: 'a:b/c d:é%' });
        await jobs.add(job);
        const [run] = await seen.reached(1);
        expect(run).toMatchObject({ id: job.id, payload: job.payload, attempt: 1, maxAttempts: 3 });
        expect(run?.signal.aborted).toBe(false);
        await eventually(() => jobs.find(queue, job.id), isNull);
        expect(await jobs.dead(queue, 10)).toEqual([]);
      }));

    it('counts jobs by queue and state', () =>
      using(async (jobs, queue) => {
        const count = async (state: JobState) =>
          (await jobs.counts()).find((one) => one.queue === queue && one.state === state)?.count ?? 0;
        jobs.work(queue, async ({ payload }) => {
          if (payload === 'bad') throw new GiveUp('no');
        });
        await jobs.add(due(queue, { payload: 'later', runAt: Date.now() + 3_600_000 }));
        await jobs.add(due(queue, { payload: 'later', runAt: Date.now() + 3_600_000 }));
        await jobs.add(due(queue, { payload: 'bad' }));
        await eventually(
          () => count('dead'),
          (dead) => dead === 1,
        );
        expect(await count('waiting')).toBe(2);
        expect(await count('running')).toBe(0);
      }));

    it('adding an id that waits, runs or is dead changes nothing; one that is done is a new job', () =>
      using(async (jobs, queue) => {
        const seen = collector<unknown>();
        const job = due(queue, { id: 'one', maxAttempts: 1 });
        await parallel(10, () => jobs.add(job));
        let fail = true;
        jobs.work(
          queue,
          async ({ payload }) => {
            await jobs.add({ ...job, payload: 'while it runs' });
            seen.add(payload);
            if (fail) throw new Error('no');
          },
          { concurrency: 4 },
        );
        await eventually(
          () => jobs.find(queue, 'one'),
          (status) => status?.state === 'dead',
        );
        await jobs.add({ ...job, payload: 'while it is dead' });
        expect((await jobs.dead(queue, 10)).map(({ payload }) => payload)).toEqual([{ n: 1 }]);
        fail = false;
        expect(await jobs.retry(queue, 'one')).toBe(true);
        await eventually(() => jobs.find(queue, 'one'), isNull);
        await jobs.add({ ...job, payload: 'again' });
        expect(await seen.reached(3)).toEqual([{ n: 1 }, { n: 1 }, 'again']);
      }));

    it('does not run before its time', () =>
      using(async (jobs, queue) => {
        const seen = collector<number>();
        jobs.work(queue, async () => seen.add(Date.now()));
        const runAt = Date.now() + 300;
        await jobs.add(due(queue, { runAt }));
        const [at = 0] = await seen.reached(1);
        expect(at).toBeGreaterThanOrEqual(runAt);
      }));

    it('tries a failed run again after doubling waits, then keeps it as dead with its error', () =>
      using(async (jobs, queue) => {
        const seen = collector<{ attempt: number; at: number }>();
        jobs.work(queue, async ({ attempt }) => {
          seen.add({ attempt, at: Date.now() });
          throw new Error(`no ${attempt}${'!'.repeat(5000)}`);
        });
        const job = due(queue, { backoffMs: 100 });
        await jobs.add(job);
        const [one, two, three] = await seen.reached(3);
        expect([one?.attempt, two?.attempt, three?.attempt]).toEqual([1, 2, 3]);
        expect((two?.at ?? 0) - (one?.at ?? 0)).toBeGreaterThanOrEqual(99);
        expect((three?.at ?? 0) - (two?.at ?? 0)).toBeGreaterThanOrEqual(199);
        const status = await eventually(
          () => jobs.find(queue, job.id),
          (found) => found?.state === 'dead',
        );
        expect(status).toMatchObject({ failures: 3, error: expect.stringMatching(/^no 3!+$/) });
        expect(status?.error).toHaveLength(1000);
        const [dead] = await jobs.dead(queue, 10);
        expect(dead).toMatchObject({ id: job.id, payload: job.payload, failures: 3 });
        expect(dead?.diedAt).toBeGreaterThanOrEqual(three?.at ?? Number.POSITIVE_INFINITY);
      }));

    it('shows the last error of a job that is tried again', () =>
      using(async (jobs, queue) => {
        jobs.work(queue, async () => {
          throw new Error('not yet');
        });
        const job = due(queue, { backoffMs: 60_000, longestBackoffMs: 60_000 });
        await jobs.add(job);
        const status = await eventually(
          () => jobs.find(queue, job.id),
          (found) => found?.failures === 1,
        );
        expect(status).toMatchObject({ state: 'waiting', error: 'not yet' });
      }));

    it('a handler that gives up has no further attempt', () =>
      using(async (jobs, queue) => {
        let runs = 0;
        jobs.work(queue, async () => {
          runs++;
          throw new GiveUp('gone for good');
        });
        const job = due(queue);
        await jobs.add(job);
        const [dead] = await eventually(
          () => jobs.dead(queue, 10),
          (list) => list.length === 1,
        );
        expect(dead).toMatchObject({ id: job.id, error: 'gone for good', failures: 1 });
        expect(runs).toBe(1);
      }));

    it('lists the dead with the latest first, makes one wait again, and removes one', () =>
      using(async (jobs, queue, { log }) => {
        const seen = collector<string>();
        let fail = true;
        jobs.work(queue, async ({ id, attempt }) => {
          if (fail) throw new GiveUp('no');
          seen.add(`${id} ${attempt}`);
        });
        for (const id of ['a', 'b', 'c']) {
          await jobs.add(due(queue, { id }));
          await eventually(
            () => jobs.dead(queue, 10),
            (list) => list.some((dead) => dead.id === id),
          );
        }
        expect((await jobs.dead(queue, 2)).map(({ id }) => id)).toEqual(['c', 'b']);
        const deaths = log.lines.filter(({ message }) => message === 'a job is dead');
        expect(deaths.map(({ fields }) => fields)).toMatchObject([{ job: 'a' }, { job: 'b' }, { job: 'c' }]);
        fail = false;
        expect(await jobs.remove(queue, 'b')).toBe(true);
        expect(await jobs.remove(queue, 'b')).toBe(false);
        expect(await jobs.retry(queue, 'b')).toBe(false);
        expect(await jobs.retry(queue, 'a')).toBe(true);
        expect(await seen.reached(1)).toEqual(['a 1']);
        await eventually(() => jobs.find(queue, 'a'), isNull);
        expect((await jobs.dead(queue, 10)).map(({ id }) => id)).toEqual(['c']);
        expect(keptDeadJobs).toBeGreaterThan(1000);
      }));

    it('removes a job that waits; it does not run', () =>
      using(async (jobs, queue) => {
        const job = due(queue, { runAt: Date.now() + 1500 });
        const after = due(queue, { runAt: Date.now() + 1600 });
        const seen = collector<string>();
        jobs.work(queue, async ({ id }) => seen.add(id));
        await jobs.add(job);
        await jobs.add(after);
        expect(await jobs.find(queue, job.id)).toEqual({
          id: job.id,
          state: 'waiting',
          failures: 0,
          error: null,
          progress: null,
        });
        expect(await jobs.remove(queue, job.id)).toBe(true);
        expect(await jobs.find(queue, job.id)).toBe(null);
        expect(await seen.reached(1)).toEqual([after.id]);
      }));

    it('keeps the progress, also for the next run', () =>
      using(async (jobs, queue) => {
        const job = due(queue, { maxAttempts: 1 });
        jobs.work(queue, async ({ progress }) => {
          await progress({ done: 5 });
          expect(await jobs.find(queue, job.id)).toMatchObject({ state: 'running', progress: { done: 5 } });
          await progress({ done: 7 });
          throw new Error('in the middle');
        });
        await jobs.add(job);
        const status = await eventually(
          () => jobs.find(queue, job.id),
          (found) => found?.state === 'dead',
        );
        expect(status).toMatchObject({ error: 'in the middle', progress: { done: 7 } });
        await expect(jobs.add(due(queue, { payload: 'x'.repeat(70_000) }))).rejects.toMatchObject({
          code: 'internal',
        });
      }));

    it('runs as many at a time as it may, and no more', () =>
      using(async (jobs, queue) => {
        let atWork = 0;
        let highest = 0;
        const seen = collector<string>();
        let open = () => {};
        const gate = new Promise<void>((resolve) => {
          open = resolve;
        });
        jobs.work(
          queue,
          async ({ id }) => {
            highest = Math.max(highest, ++atWork);
            if (highest === 3) open();
            await gate;
            atWork--;
            seen.add(id);
          },
          { concurrency: 3 },
        );
        const all = await parallel(12, async () => {
          const job = due(queue);
          await jobs.add(job);
          return job.id;
        });
        expect([...(await seen.reached(12))].sort()).toEqual(all.sort());
        expect(highest).toBe(3);
      }));

    it('of two processes one runs a job, and each job runs', () =>
      using(async (jobs, queue, { another }) => {
        const other = await another();
        const seen = collector<string>();
        for (const each of [jobs, other])
          each.work(queue, async ({ id }) => seen.add(id), { concurrency: 5 });
        const all = await parallel(50, async (i) => {
          const job = due(queue);
          await (i % 2 ? jobs : other).add(job);
          return job.id;
        });
        const got = await seen.reached(50);
        for (const id of all) await eventually(() => jobs.find(queue, id), isNull);
        expect([...got].sort()).toEqual(all.sort());
      }));

    it('a run longer than its lease keeps its job', () =>
      using(async (jobs, queue, { another }) => {
        const other = await another();
        let runs = 0;
        const seen = collector<string>();
        for (const each of [jobs, other]) {
          each.work(queue, async ({ id, signal }) => {
            runs++;
            await new Promise((resolve) => setTimeout(resolve, shortLeaseMs * 3));
            seen.add(`${id} ${signal.aborted}`);
          });
        }
        const job = due(queue);
        await jobs.add(job);
        expect(await seen.reached(1)).toEqual([`${job.id} false`]);
        await eventually(() => jobs.find(queue, job.id), isNull);
        expect(runs).toBe(1);
      }));

    it('runs again what a killed process was running, with no attempt used up', () =>
      using(async (jobs, queue, { takeAndDie }) => {
        const job = due(queue);
        await jobs.add(job);
        expect(await takeAndDie(queue)).toBe(true);
        expect(await jobs.find(queue, job.id)).toMatchObject({ state: 'running' });
        expect(await jobs.remove(queue, job.id)).toBe(false);
        const seen = collector<number>();
        jobs.work(queue, async ({ attempt }) => seen.add(attempt));
        expect(await seen.reached(1)).toEqual([1]);
        await eventually(() => jobs.find(queue, job.id), isNull);
      }));

    it('a job that kills its process every time is dead in the end', { timeout: 60_000 }, () =>
      using(async (jobs, queue, { takeAndDie, another, log }) => {
        const [poison, good] = [due(queue), due(`${queue}-2`)];
        await jobs.add(poison);
        for (let lost = 0; lost < maxLosses; lost++) {
          while (!(await takeAndDie(queue))) await new Promise((resolve) => setTimeout(resolve, 20));
        }
        const seen = collector<string>();
        jobs.work(queue, async ({ id }) => seen.add(id));
        jobs.work(good.queue, async ({ id }) => seen.add(id));
        const [dead] = await eventually(
          () => jobs.dead(queue, 10),
          (list) => list.length > 0,
        );
        expect(dead).toMatchObject({ id: poison.id, error: expect.stringMatching(/./) });
        await jobs.add(good);
        expect(await seen.reached(1)).toEqual([good.id]);
        const deaths = async () => log.lines.filter(({ message }) => message === 'a job is dead');
        await eventually(deaths, (lines) => lines.length > 0);
        expect(await deaths()).toMatchObject([{ level: 'error', fields: { job: poison.id, queue } }]);
        // Made to wait again, it has all its losses before it.
        await jobs.close();
        const next = await another();
        expect(await next.retry(queue, poison.id)).toBe(true);
        expect(await takeAndDie(queue)).toBe(true);
        const runs = collector<string>();
        next.work(queue, async ({ id }) => runs.add(id));
        expect(await runs.reached(1)).toEqual([poison.id]);
        expect(await deaths()).toHaveLength(1);
      }),
    );

    it('a job that keeps progress lives on, however often its processes die', { timeout: 60_000 }, () =>
      using(async (jobs, queue, { takeAndDie, another }) => {
        const job = due(queue);
        await jobs.add(job);
        const lose = async () => {
          for (let lost = 0; lost < maxLosses - 1; lost++)
            while (!(await takeAndDie(queue))) await new Promise((resolve) => setTimeout(resolve, 20));
        };
        await lose();
        const begun = collector<number>();
        jobs.work(queue, async ({ progress, signal }) => {
          await progress({ done: 1 });
          begun.add(1);
          await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stop'))));
        });
        await begun.reached(1);
        await jobs.close();
        await lose();
        const next = await another();
        const seen = collector<number>();
        next.work(queue, async ({ attempt }) => seen.add(attempt));
        expect(await seen.reached(1)).toEqual([1]);
        expect(await next.dead(queue, 10)).toEqual([]);
      }),
    );

    it('closing aborts what runs; it runs again at the next process with no attempt used up', () =>
      using(async (jobs, queue, { another }) => {
        const begun = collector<number>();
        jobs.work(queue, async ({ attempt, signal }) => {
          begun.add(attempt);
          await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stop'))));
        });
        const job = due(queue, { maxAttempts: 1 });
        await jobs.add(job);
        await begun.reached(1);
        expect(jobs.health()).toMatchObject({ state: 'running', running: 1 });
        await jobs.close();
        await jobs.close();
        expect(jobs.health()).toMatchObject({ state: 'stopped', running: 0 });
        const next = await another();
        const seen = collector<number>();
        next.work(queue, async ({ attempt }) => seen.add(attempt));
        expect(await seen.reached(1)).toEqual([1]);
        await eventually(() => next.find(queue, job.id), isNull);
      }));

    it('closing does not wait for ever for a handler that does not hear', () =>
      using(async (jobs, queue) => {
        const begun = collector<number>();
        let end = () => {};
        jobs.work(queue, async () => {
          begun.add(1);
          await new Promise<void>((resolve) => {
            end = resolve;
          });
        });
        await jobs.add(due(queue));
        await begun.reached(1);
        await jobs.close(100);
        end();
      }));

    it.each([
      ['an id that is empty', { id: '' }],
      ['an id that is too long', { id: 'x'.repeat(201) }],
      ['a queue that is no name', { queue: 'A B' }],
      ['no attempt', { maxAttempts: 0 }],
      ['a time that is none', { runAt: Number.NaN }],
    ])('refuses a job with %s', (_, over) =>
      using(async (jobs, queue) => {
        await expect(jobs.add(due(queue, over))).rejects.toMatchObject({ code: 'internal' });
      }),
    );
  });
}
