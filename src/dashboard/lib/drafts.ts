// Unsaved input, stored for this tab and this person. It survives a change of page, a reload and another sign-in.
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { after } from './browser.ts';
import { ownKey } from './prefs.ts';

const prefix = 'draft.';
/** Characters. A longer draft is lost with its page. */
const maxDraft = 1_000_000;
/** Delay from the last key press to the write, in milliseconds. */
const writeMs = 300;

function read<T>(key: string): T | null {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? 'null') as T | null;
  } catch {
    return null;
  }
}

/** True while the page leaves for another person's: open forms write no drafts back. */
let areForgotten = false;

function write(key: string, value: unknown): void {
  if (areForgotten) return;
  try {
    const text = value === null ? '' : JSON.stringify(value);
    if (text === '' || text.length > maxDraft) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, text);
  } catch {
    // Without storage, the draft is lost with its page.
  }
}

/** Sets the draft, or changes the latest one, also after the form is unmounted. */
type SetDraft<T> = (next: T | null | ((latest: T | null) => T | null)) => void;

/**
 * Returns the draft of this name, null if there is none. Setting null deletes it.
 * @param name unique for each form and its object
 */
export function useDraft<T extends object>(name: string): readonly [T | null, SetDraft<T>] {
  // Of the person at the start: after another one's sign-in, the texts are still the first one's.
  const key = useMemo(() => ownKey(`${prefix}${name}`), [name]);
  const [draft, setDraft] = useState<T | null>(() => read<T>(key));
  // The latest value: a form that closes at once after a save does not render again.
  const latest = useRef(draft);
  useEffect(() => {
    const writeLatest = (): void => write(key, latest.current);
    const timer = after(writeMs, () => write(key, draft));
    // A reload does not run the clean-up below.
    addEventListener('pagehide', writeLatest);
    return () => {
      timer.cancel();
      removeEventListener('pagehide', writeLatest);
      writeLatest();
    };
  }, [key, draft]);
  const set = useCallback<SetDraft<T>>(
    (change) => {
      const isUpdate = typeof change === 'function';
      const next = isUpdate ? change(latest.current) : change;
      latest.current = next;
      // At once: the form may be gone, and its clean-up done.
      if (next === null || isUpdate) write(key, next);
      setDraft(next);
    },
    [key],
  );
  return [draft, set];
}

/**
 * The draft after a save: none if it is what was sent. Input since the press stays, as a change of the saved state.
 * @param base tag of the saved state
 */
export const afterSave =
  <T extends { readonly base?: unknown }>(isSent: (draft: T) => boolean, base: T['base']) =>
  (latest: T | null): T | null =>
    latest === null || isSent(latest) ? null : { ...latest, base };

export const hasDraft = (name: string): boolean => read(ownKey(`${prefix}${name}`)) !== null;

/** Deletes the drafts of this person at a logout. The page takes no more of them. */
export function forgetDrafts(): void {
  areForgotten = true;
  const [start = '', end = ''] = ownKey(`${prefix}*`).split('*');
  try {
    for (const key of Object.keys(sessionStorage))
      if (key.startsWith(start) && key.endsWith(end)) sessionStorage.removeItem(key);
  } catch {
    // Without storage there are no drafts.
  }
}
