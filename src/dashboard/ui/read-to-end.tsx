// Content to read before an approval. It counts as read when its end is in view and no part of it is folded.
import { type JSX, type ReactNode, useEffect, useEffectEvent, useRef } from 'react';

export interface ReadToEndProps {
  /** Called when the end is in view and nothing is folded. Calls can repeat. */
  readonly onRead: () => void;
  /** Covered pixels at the bottom of the window. */
  readonly coveredPx?: number;
  readonly children: ReactNode;
}

/** Folded parts of the children have the attribute `data-folded`. */
export function ReadToEnd({ onRead, coveredPx = 0, children }: ReadToEndProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const read = useEffectEvent(onRead);
  useEffect(() => {
    const [content, mark] = [box.current, end.current];
    if (!content || !mark) return;
    const view = new IntersectionObserver(
      (entries) => {
        const isInView = entries.at(-1)?.isIntersecting ?? false;
        if (isInView && content.querySelector('[data-folded]') === null) read();
      },
      { rootMargin: `0px 0px ${-coveredPx}px 0px` },
    );
    // Unfolding moves the end, so its position must be checked again.
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
