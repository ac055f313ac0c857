// The open approval on a phone, with its place in the queue. A swipe to the left opens the next one, to the right the
// previous one; no swipe decides.
import { type JSX, type ReactNode, type TouchEvent, useRef } from 'react';
import { Button } from '../../ui/parts.tsx';
import type { Approval } from './model.ts';

/** Least distance of a swipe to the side, in pixels. It is also twice its distance up or down. */
const leastSwipe = 60;

/** True inside of an element that scrolls to the side by itself. */
function scrollsSideways(target: EventTarget): boolean {
  for (let one = target instanceof Element ? target : null; one; one = one.parentElement) {
    if (one.scrollWidth > one.clientWidth && /auto|scroll/.test(getComputedStyle(one).overflowX)) return true;
  }
  return false;
}

/** @param onSwipe receives 1 for a swipe to the left, -1 for one to the right */
function useSwipe(onSwipe: (step: 1 | -1) => void) {
  const start = useRef<{ readonly x: number; readonly y: number } | null>(null);
  return {
    onTouchStart: ({ touches, target }: TouchEvent): void => {
      const finger = touches[0];
      start.current =
        finger && touches.length === 1 && !scrollsSideways(target)
          ? { x: finger.clientX, y: finger.clientY }
          : null;
    },
    onTouchEnd: ({ changedTouches }: TouchEvent): void => {
      const finger = changedTouches[0];
      if (!finger || !start.current) return;
      const [x, y] = [finger.clientX - start.current.x, finger.clientY - start.current.y];
      start.current = null;
      if (Math.abs(x) >= leastSwipe && Math.abs(x) > 2 * Math.abs(y)) onSwipe(x < 0 ? 1 : -1);
    },
  };
}

interface SwipedCardProps {
  readonly rows: readonly Approval[];
  /** Place of the open approval; -1: it is not in the queue. */
  readonly at: number;
  readonly onOpen: (row: Approval) => void;
  /** Opens the group of the approval. */
  readonly review: ReactNode;
  readonly children: ReactNode;
}

export function SwipedCard({ rows, at, onOpen, review, children }: SwipedCardProps): JSX.Element {
  const [previous, next] = at < 0 ? [] : [rows[at - 1], rows[at + 1]];
  const swipe = useSwipe((step) => {
    const row = step === 1 ? next : previous;
    if (row) onOpen(row);
  });
  return (
    <div className="queue-detail" {...swipe}>
      {at >= 0 && (
        <nav className="pager row" aria-label="Pending approvals">
          <Button
            aria-label="Previous approval"
            disabled={!previous}
            onClick={() => previous && onOpen(previous)}
          >
            ‹
          </Button>
          <span className="numbers">
            {at + 1} of {rows.length}
          </span>
          <Button aria-label="Next approval" disabled={!next} onClick={() => next && onOpen(next)}>
            ›
          </Button>
          {review}
        </nav>
      )}
      {children}
    </div>
  );
}
