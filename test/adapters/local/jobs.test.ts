// Jobs on the table of the embedded store keep every promise of their port; what the runner does when clocks and stores
// misbehave.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLocalJobs } from '../../../adapters/local/jobs.ts';
import { systemClock } from '../../../adapters/node/clock.ts';
import { openSqlite, openSqliteInline, type SqliteStore } from '../../../adapters/sqlite/index.ts';
import { HubError } from '../../../src/shared/error.ts';
import { keptDeadJobs, maxLosses } from '../../../src/shared/job.ts';
import type { Jobs } from '../../../src/shared/ports/jobs.ts';
import { ManualClock, settled } from '../../clock.ts';
import { jobsContract, type OpenJobs, shortLeaseMs } from '../../conformance/jobs.ts';
import { silentLog as log, memoryLog } from '../../log.ts';
import { startTestThread } from '../sqlite/start.ts';

const onStore = (store: SqliteStore, closed: () => Promise<void>): OpenJobs => {
  const opened: Jobs[] = [];
  const log = memoryLog();
  const open = (): Jobs => {
    const jobs = createLocalJobs({ table: store.jobs, clock: systemClock, log, leaseMs: shortLeaseMs });
    opened.push(jobs);
    return jobs;
  };
  return {
    jobs: open(),
    log,
    another: async () => open(),
    async takeAndDie(queue) {
      const now = Date.now();
      return (await store.jobs.take(queue, 1, now, now + 50)).length === 1;
    },
    async close() {
      await Promise.all(opened.map((jobs) => jobs.close(100)));
      await closed();
    },
  };
};

jobsContract('sqlite in memory', async () => {
  const store = await openSqliteInline(':memory:');
  return onStore(store, () => store.close());
});

describe('on threads', () => {
  let folder: string;
  let store: SqliteStore;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'jobs-'));
    store = await openSqlite({
      path: join(folder, 'hub.db'),
      clock: systemClock,
      startThread: startTestThread,
    });
  });
  afterAll(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  jobsContract('sqlite on threads', async () => onStore(store, async () => {}));
});

describe('jobs on a table', () => {
  let clock: ManualClock;
  let store: SqliteStore;
  let jobs: Jobs;
  beforeEach(async () => {
    clock = new ManualClock();
    store = await openSqliteInline(':memory:');
    jobs = createLocalJobs({ table: store.jobs, clock, log });
  });
  afterEach(async () => {
    const closed = jobs.close(0);
    await clock.advanceAsync(1);
    await closed;
    await store.close();
  });
  const job = (id: string, runAt = clock.now()) => ({ id, queue: 'q', payload: null, runAt, maxAttempts: 3 });

  it('waits 1 s after the first failure, doubles, and never longer than the longest wait', async () => {
    const at: number[] = [];
    jobs.work('q', async () => {
      at.push(clock.now());
      throw new Error('no');
    });
    await jobs.add({ ...job('a'), maxAttempts: 6, longestBackoffMs: 4000 });
    await clock.advanceAsync(40_000, 125);
    const waits = at.slice(1).map((time, i) => time - (at[i] ?? 0));
    // The clock's jitter is one half, so an eighth more; looked at once a second.
    expect(waits.map((wait) => Math.floor(wait / 1000))).toEqual([2, 3, 5, 5, 5]);
    expect(waits.every((wait, i) => wait >= Math.min(4000, 1000 * 2 ** i))).toBe(true);
  });

  it('outlives the process: what was added is there after the store was opened again', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'jobs-'));
    const path = join(folder, 'hub.db');
    const first = await openSqliteInline(path);
    await createLocalJobs({ table: first.jobs, clock, log }).add(job('kept'));
    await first.close();
    const second = await openSqliteInline(path);
    expect(await second.jobs.find('q', 'kept')).toMatchObject({ state: 'waiting' });
    await second.close();
    await rm(folder, { recursive: true });
  });

  it('runs what a process held that died as soon as it is started again', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'jobs-'));
    const store = await openSqliteInline(join(folder, 'hub.db'));
    const start = (alone: boolean) => createLocalJobs({ table: store.jobs, clock, log, alone });
    const before = start(false);
    before.work('q', () => new Promise(() => {}));
    await before.add(job('held'));
    await settled();
    expect(await before.find('q', 'held')).toMatchObject({ state: 'running' });
    const runs: string[] = [];
    // Beside another process it would wait for the lease.
    start(false).work('q', async ({ id }) => void runs.push(id));
    await settled();
    expect(runs).toEqual([]);
    start(true).work('q', async ({ id, attempt }) => void runs.push(`${id} ${attempt}`));
    await settled();
    expect(runs).toEqual(['held 1']);
    await store.close();
    await rm(folder, { recursive: true });
  });

  it('does not run a job twice when the clock jumps past its lease', async () => {
    let runs = 0;
    let end = () => {};
    jobs.work(
      'q',
      () => {
        runs++;
        return new Promise<void>((resolve) => {
          end = resolve;
        });
      },
      { concurrency: 2 },
    );
    await jobs.add(job('long'));
    await settled();
    await clock.advanceAsync(10 * 60_000, 60_000);
    expect(runs).toBe(1);
    end();
    await settled();
    expect(await jobs.find('q', 'long')).toBe(null);
  });

  it('tells a run that lost its lease, and ignores how it ends', async () => {
    const signals: AbortSignal[] = [];
    const ends: (() => void)[] = [];
    jobs.work('q', ({ signal }) => {
      signals.push(signal);
      return new Promise<void>((resolve) => ends.push(resolve));
    });
    await jobs.add(job('contended'));
    await settled();
    // Another process whose clock is ahead takes it.
    const later = clock.now() + 3_600_000;
    expect(await store.jobs.take('q', 1, later, later + 1000)).toHaveLength(1);
    await clock.advanceAsync(11_000, 1000);
    expect(signals[0]?.aborted).toBe(true);
    ends[0]?.();
    await settled();
    expect(await jobs.find('q', 'contended')).toMatchObject({ state: 'running', failures: 0 });
  });

  it('is reported as crashed when no turn succeeds for 8 s, and as running when one does', async () => {
    let away = true;
    const table = {
      ...store.jobs,
      take: (...args: Parameters<typeof store.jobs.take>) =>
        away ? Promise.reject(new HubError('unavailable', 'gone')) : store.jobs.take(...args),
    };
    const shaky = createLocalJobs({ table, clock, log });
    shaky.work('q', async () => {});
    await clock.advanceAsync(7000, 1000);
    expect(shaky.health().state).toBe('running');
    await clock.advanceAsync(2000, 1000);
    expect(shaky.health().state).toBe('crashed');
    away = false;
    await clock.advanceAsync(1000);
    expect(shaky.health()).toEqual({ state: 'running', lastTurn: clock.monotonic(), running: 0 });
    await shaky.close();
    expect(shaky.health().state).toBe('stopped');
  });

  it('runs what it took beside a job that cannot be stored as dead', async () => {
    await jobs.add(job('poison'));
    for (let lost = 0; lost < maxLosses; lost++) {
      expect(await store.jobs.take('q', 1, clock.now(), clock.now() + 1)).toMatchObject([{ id: 'poison' }]);
      await clock.advanceAsync(10);
    }
    const good = ['a', 'b', 'z'];
    for (const id of good) await jobs.add(job(id));
    const table = { ...store.jobs, bury: () => Promise.reject(new HubError('unavailable', 'gone')) };
    const shaky = createLocalJobs({ table, clock, log });
    const ran: string[] = [];
    shaky.work('q', async ({ id }) => void ran.push(id), { concurrency: 4 });
    await settled();
    expect(ran.sort()).toEqual(good);
    await shaky.close();
  });

  it(`keeps the newest ${keptDeadJobs} dead ones`, async () => {
    const keep = keptDeadJobs + 5;
    for (let i = 0; i < keep; i++) {
      await store.jobs.add({
        ...job(`d${i}`),
        payload: null,
        backoffMs: 1,
        longestBackoffMs: 1,
      });
    }
    const taken = await store.jobs.take('q', keep, clock.now(), clock.now() + 1);
    for (const [i, { id, run }] of taken.entries()) await store.jobs.bury({ queue: 'q', id, run }, i, 'no');
    const dead = await jobs.dead('q', keep);
    expect(dead).toHaveLength(keptDeadJobs);
    expect(dead.at(-1)?.diedAt).toBe(5);
  });
});
