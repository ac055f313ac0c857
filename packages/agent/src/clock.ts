// Time, timers and chance for the agent library: the only file of it that touches them. Tests bring a manual clock.

/** A timer that was set and may not have fired yet. */
export interface Timer {
  /** Stops the timer; harmless when it has fired or was stopped. */
  cancel(): void;
}

/** Time, timers and jitter, for tests to replace. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Milliseconds of a clock that never jumps, for durations. */
  monotonic(): number;
  /** Runs `task` once, not before `ms` have passed. Keeps the process alive only when `holds` is true. */
  after(ms: number, task: () => void, holds?: boolean): Timer;
  /** A number in [0, 1), for jitter only. */
  random(): number;
}

/** The clock of this process. Its timers fire after 24.8 days at the latest. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, task, holds = false) {
    // Longer waits overflow the timer and would fire at once.
    const timer = setTimeout(task, Math.min(ms, 2 ** 31 - 1));
    if (!holds) timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
  random: () => Math.random(),
};

/** Resolves after `ms`; the process stays alive until then. Rejects with the signal's reason as soon as it aborts. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = (): void => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.after(
      ms,
      () => {
        signal?.removeEventListener('abort', abort);
        resolve();
      },
      true,
    );
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/**
 * Waits for a task, but no longer than `ms`. Keeps the process alive for that time only when `holds` is true.
 * @returns false when the time was over first; the task goes on
 * @throws the task's failure
 */
export async function inTime(
  clock: Clock,
  ms: number,
  task: Promise<unknown>,
  holds = false,
): Promise<boolean> {
  let timer: Timer | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = clock.after(ms, () => resolve(false), holds);
  });
  return Promise.race([task.then(() => true), late]).finally(() => timer?.cancel());
}
