// Places of scrolled elements, by entry of the browser's history: Back and Forward show a page and its list where they
// were. They last as long as the document.
import { useLocation } from '@tanstack/react-router';
import { type RefObject, useCallback, useEffect, useRef } from 'react';
import { after } from './browser.ts';

/** Pixels for pages, first rows in sight for lists. */
const places = new Map<string, number>();

/**
 * The place of an element, by its name, in the present entry.
 * @returns reads the place, 0 in a new entry; and keeps another one
 */
export function usePlace(name: string): { read(): number; keep(place: number): void } {
  const key = `${useLocation({ select: ({ state }) => state.__TSR_key ?? '' })} ${name}`;
  const last = useRef<string | null>(null);
  const read = useCallback((): number => places.get(key) ?? 0, [key]);
  const keep = useCallback(
    (place: number): void => {
      // A list that is about to go still renders once in the entry of the next page, whose place must stay. An open
      // peek is an entry of its own, with the page and the list as they are.
      const isEntered = last.current !== key;
      last.current = key;
      if (!isEntered || !places.has(key)) places.set(key, place);
    },
    [key],
  );
  return { read, keep };
}

/** Calls `act` at the first press, key or turn of the wheel. @returns stops listening */
export function onFirstInput(act: () => void): () => void {
  const stop = new AbortController();
  const end = (): void => {
    stop.abort();
    act();
  };
  for (const name of ['wheel', 'pointerdown', 'keydown'])
    addEventListener(name, end, { capture: true, passive: true, signal: stop.signal });
  return () => stop.abort();
}

/** Pause between two attempts, in milliseconds, and their number. */
const [waitMs, attempts] = [50, 6];

/**
 * Scrolls a new page to its top, and after Back or Forward to where it was, as soon as it is long enough. A person who
 * scrolls ends this.
 */
export function usePageScroll(page: RefObject<HTMLElement | null>, path: string): void {
  const { read, keep } = usePlace('page');
  const last = useRef(path);
  useEffect(() => {
    const element = page.current;
    if (last.current === path || !element) return;
    last.current = path;
    const offset = read();
    element.scrollTop = offset;
    let left = offset === 0 ? 0 : attempts;
    const stop = onFirstInput(() => {
      left = 0;
    });
    const restore = (): void => {
      if (left === 0 || last.current !== path) {
        stop();
        return;
      }
      left -= 1;
      element.scrollTop = offset;
      after(waitMs, restore);
    };
    restore();
  }, [page, path, read]);
  useEffect(() => {
    const element = page.current;
    if (!element) return;
    const keepOffset = (): void => keep(element.scrollTop);
    keepOffset();
    element.addEventListener('scroll', keepOffset, { passive: true });
    return () => element.removeEventListener('scroll', keepOffset);
  }, [page, keep]);
}
