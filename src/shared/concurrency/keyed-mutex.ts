// One task at a time per key within this process. Other processes are not held back.

export interface KeyedMutexOptions {
  /** Milliseconds of a clock that never jumps. */
  readonly now: () => number;
  /** A task that waited longer, in milliseconds, is refused. */
  readonly maxWaitMs: number;
  /** The error it is refused with. */
  readonly refusal: () => Error;
}

/**
 * Runs `task` after those that were asked for before under the same key.
 * @throws the refusal, or what the task throws
 */
export type KeyedMutex = <T>(key: string, task: () => Promise<T>) => Promise<T>;

export function createKeyedMutex({ now, maxWaitMs, refusal }: KeyedMutexOptions): KeyedMutex {
  const last = new Map<string, Promise<unknown>>();
  return (key, task) => {
    const askedAt = now();
    const before = last.get(key) ?? Promise.resolve();
    const mine = before.then(() => {
      if (now() - askedAt > maxWaitMs) throw refusal();
      return task();
    });
    const settled: Promise<unknown> = mine.then(
      () => {},
      () => {},
    );
    last.set(key, settled);
    void settled.then(() => {
      if (last.get(key) === settled) last.delete(key);
    });
    return mine;
  };
}
