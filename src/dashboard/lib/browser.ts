// What the console takes from the browser's time, timers and randomness: the only file that does.

export interface Timer {
  cancel(): void;
}

/** Epoch milliseconds of this machine; the hub's are in server-time.ts. */
export const now = (): number => Date.now();

export function after(ms: number, task: () => void): Timer {
  const id = setTimeout(task, ms);
  return { cancel: () => clearTimeout(id) };
}

export function every(ms: number, task: () => void): Timer {
  const id = setInterval(task, ms);
  return { cancel: () => clearInterval(id) };
}

/** Time and timers, for what a test runs by a clock of its own. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  after(ms: number, task: () => void): Timer;
}

export const browserClock: Clock = { now, after };

export const pause = (ms: number): Promise<void> => new Promise((resolve) => void after(ms, resolve));

/** A wait between half of `ms` and `ms`, so that browsers do not come back together. */
export const jittered = (ms: number): number => ms * (0.5 + Math.random() / 2);
