// Waiting for a promise for a bounded time. The work itself goes on when the wait ends.

/** Part of a clock that is needed: a timer that can be cancelled. */
export interface Timers {
  after(ms: number, task: () => void): { cancel(): void };
}

/**
 * The result of `work`, or the error that `late` makes when there is none after `ms` milliseconds. A later result from
 * `work` is ignored.
 * @throws what `work` throws, or the error of `late`
 */
export async function withTimeout<T>(
  clock: Timers,
  ms: number,
  work: Promise<T>,
  late: () => Error,
): Promise<T> {
  let timer: { cancel(): void } | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = clock.after(ms, () => reject(late()));
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    timer?.cancel();
  }
}
