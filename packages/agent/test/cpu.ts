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

/** Times below are taken for it: shorter ones say nothing. Milliseconds. */
const leastMs = 20;

/** How many times as long `work` takes for four times the size: about 4 if time grows with it, 16 with its square. */
export function growth(work: (size: number) => void, size: number): number {
  const ms = (n: number): number => Math.max(leastMs, Math.min(...[0, 1].map(() => cpuMs(() => work(n)))));
  return ms(4 * size) / ms(size);
}

/** A growth between both, far from either. */
export const maxGrowth = 10;
