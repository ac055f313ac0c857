// A bound on how many writes of one kind run and wait, so that a burst of ingest neither takes every connection nor piles up in memory.
import { HubError } from '../../src/domain/error.ts';
import type { Clock } from '../../src/ports/clock.ts';

const patienceMs = 5000;

const overloaded = (): HubError =>
  new HubError('overloaded', 'Too many events are being written. Try again in a moment.', { retryAfter: 1 });

/** Runs `task` when fewer than `atOnce` run; throws `overloaded` when `waiting` wait already, or after a wait of more than 5 s. */
export type Gate = <T>(task: () => Promise<T>) => Promise<T>;

export function gate(clock: Clock, atOnce: number, waiting: number): Gate {
  const queue: (() => void)[] = [];
  let running = 0;
  return async (task) => {
    const asked = clock.monotonic();
    if (running >= atOnce) {
      if (queue.length >= waiting) throw overloaded();
      // Whoever leaves hands its place on, so `running` stays as it is.
      await new Promise<void>((resolve) => queue.push(resolve));
    } else {
      running++;
    }
    try {
      if (clock.monotonic() - asked > patienceMs) throw overloaded();
      return await task();
    } finally {
      const next = queue.shift();
      if (next) next();
      else running--;
    }
  };
}
