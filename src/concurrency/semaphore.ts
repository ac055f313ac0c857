// A bound on how many tasks of one kind run and wait, so that a burst neither takes everything nor piles up in memory.

export interface SemaphoreOptions {
  /** Tasks that run at once. */
  readonly max: number;
  /** Tasks that may wait; one more is refused. */
  readonly maxWaiting: number;
  /** A task that waited longer, in milliseconds, is refused; without it tasks wait until it is their turn. */
  readonly maxWaitMs?: number;
  /** Milliseconds of a clock that never jumps; needed with maxWaitMs. */
  readonly now?: () => number;
  /** The error a task is refused with. */
  readonly refusal: () => Error;
}

/** Runs `task` when fewer than `max` run, first come, first served. @throws the refusal, or what the task throws */
export type Semaphore = <T>(task: () => Promise<T>) => Promise<T>;

export function createSemaphore(options: SemaphoreOptions): Semaphore {
  const { max, maxWaiting, maxWaitMs = Number.POSITIVE_INFINITY, now = () => 0, refusal } = options;
  const queue: (() => void)[] = [];
  let running = 0;
  return async (task) => {
    const asked = now();
    if (running >= max) {
      if (queue.length >= maxWaiting) throw refusal();
      // A task that ends hands its place on, so `running` stays as it is.
      await new Promise<void>((resolve) => queue.push(resolve));
    } else {
      running++;
    }
    try {
      if (now() - asked > maxWaitMs) throw refusal();
      return await task();
    } finally {
      const next = queue.shift();
      if (next) next();
      else running--;
    }
  };
}
