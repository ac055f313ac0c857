// The processor time of a synchronous piece of work: unlike the wall's, it does not grow with what else the machine
// does.
import { readFileSync } from 'node:fs';

/** Milliseconds of this thread where the system counts them (Linux), else of the whole process. */
function usedMs(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  }
}

/** Milliseconds that `work` takes. */
export function cpuMs(work: () => void): number {
  const before = usedMs();
  work();
  return usedMs() - before;
}
