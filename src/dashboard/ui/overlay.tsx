// Layers above a page: dialogs, the detail panel at the right, and short messages.
import { Dialog as Base } from '@base-ui/react/dialog';
import { type JSX, type ReactNode, useLayoutEffect, useRef } from 'react';
import { after } from '../lib/browser.ts';
import { prefs } from '../lib/prefs.ts';
import { createStore, useStore } from '../lib/store.ts';
import { middleCut, visible } from '../lib/text.ts';
import { unansweredActions } from '../lib/unanswered.ts';
import { Icon } from './icons.tsx';

export interface DialogProps {
  readonly title: string;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** `panel` is at the right edge, and the page behind it stays usable. */
  readonly shape?: 'box' | 'panel' | 'wide' | 'palette';
  /** A person cannot close the dialog without an answer. */
  readonly held?: boolean;
}

/** First field of a dialog. It gets the focus, except after a touch: the keyboard would cover half of the screen. */
const firstField = (popup: HTMLElement | null): HTMLElement | null =>
  popup?.querySelector<HTMLElement>(
    '.dialog-body :is(input:not([type=checkbox], [type=radio], [type=file]), select, textarea):not(:disabled)',
  ) ?? null;

export function Dialog({ title, open, onClose, children, shape = 'box', held }: DialogProps): JSX.Element {
  const popup = useRef<HTMLDivElement>(null);
  return (
    <Base.Root
      open={open}
      modal={shape !== 'panel'}
      disablePointerDismissal={held || shape === 'panel'}
      onOpenChange={(next) => {
        if (!next && !held) onClose();
      }}
    >
      <Base.Portal>
        {shape !== 'panel' && <Base.Backdrop className="backdrop" />}
        <Base.Popup
          ref={popup}
          className={`dialog dialog-${shape}`}
          initialFocus={(by) =>
            by === 'touch' || shape === 'panel' ? true : (firstField(popup.current) ?? true)
          }
        >
          <div className={shape === 'palette' ? 'heard' : 'dialog-head'}>
            <Base.Title className="dialog-title">{middleCut(visible(title), 200)}</Base.Title>
            {!held && shape !== 'palette' && (
              <Base.Close className="button button-quiet" aria-label="Close">
                <Icon name="x" />
              </Base.Close>
            )}
          </div>
          <div className="dialog-body">{children}</div>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

interface Message {
  readonly id: number;
  readonly text: string;
  readonly tone: 'allow' | 'deny' | 'plain';
}

const messages = createStore<readonly Message[]>([]);
let lastId = 0;
const visibleMs = 6_000;

/** Displays a short message at the edge of the screen, and announces it to screen readers. */
export function say(text: string, tone: Message['tone'] = 'plain'): void {
  lastId += 1;
  const id = lastId;
  messages.set((before) => [...before.slice(-3), { id, text, tone }]);
  after(tone === 'deny' ? visibleMs * 2 : visibleMs, () =>
    messages.set((before) => before.filter((one) => one.id !== id)),
  );
}

export function Messages(): JSX.Element {
  const visibleMessages = useStore(messages);
  const unanswered = useStore(unansweredActions);
  return (
    <div className="messages" aria-live="polite">
      {unanswered > 0 && (
        <p className="message tone-ask">
          <Icon name="triangle" />
          The hub has not answered for 10 s. Your action may have taken effect. Check before you try again.
        </p>
      )}
      {visibleMessages.map(({ id, text, tone }) => (
        <p key={id} className={`message tone-${tone}`}>
          {tone !== 'plain' && <Icon name={tone === 'allow' ? 'check' : 'triangle'} />}
          {middleCut(visible(text), 500)}
        </p>
      ))}
    </div>
  );
}

const keyNames: { readonly [key: string]: string } = {
  Escape: 'esc',
  Enter: 'enter',
  ArrowDown: 'down',
  ArrowUp: 'up',
  X: 'shift-x',
};

const fields =
  'input:not([type=checkbox]), textarea, select, [contenteditable], [role=textbox], [role=menu], .dialog:not(.dialog-panel)';

/**
 * True if a key press belongs to a field or a dialog instead of the page. The editor is in a shadow root: the event's
 * target is its host, so only the event's path contains the field.
 */
export const isTyping = (event: Event): boolean =>
  event.composedPath().some((one) => one instanceof Element && one.matches(fields));

/**
 * Binds keys of a page: a character, or `esc`, `enter`, `down`, `up`, `shift-x`. They work while no field has the focus
 * and no dialog is open. A person can turn single-letter keys off.
 */
export function useKeys(keys: { readonly [key: string]: (event: KeyboardEvent) => void }): void {
  const latest = useRef(keys);
  // Before the next paint: a button that is enabled has its key already.
  useLayoutEffect(() => {
    latest.current = keys;
  });
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isTyping(event)) return;
      const act = latest.current[keyNames[event.key] ?? event.key];
      if (!act || (event.key.length === 1 && !prefs.get().letterKeys)) return;
      event.preventDefault();
      act(event);
    };
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
