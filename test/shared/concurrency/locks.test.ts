// Keyed mutex, semaphore and timeout: order, bounds and refusals.
import { describe, expect, it } from 'vitest';
import { createKeyedMutex } from '../../../src/shared/concurrency/keyed-mutex.ts';
import { createSemaphore } from '../../../src/shared/concurrency/semaphore.ts';
import { withTimeout } from '../../../src/shared/concurrency/with-timeout.ts';
import { ManualClock } from '../../clock.ts';

const gate = () => {
  let open = () => {};
  const closed = new Promise<void>((resolve) => (open = resolve));
  return { closed, open: () => open() };
};
const refusal = () => new Error('refused');

describe('a keyed mutex', () => {
  it('runs tasks of one key in order, and those of another key meanwhile', async () => {
    const locked = createKeyedMutex({ now: () => 0, maxWaitMs: 5, refusal });
    const first = gate();
    const seen: string[] = [];
    const a1 = locked('a', async () => {
      await first.closed;
      seen.push('a1');
    });
    const a2 = locked('a', async () => void seen.push('a2'));
    await locked('b', async () => void seen.push('b'));
    first.open();
    await Promise.all([a1, a2]);
    expect(seen).toEqual(['b', 'a1', 'a2']);
  });

  it('goes on after a task that fails, and refuses one that waited too long', async () => {
    let now = 0;
    const locked = createKeyedMutex({ now: () => now, maxWaitMs: 5, refusal });
    const failed = locked('a', async () => {
      now = 6;
      throw new Error('broken');
    });
    const late = locked('a', async () => 'late');
    await expect(failed).rejects.toThrow('broken');
    await expect(late).rejects.toThrow('refused');
    await expect(locked('a', async () => 'next')).resolves.toBe('next');
  });
});

describe('a semaphore', () => {
  it('runs so many, lets so many wait and refuses the rest', async () => {
    const enter = createSemaphore({ max: 1, maxWaiting: 1, refusal });
    const first = gate();
    const running = enter(() => first.closed);
    const waiting = enter(async () => 'waited');
    await expect(enter(async () => 'never')).rejects.toThrow('refused');
    first.open();
    await running;
    await expect(waiting).resolves.toBe('waited');
  });

  it('refuses what waited too long while it still waits, and lets another wait in its place', async () => {
    const clock = new ManualClock();
    const enter = createSemaphore({ max: 1, maxWaiting: 1, maxWait: { ms: 5, clock }, refusal });
    const first = gate();
    const running = enter(() => first.closed);
    const late = enter(async () => 'late');
    clock.advance(5);
    await expect(late).rejects.toThrow('refused');
    const fresh = enter(async () => 'fresh');
    clock.advance(4);
    first.open();
    await running;
    await expect(fresh).resolves.toBe('fresh');
    expect(clock.pending).toBe(0);
  });

  it('hands its place on when a task fails, in the order in which they came', async () => {
    const enter = createSemaphore({ max: 1, maxWaiting: 9, refusal });
    const order: number[] = [];
    const failed = enter(async () => {
      throw new Error('broken');
    });
    const rest = [1, 2, 3].map((n) => enter(async () => void order.push(n)));
    await expect(failed).rejects.toThrow('broken');
    await Promise.all(rest);
    expect(order).toEqual([1, 2, 3]);
  });
});

describe('a timeout', () => {
  it('answers what is in time and refuses what is late', async () => {
    const clock = new ManualClock();
    await expect(withTimeout(clock, 10, Promise.resolve(1), refusal)).resolves.toBe(1);
    const late = withTimeout(clock, 10, new Promise(() => {}), refusal);
    clock.advance(10);
    await expect(late).rejects.toThrow('refused');
  });
});
