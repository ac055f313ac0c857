// Time, timers and randomness from the browser. No other file of the console uses them directly.

export interface Timer {
  cancel(): void;
}

/** Epoch milliseconds of this machine; server-time.ts has the hub's time. */
export const now = (): number => Date.now();

export function after(ms: number, task: () => void): Timer {
  const id = setTimeout(task, ms);
  return { cancel: () => clearTimeout(id) };
}

export function every(ms: number, task: () => void): Timer {
  const id = setInterval(task, ms);
  return { cancel: () => clearInterval(id) };
}

/** Time and timers, for code that tests run with another clock. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  after(ms: number, task: () => void): Timer;
}

export const browserClock: Clock = { now, after };

export const pause = (ms: number): Promise<void> => new Promise((resolve) => void after(ms, resolve));

/** A random delay between half of `ms` and `ms`, so that browsers do not reconnect at once. */
export const jittered = (ms: number): number => ms * (0.5 + Math.random() / 2);
