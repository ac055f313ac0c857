// Keys of a page.
import { useEffectEvent, useLayoutEffect } from 'react';
import { prefs } from '../lib/prefs.ts';

const keyNames: { readonly [key: string]: string } = {
  Escape: 'esc',
  Enter: 'enter',
  ArrowDown: 'down',
  ArrowUp: 'up',
  X: 'shift-x',
};

const fields =
  'input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable], [role=textbox], [role=menu], .dialog';

/**
 * True if a key press belongs to a field or a dialog instead of the page. The editor is in a shadow root: the event's
 * target is its host, so only the event's path contains the field.
 */
export const isTyping = (event: Event): boolean =>
  event.composedPath().some((one) => one instanceof Element && one.matches(fields));

/** True for a key by which a person chooses among radio buttons, while one of them has the focus. */
const isRadioKey = ({ key, target }: KeyboardEvent): boolean =>
  /^(?: |Arrow)/.test(key) && target instanceof Element && target.matches('[type=radio]');

/**
 * Binds keys of a page: a character, or `esc`, `enter`, `down`, `up`, `shift-x`. They work while no field has the focus
 * and no dialog is open. A person can turn single-letter keys off.
 */
export function useKeys(keys: { readonly [key: string]: (event: KeyboardEvent) => void }): void {
  const press = useEffectEvent((event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event) || isRadioKey(event)) return;
    const act = keys[keyNames[event.key] ?? event.key];
    if (!act || (event.key.length === 1 && !prefs.get().letterKeys)) return;
    event.preventDefault();
    act(event);
  });
  // Before the next paint: a button that is enabled has its key already.
  useLayoutEffect(() => {
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}

/** Binds j and k to the next and the previous row. `at` is the current row, -1 for none. */
export function useStepKeys<R>(rows: readonly R[], at: number, open: ((row: R) => void) | undefined): void {
  const go = (step: number) => (): void => {
    const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))];
    if (next !== undefined) open?.(next);
  };
  useKeys(open ? { j: go(1), k: go(-1) } : {});
}
