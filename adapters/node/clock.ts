// The system's time, timers and jitter. The only file of the server that calls Date.now, setTimeout, setInterval and
// Math.random.
import type { Clock, Timer } from '../../src/shared/ports/clock.ts';

/** Node fires a longer timeout at once, so longer waits go in steps of this. */
const longestTimeoutMs = 2 ** 31 - 1;

/** Timers do not keep the process alive. Waits may be longer than Node's 24.8 days. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  random: () => Math.random(),

  after(ms, task): Timer {
    let left = Math.max(0, ms);
    let handle: NodeJS.Timeout;
    const arm = () => {
      const step = Math.min(left, longestTimeoutMs);
      left -= step;
      handle = setTimeout(left > 0 ? arm : task, step);
      handle.unref();
    };
    arm();
    return { cancel: () => clearTimeout(handle) };
  },

  every(ms, task): Timer {
    const handle = setInterval(task, ms);
    handle.unref();
    return { cancel: () => clearInterval(handle) };
  },
};
