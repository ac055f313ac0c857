// Time and timers, and waiting by them. The only way to them: tests bring a manual clock.

/** A timer that was set and may not have fired yet. */
export interface Timer {
  /** Stops the timer; harmless when it has fired or was stopped. */
  cancel(): void;
}

/** Time and timers, for tests to replace. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Milliseconds of a clock that never jumps, for durations. */
  monotonic(): number;
  /** Runs `task` once, not before `ms` have passed. Does not keep the process alive. */
  after(ms: number, task: () => void): Timer;
  /** Runs `task` every `ms`. Does not keep the process alive. */
  every(ms: number, task: () => void): Timer;
  /** A number in [0, 1), for jitter only. */
  random(): number;
}

export const pause = (clock: Pick<Clock, 'after'>, ms: number): Promise<void> =>
  new Promise((resolve) => void clock.after(ms, resolve));

/** Waits for the work, but no longer than `ms`; the work goes on then. @throws what the work throws within that time */
export async function upTo(clock: Pick<Clock, 'after'>, ms: number, work: Promise<unknown>): Promise<void> {
  let timer: Timer | undefined;
  const late = new Promise<void>((resolve) => {
    timer = clock.after(ms, resolve);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    timer?.cancel();
  }
}
