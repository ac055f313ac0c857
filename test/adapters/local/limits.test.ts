import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createLocalLimits } from '../../../adapters/local/limits.ts';
import { ManualClock } from '../../clock.ts';
import { limitsContract } from '../../conformance/limits.ts';

limitsContract('local', async () => {
  const clock = new ManualClock();
  return {
    limits: createLocalLimits({ clock }),
    advance: (ms) => clock.advance(ms),
    close: async () => {},
  };
});

it('admits max hits a window and says when the next fits', async () => {
  const clock = new ManualClock();
  const limits = createLocalLimits({ clock });
  for (let i = 0; i < 3; i++) {
    expect(await limits.hit('a', 3, 60_000)).toMatchObject({ ok: true });
    clock.advance(10_000);
  }
  expect(await limits.hit('a', 3, 60_000)).toEqual({ ok: false, retryAfter: 30 });
  expect(await limits.hit('b', 3, 60_000)).toMatchObject({ ok: true });
  clock.advance(29_999);
  expect(await limits.hit('a', 3, 60_000)).toEqual({ ok: false, retryAfter: 1 });
  clock.advance(1);
  expect(await limits.hit('a', 3, 60_000)).toMatchObject({ ok: true });
  expect(await limits.hit('a', 3, 60_000)).toEqual({ ok: false, retryAfter: 10 });
});

it.each([3_600_000, -3_600_000])('counts on as before when the clock is set by %i ms', async (byMs) => {
  const clock = new ManualClock();
  const limits = createLocalLimits({ clock });
  for (let i = 0; i < 3; i++) await limits.hit('a', 3, 60_000);
  clock.setBy(byMs);
  expect(await limits.hit('a', 3, 60_000)).toEqual({ ok: false, retryAfter: 60 });
  clock.advance(60_000);
  expect(await limits.hit('a', 3, 60_000)).toMatchObject({ ok: true });
});

it('counts nothing for a refused call', async () => {
  const clock = new ManualClock();
  const limits = createLocalLimits({ clock });
  expect(await limits.hit('a', 10, 1000, 8)).toMatchObject({ ok: true });
  expect((await limits.hit('a', 10, 1000, 5)).ok).toBe(false);
  expect(await limits.hit('a', 10, 1000, 2)).toMatchObject({ ok: true });
});

it('refuses a cost that never fits', async () => {
  const limits = createLocalLimits({ clock: new ManualClock() });
  expect(await limits.hit('a', 10, 60_000, 11)).toEqual({ ok: false, retryAfter: 60 });
});

it('never admits more than max in any window, and is at most 1/500 of it late', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 1200 }),
      fc.array(fc.record({ wait: fc.nat(400), cost: fc.integer({ min: 1, max: 300 }) }), { maxLength: 60 }),
      async (max, hits) => {
        const clock = new ManualClock(0);
        const limits = createLocalLimits({ clock });
        const admitted: { at: number; cost: number }[] = [];
        const sum = (since: number) => admitted.reduce((n, a) => (a.at > since ? n + a.cost : n), 0);
        for (const { wait, cost } of hits) {
          clock.advance(wait);
          const now = clock.now();
          const answer = await limits.hit('a', max, 2000, cost);
          if (answer.ok) {
            admitted.push({ at: now, cost });
            expect(sum(now - 2000)).toBeLessThanOrEqual(max);
          } else {
            expect(sum(now - 2000 - 4) + cost).toBeGreaterThan(max);
          }
        }
      },
    ),
  );
});

it('forgets the window hit longest ago when there are too many', async () => {
  const limits = createLocalLimits({ clock: new ManualClock(), windows: 2 });
  for (const name of ['a', 'b', 'c']) await limits.hit(name, 1, 1000);
  expect((await limits.hit('c', 1, 1000)).ok).toBe(false);
  expect((await limits.hit('b', 1, 1000)).ok).toBe(false);
  expect((await limits.hit('a', 1, 1000)).ok).toBe(true);
});

it('forgets no window because of many names of another class', async () => {
  const limits = createLocalLimits({ clock: new ManualClock(), windows: 2 });
  await limits.hit('login:203.0.113.9', 1, 1000);
  for (const name of ['a', 'b', 'c:d', 'login']) await limits.hit(`requests:${name}`, 1, 1000);
  expect((await limits.hit('login:203.0.113.9', 1, 1000)).ok).toBe(false);
});
