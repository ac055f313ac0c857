// Screen sizes: on a narrow screen, details open in place; on a phone, buttons are at the bottom.
import { useSyncExternalStore } from 'react';

function watchWidth(maxPx: number): () => boolean {
  const query = matchMedia(`(max-width: ${maxPx}px)`);
  const follow = (follower: () => void): (() => void) => {
    query.addEventListener('change', follower);
    return () => query.removeEventListener('change', follower);
  };
  return () => useSyncExternalStore(follow, () => query.matches);
}

export const useNarrow = watchWidth(900);
export const usePhone = watchWidth(640);
/** The navigation has room for its icons alone. */
export const useSlimRail = watchWidth(1199);
