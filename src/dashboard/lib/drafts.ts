// What a person has typed and not yet saved. It is kept for this tab and this person: leaving a page, loading it again
// or signing in again loses nothing.
import { useCallback, useEffect, useRef, useState } from 'react';
import { after } from './browser.ts';
import { ownKey } from './prefs.ts';

const prefix = 'draft.';
/** Characters of a draft; a longer one lasts as long as its page. */
const maxDraft = 1_000_000;
/** A draft is written so long after the last key. */
const writeMs = 300;

function read<T>(key: string): T | null {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? 'null') as T | null;
  } catch {
    return null;
  }
}

function write(key: string, value: unknown): void {
  try {
    const text = value === null ? '' : JSON.stringify(value);
    if (text === '' || text.length > maxDraft) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, text);
  } catch {
    // Storage is refused or full: the draft lasts as long as its page.
  }
}

/**
 * The draft of this name; null when nothing was typed. Setting null forgets it.
 * @param name one for each form, with what the form is about
 */
export function useDraft<T extends object>(name: string): readonly [T | null, (next: T | null) => void] {
  const key = ownKey(`${prefix}${name}`);
  const [draft, setDraft] = useState<T | null>(() => read<T>(key));
  // What was set last: a form that is saved and closed at once is drawn no more.
  const latest = useRef(draft);
  useEffect(() => {
    const timer = after(writeMs, () => write(key, draft));
    return () => {
      timer.cancel();
      write(key, latest.current);
    };
  }, [key, draft]);
  const set = useCallback((next: T | null): void => {
    latest.current = next;
    setDraft(next);
  }, []);
  return [draft, set];
}

/** At logout: nothing that was typed stays. */
export function forgetDrafts(): void {
  const start = ownKey(prefix);
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(start)) sessionStorage.removeItem(key);
  } catch {
    // Storage is refused: nothing was kept.
  }
}
