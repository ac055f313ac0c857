// A bound on how many tasks of one kind run and wait, so that a burst neither takes everything nor piles up in memory.

import type { Timers } from './with-timeout.ts';

export interface SemaphoreOptions {
  /** Tasks that run at once. */
  readonly max: number;
  /** Tasks that may wait; one more is refused. */
  readonly maxWaiting: number;
  /** Tasks that have waited for so long are refused; without it they wait until it is their turn. */
  readonly maxWait?: { readonly ms: number; readonly clock: Timers };
  /** The error a task is refused with. */
  readonly refusal: () => Error;
}

/** Runs `task` when fewer than `max` run, first come, first served. @throws the refusal, or what the task throws */
export type Semaphore = <T>(task: () => Promise<T>) => Promise<T>;

export function createSemaphore(options: SemaphoreOptions): Semaphore {
  const enter = createSemaphores(options);
  return (task) => enter('', task);
}

/** The same for each key: a key that nobody uses takes no memory. */
export function createSemaphores({
  max,
  maxWaiting,
  maxWait,
  refusal,
}: SemaphoreOptions): <T>(key: string, task: () => Promise<T>) => Promise<T> {
  const places = new Map<string, { running: number; readonly waiting: Set<() => void> }>();

  /** Resolves when a task that ended has handed its place on. */
  const turn = (waiting: Set<() => void>): Promise<void> =>
    new Promise((resolve, reject) => {
      const go = (): void => {
        timer?.cancel();
        resolve();
      };
      const timer = maxWait?.clock.after(maxWait.ms, () => {
        waiting.delete(go);
        reject(refusal());
      });
      waiting.add(go);
    });

  return async (key, task) => {
    const place = places.get(key) ?? { running: 0, waiting: new Set() };
    places.set(key, place);
    if (place.running < max) place.running++;
    else if (place.waiting.size >= maxWaiting) throw refusal();
    else await turn(place.waiting);
    try {
      return await task();
    } finally {
      const [next] = place.waiting;
      if (next) {
        // The place is handed on, so `running` stays as it is.
        place.waiting.delete(next);
        next();
      } else if (--place.running === 0) places.delete(key);
    }
  };
}
