// The real clock, for tests that wait for threads and processes.
import type { Clock } from '../../../src/ports/clock.ts';

export const realClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, task) {
    const timer = setTimeout(task, ms).unref();
    return { cancel: () => clearTimeout(timer) };
  },
  every(ms, task) {
    const timer = setInterval(task, ms).unref();
    return { cancel: () => clearInterval(timer) };
  },
  random: () => Math.random(),
};
