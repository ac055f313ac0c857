// A short turn of the event loop: what a stopping hub waits for before it closes its listener.
import { describe, expect, it } from 'vitest';
import { waitForShortTurn } from '../../../src/shared/concurrency/next-turn.ts';

/** Keeps each of the next turns busy for 2 ms, at most `count`; the turns so far, and an end. */
function busyTurns(count: number): { readonly turns: () => number; readonly end: () => void } {
  let turns = 0;
  let isOver = false;
  const next = () => {
    if (isOver || turns === count) return;
    turns++;
    const until = performance.now() + 2;
    while (performance.now() < until);
    setImmediate(next);
  };
  setImmediate(next);
  return {
    turns: () => turns,
    end: () => {
      isOver = true;
    },
  };
}

describe('a short turn', () => {
  it('comes after the busy ones', async () => {
    const busy = busyTurns(5);
    await waitForShortTurn();
    expect(busy.turns()).toBe(5);
  });

  it('is not waited for without end', async () => {
    const busy = busyTurns(1_000);
    await waitForShortTurn(40);
    busy.end();
    expect(busy.turns()).toBeGreaterThanOrEqual(1);
    expect(busy.turns()).toBeLessThan(100);
  });
});
