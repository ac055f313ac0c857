// What has to be read before it can be approved: its end came into view, and no part of it was folded then.
import { type JSX, type ReactNode, useEffect, useRef } from 'react';

export interface ReadToEndProps {
  /** Called when the end is in view and nothing is folded; it may be called again. */
  readonly onRead: () => void;
  /** Pixels at the bottom of the window that lie under something else. */
  readonly coveredPx?: number;
  readonly children: ReactNode;
}

/** Parts of the children that are folded carry `data-folded`. */
export function ReadToEnd({ onRead, coveredPx = 0, children }: ReadToEndProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const latest = useRef(onRead);
  latest.current = onRead;
  useEffect(() => {
    const [content, mark] = [box.current, end.current];
    if (!content || !mark) return;
    const view = new IntersectionObserver(
      (entries) => {
        const isInView = entries.at(-1)?.isIntersecting ?? false;
        if (isInView && content.querySelector('[data-folded]') === null) latest.current();
      },
      { rootMargin: `0px 0px ${-coveredPx}px 0px` },
    );
    // What is unfolded moves the end: whether it is in view is looked at anew.
    const folds = new MutationObserver(() => {
      view.unobserve(mark);
      view.observe(mark);
    });
    view.observe(mark);
    folds.observe(content, { subtree: true, childList: true, attributeFilter: ['data-folded'] });
    return () => {
      view.disconnect();
      folds.disconnect();
    };
  }, [coveredPx]);
  return (
    <div className="read-to-end">
      <div ref={box}>{children}</div>
      <div ref={end} className="read-end" />
    </div>
  );
}
