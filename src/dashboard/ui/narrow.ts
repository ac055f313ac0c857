// Whether the screen is narrow, where lists open in place, or a phone's, where buttons stand under the thumb.
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
