// The hub's time for components. All of them update together, so that two countdowns never disagree.
import { useCallback, useSyncExternalStore } from 'react';
import { every, type Timer } from './browser.ts';
import { serverNow } from './server-time.ts';

const clocks = new Map<number, { followers: Set<() => void>; now: number; timer: Timer }>();

/** The latest multiple of `ms`: equal for all components between two updates. */
const turn = (ms: number): number => Math.floor(serverNow() / ms) * ms;

function follow(ms: number, follower: () => void): () => void {
  let clock = clocks.get(ms);
  if (!clock) {
    const newClock = {
      followers: new Set<() => void>(),
      now: turn(ms),
      timer: every(ms, () => {
        newClock.now = turn(ms);
        for (const one of [...newClock.followers]) one();
      }),
    };
    clocks.set(ms, newClock);
    clock = newClock;
  }
  const { followers, timer } = clock;
  followers.add(follower);
  return () => {
    followers.delete(follower);
    if (followers.size > 0) return;
    timer.cancel();
    clocks.delete(ms);
  };
}

const timeOf = (ms: number): number => clocks.get(ms)?.now ?? turn(ms);

/** The hub's epoch milliseconds, updated every `ms` and rounded down to a multiple of it. */
export const useNow = (ms = 1_000): number =>
  useSyncExternalStore(
    useCallback((follower: () => void) => follow(ms, follower), [ms]),
    () => timeOf(ms),
  );

const followSeconds = (follower: () => void): (() => void) => follow(1_000, follower);

/** True once the hub's time has reached it, to the second. The component renders again only then. */
export const useIsPast = (at: number): boolean =>
  useSyncExternalStore(followSeconds, () => at <= timeOf(1_000));
