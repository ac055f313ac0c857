// The hub's time as components see it: all of them turn together, so that two countdowns never disagree.
import { useSyncExternalStore } from 'react';
import { every, type Timer } from './browser.ts';
import { serverNow } from './server-time.ts';

const clocks = new Map<number, { followers: Set<() => void>; now: number; timer: Timer }>();

function follow(ms: number, follower: () => void): () => void {
  let clock = clocks.get(ms);
  if (!clock) {
    const made = {
      followers: new Set<() => void>(),
      now: serverNow(),
      timer: every(ms, () => {
        made.now = serverNow();
        for (const one of [...made.followers]) one();
      }),
    };
    clocks.set(ms, made);
    clock = made;
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

/** The hub's epoch milliseconds, renewed every `ms`. */
export const useNow = (ms = 1_000): number =>
  useSyncExternalStore(
    (follower) => follow(ms, follower),
    () => clocks.get(ms)?.now ?? Math.floor(serverNow() / ms) * ms,
  );
