// The cost of work for the event loop: all of it, and its longest turn. On a busy machine the clock on the wall counts
// what others ran, and the processor's what other threads of this process ran: the smaller of both counts.

export interface Cost {
  readonly totalMs: number;
  /** The longest time without a turn for others. */
  readonly longestTurnMs: number;
}

/** A shorter turn did nothing but wait for other threads. Milliseconds. */
const idleMs = 0.02;

/** A stop-watch: each call returns the milliseconds since the call before. */
export function lapTimer(): () => number {
  let wall = performance.now();
  let spent = process.cpuUsage();
  return () => {
    const [wallBefore, before] = [wall, spent];
    wall = performance.now();
    spent = process.cpuUsage();
    const ran = (spent.user - before.user + spent.system - before.system) / 1000;
    return Math.min(wall - wallBefore, ran);
  };
}

/** Milliseconds that a piece of work takes. */
export function timeOf(work: () => unknown): number {
  const lap = lapTimer();
  work();
  return lap();
}

/** Runs work while another task asks for every turn of the event loop. */
export async function measureTurns(work: () => Promise<unknown>): Promise<Cost> {
  let longestTurnMs = 0;
  let totalMs = 0;
  let isRunning = true;
  const lap = lapTimer();
  const note = (): void => {
    const ms = lap();
    if (ms < idleMs) return;
    longestTurnMs = Math.max(longestTurnMs, ms);
    totalMs += ms;
  };
  const turn = (): void => {
    note();
    if (isRunning) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  note();
  isRunning = false;
  return { totalMs, longestTurnMs };
}

/** The middle one of an odd number of values. */
export const median = (values: readonly number[]): number =>
  [...values].sort((one, other) => one - other)[values.length >> 1] ?? 0;
