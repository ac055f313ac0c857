// The state that a person reviews before a deployment or an undeployment, and whether it changed while the page was
// open.
import { useRef, useState } from 'react';

/** The state that the person reviews: the first one, or the one that the person accepted later. */
export function useReviewed(state: string | undefined, isLoading: boolean) {
  const [accepted, setAccepted] = useState<string | undefined>(undefined);
  const first = useRef<string | undefined>(undefined);
  // An answer from before is no base.
  if (!isLoading) first.current ??= state;
  const reviewed = accepted ?? first.current;
  return {
    reviewed,
    hasMoved: state !== undefined && reviewed !== undefined && state !== reviewed,
    accept: () => setAccepted(state),
  };
}
