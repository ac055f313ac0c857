// One at a time per key within this process, so that its own calls do not lose to each other at compare-and-set. Other nodes
// are not held back: the compare-and-set itself is what makes writes right.
import type { Clock } from '../../src/ports/clock.ts';
import { unavailable } from './failure.ts';

const patienceMs = 5000;

/** Runs `task` after those asked for before under the same key. One that waited more than 5 s is refused as unavailable. */
export type Turns = <T>(key: string, task: () => Promise<T>) => Promise<T>;

export function turns(clock: Clock): Turns {
  const last = new Map<string, Promise<unknown>>();
  return (key, task) => {
    const asked = clock.monotonic();
    const before = last.get(key) ?? Promise.resolve();
    const mine = before.then(() => {
      if (clock.monotonic() - asked > patienceMs) throw unavailable();
      return task();
    });
    const settled: Promise<unknown> = mine.then(
      () => {},
      () => {},
    );
    last.set(key, settled);
    void settled.then(() => {
      if (last.get(key) === settled) last.delete(key);
    });
    return mine;
  };
}
