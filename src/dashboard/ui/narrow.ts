// Screens: on a narrow one, details open in place; on a phone, buttons are at the bottom; for fingers, rows are high.
import { useSyncExternalStore } from 'react';

function watchScreen(condition: string): () => boolean {
  const query = matchMedia(condition);
  const follow = (follower: () => void): (() => void) => {
    query.addEventListener('change', follower);
    return () => query.removeEventListener('change', follower);
  };
  return () => useSyncExternalStore(follow, () => query.matches);
}

export const useNarrow = watchScreen('(max-width: 900px)');
export const usePhone = watchScreen('(max-width: 640px)');
/** The navigation has room for its icons alone. */
export const useSlimRail = watchScreen('(max-width: 1199px)');
/** The pointer is a finger. */
export const useTouch = watchScreen('(pointer: coarse)');
