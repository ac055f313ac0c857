// The loops of this node and whether they turn: a loop that has not turned within its limit is crashed, whatever the
// reason.
import type { Clock } from '../shared/ports/clock.ts';

export type WorkerState = 'running' | 'stopped' | 'crashed';

export interface Workers {
  /**
   * Registers a loop; the function is to be called after each turn that did its work.
   * @param limitMs without a turn for longer it is crashed
   */
  add(name: string, limitMs: number): () => void;
  states(): { readonly [name: string]: WorkerState };
  /** Ends the workers because the node ends. */
  stop(): void;
}

export function createWorkers(clock: Clock): Workers {
  const loops = new Map<string, { turnedAt: number; readonly limitMs: number }>();
  let stopped = false;
  return {
    add(name, limitMs) {
      const loop = { turnedAt: clock.monotonic(), limitMs };
      loops.set(name, loop);
      return () => {
        loop.turnedAt = clock.monotonic();
      };
    },
    states() {
      const now = clock.monotonic();
      const state = (loop: { turnedAt: number; limitMs: number }): WorkerState =>
        stopped ? 'stopped' : now - loop.turnedAt > loop.limitMs ? 'crashed' : 'running';
      return Object.fromEntries([...loops].map(([name, loop]) => [name, state(loop)]));
    },
    stop() {
      stopped = true;
    },
  };
}
