// Time and timers. The only door to them: tests bring a manual clock.

export interface Timer {
  /** Stops the timer; harmless when it has fired or was stopped. */
  cancel(): void;
}

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
