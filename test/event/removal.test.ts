// How many events a removal takes at a time: as many as the store removes in a moment.
import { expect, it } from 'vitest';
import { removeInSlices } from '../../src/event/use-cases/removal.ts';
import { ManualClock, settled } from '../clock.ts';

/** The sizes of the steps that remove `total` events, each of which takes `ms` for an event, and of those for runs. */
async function stepsOf(total: number, ms: number, idleRuns = 0): Promise<readonly number[]> {
  const clock = new ManualClock();
  const sizes: number[] = [];
  let left = total;
  let runs = idleRuns;
  let isDone = false;
  const events = {
    async removeBefore(_tenantId: string, _before: number, limit: number) {
      const removed = Math.min(left, limit);
      if (removed > 0) sizes.push(limit);
      clock.skip(removed * ms);
      left -= removed;
      return removed;
    },
    async removeIdleRuns(_tenantId: string, _before: number, limit: number) {
      expect(left).toBe(0);
      const removed = Math.min(runs, limit);
      if (removed > 0) sizes.push(limit);
      runs -= removed;
      return removed;
    },
  };
  const removal = removeInSlices({ events, clock }, 'tenant', 0, { stop: () => false }).then((end) => {
    isDone = true;
    return end;
  });
  await settled();
  while (!isDone) await clock.advanceAsync(1000);
  expect(await removal).toEqual({ deleted: total, complete: true });
  expect(runs).toBe(0);
  return sizes;
}

it('grows while steps are short, up to a thousand', async () => {
  expect(await stepsOf(3500, 0.01)).toEqual([100, 200, 400, 800, 1000, 1000]);
});

it('stays small where events cost the store much', async () => {
  expect(await stepsOf(400, 3)).toEqual([100, 100, 100, 100]);
  expect(Math.max(...(await stepsOf(2000, 0.3)))).toBe(400);
});

it('ends when the runs without events are gone, too, and counts events alone', async () => {
  expect(await stepsOf(100, 0.01, 1500)).toEqual([100, 400, 800, 1000]);
});
