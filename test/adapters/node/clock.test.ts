import { expect, it } from 'vitest';
import { systemClock } from '../../../adapters/node/clock.ts';
import { ManualClock } from '../../clock.ts';

it('runs a task once after its wait, and not when cancelled', async () => {
  let cancelled = false;
  systemClock.after(1, () => (cancelled = true)).cancel();
  const start = systemClock.monotonic();
  await new Promise<void>((resolve) => systemClock.after(5, resolve));
  expect(systemClock.monotonic() - start).toBeGreaterThanOrEqual(4);
  expect(cancelled).toBe(false);
});

it('waits longer than a Node timeout can without firing at once', async () => {
  let fired = false;
  const timer = systemClock.after(40 * 24 * 3600 * 1000, () => (fired = true));
  await new Promise<void>((resolve) => systemClock.after(5, resolve));
  expect(fired).toBe(false);
  timer.cancel();
});

it('repeats until cancelled', async () => {
  let runs = 0;
  await new Promise<void>((resolve) => {
    const timer = systemClock.every(1, () => {
      if (++runs === 3) {
        timer.cancel();
        resolve();
      }
    });
  });
  expect(runs).toBe(3);
});

it('moves a manual clock through its timers in order, also those set on the way', () => {
  const clock = new ManualClock(1000);
  const seen: string[] = [];
  clock.after(20, () => seen.push(`b@${clock.now()}`));
  clock.after(10, () => {
    seen.push(`a@${clock.now()}`);
    clock.after(5, () => seen.push(`c@${clock.now()}`));
  });
  const tick = clock.every(10, () => seen.push(`t@${clock.now()}`));
  clock.advance(20);
  tick.cancel();
  expect(seen).toEqual(['a@1010', 't@1010', 'c@1015', 'b@1020', 't@1020']);
  expect(clock.pending).toBe(0);
});
