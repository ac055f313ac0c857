// The pool's bounds: how many run, how long they wait, what ends them, what comes after.
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../../adapters/node/clock.ts';
import { createPool, type Pool, type PoolOptions } from '../../../../adapters/node/evaluator/pool.ts';
import { HubError } from '../../../../src/shared/error.ts';
import type { Clock } from '../../../../src/shared/ports/clock.ts';

interface Echo {
  readonly echo: unknown;
  readonly thread: number;
  readonly environment: number;
}

let openPool: Pool | null = null;
afterEach(async () => {
  await openPool?.close();
  openPool = null;
});

function open(changed: Partial<PoolOptions> = {}): Pool {
  openPool = createPool({
    entry: new URL('./entry.mjs', import.meta.url),
    size: 2,
    shares: { running: 2, waiting: 2, allWaiting: 20 },
    waitMs: 20_000,
    limitMs: 20_000,
    startMs: 20_000,
    memoryMb: 48,
    clock: systemClock,
    refused: () => new HubError('too_busy', 'refused'),
    timedOut: () => new HubError('unprocessable', 'timed out'),
    overgrown: () => new HubError('unprocessable', 'overgrown'),
    ...changed,
  });
  return openPool;
}

const echo = async (from: Pool, value: unknown): Promise<Echo> =>
  (await from.run({ do: 'echo', value }, 'owner')) as Echo;

test('a thread is started when first needed, reused, and sees no environment', async () => {
  const pool = open();
  const first = await echo(pool, 1);
  const second = await echo(pool, 2);
  expect([first.echo, second.echo]).toEqual([1, 2]);
  expect(second.thread).toBe(first.thread);
  expect(first.environment).toBe(0);
});

test('no more threads than its size run; the rest wait their turn, and each gets its own answer', async () => {
  const pool = open({ shares: { running: 2, waiting: 50, allWaiting: 50 } });
  const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => echo(pool, i)));
  expect(answers.map((a) => a.echo)).toEqual(Array.from({ length: 20 }, (_, i) => i));
  expect(new Set(answers.map((a) => a.thread)).size).toBeLessThanOrEqual(2);
});

test('a job over its time is told so, and its thread is replaced', async () => {
  const pool = open({ size: 1, limitMs: 100 });
  await expect(pool.run({ do: 'spin' }, 'owner')).rejects.toThrow('timed out');
  expect((await echo(pool, 'after')).echo).toBe('after');
});

test('an owner with more jobs than its share leaves a thread and the next turns to others', async () => {
  const pool = open({ shares: { running: 1, waiting: 9, allWaiting: 20 }, limitMs: 300 });
  const order: string[] = [];
  const run = (owner: string, what: string) =>
    pool.run({ do: what, value: owner }, owner).then(
      () => order.push(owner),
      () => order.push(owner),
    );
  const flood = Array.from({ length: 4 }, () => run('greedy', 'spin'));
  await run('other', 'echo');
  expect(order).toEqual(['other']);
  const spins = [run('other', 'spin'), run('other', 'echo'), run('third', 'echo')];
  await Promise.all([...flood, ...spins]);
  // The third did not wait for all of the greedy one's.
  expect(order.indexOf('third')).toBeLessThan(order.lastIndexOf('greedy'));
});

test('what one owner has waiting does not fill the queue for others', async () => {
  const pool = open({ size: 1, shares: { running: 1, waiting: 2, allWaiting: 3 }, limitMs: 200 });
  const answers = [1, 2, 3, 4].map(() => pool.run({ do: 'spin' }, 'greedy'));
  const other = pool.run({ do: 'echo', value: 1 }, 'other');
  const beyond = pool.run({ do: 'echo', value: 1 }, 'third');
  const settled = await Promise.allSettled([...answers, other, beyond]);
  expect(settled.map((one) => (one.status === 'rejected' ? one.reason.message : 'answered'))).toEqual([
    'timed out',
    'timed out',
    'timed out',
    'refused',
    'answered',
    'refused',
  ]);
});

test('a waiting job is refused after its wait, and at once when too many wait', async () => {
  const pool = open({
    size: 1,
    shares: { running: 2, waiting: 1, allWaiting: 9 },
    waitMs: 50,
    limitMs: 2000,
  });
  const spinning = pool.run({ do: 'spin' }, 'owner');
  spinning.catch(() => {});
  const waiting = echo(pool, 1);
  await expect(echo(pool, 2)).rejects.toMatchObject({ code: 'too_busy' });
  await expect(waiting).rejects.toMatchObject({ code: 'too_busy' });
  await expect(spinning).rejects.toThrow('timed out');
});

test('a job that waits takes over the place of one that is ended', async () => {
  const pool = open({ size: 1, limitMs: 200 });
  const spinning = pool.run({ do: 'spin' }, 'owner');
  const waiting = echo(pool, 'next');
  await expect(spinning).rejects.toThrow('timed out');
  expect((await waiting).echo).toBe('next');
});

test('a job over its memory is told so, and the process lives on', async () => {
  const pool = open({ size: 1 });
  await expect(pool.run({ do: 'grow' }, 'owner')).rejects.toThrow('overgrown');
  expect((await echo(pool, 'after')).echo).toBe('after');
});

test.each(['exit', 'throw'])('a thread that stops by %s fails its job alone', async (how) => {
  const pool = open({ size: 1 });
  await expect(pool.run({ do: how }, 'owner')).rejects.toMatchObject({ code: 'internal' });
  expect((await echo(pool, 'after')).echo).toBe('after');
});

test('an error of the work keeps its code and leaves the thread in use', async () => {
  const pool = open({ size: 1 });
  const before = await echo(pool, 1);
  await expect(pool.run({ do: 'refuse' }, 'owner')).rejects.toMatchObject({
    code: 'unprocessable',
    message: 'no',
  });
  expect((await echo(pool, 2)).thread).toBe(before.thread);
});

test('closing ends what runs and waits, and refuses what comes', async () => {
  const pool = open({ size: 1 });
  await echo(pool, 'started');
  const spinning = pool.run({ do: 'spin' }, 'owner');
  const waiting = echo(pool, 1);
  const refusals = Promise.allSettled([spinning, waiting]);
  await pool.close();
  for (const refusal of await refusals) {
    expect(refusal).toMatchObject({ status: 'rejected', reason: { code: 'shutting_down' } });
  }
  await expect(echo(pool, 2)).rejects.toMatchObject({ code: 'shutting_down' });
});

test('a thread that cannot start in time fails its job', async () => {
  // Time runs out at once for the first wait only.
  let waits = 0;
  const clock: Clock = {
    ...systemClock,
    after: (ms, task) => systemClock.after(waits++ === 0 ? 0 : ms, task),
  };
  const pool = open({ size: 1, clock });
  await expect(echo(pool, 1)).rejects.toMatchObject({ code: 'unavailable' });
  expect((await echo(pool, 2)).echo).toBe(2);
});
