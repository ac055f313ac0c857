// A drag of a border between two parts of the page.
import type { PointerEvent as Press } from 'react';

/**
 * Follows the pointer from its press on an element to its release.
 * @param onMove receives the distance to the right, in pixels; 0 at the end of a drag that the browser cancels
 */
export function followDrag(
  event: Press<HTMLElement>,
  onMove: (distance: number, isOver: boolean) => void,
): void {
  if (event.button !== 0) return;
  event.preventDefault();
  const { currentTarget: element, pointerId, clientX } = event;
  element.setPointerCapture(pointerId);
  const stop = new AbortController();
  const { signal } = stop;
  element.addEventListener('pointermove', (move: PointerEvent) => onMove(move.clientX - clientX, false), {
    signal,
  });
  const end = (distance: number): void => {
    stop.abort();
    onMove(distance, true);
  };
  element.addEventListener('pointerup', (move: PointerEvent) => end(move.clientX - clientX), { signal });
  element.addEventListener('pointercancel', () => end(0), { signal });
}
