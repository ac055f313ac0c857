// Whether the screen is a phone's: lists then open in place.
import { useSyncExternalStore } from 'react';

const narrow = matchMedia('(max-width: 900px)');

export const useNarrow = (): boolean =>
  useSyncExternalStore(
    (follower) => {
      narrow.addEventListener('change', follower);
      return () => narrow.removeEventListener('change', follower);
    },
    () => narrow.matches,
  );
