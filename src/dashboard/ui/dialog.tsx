// A dialog above a page.
import { Dialog as Base } from '@base-ui/react/dialog';
import { type JSX, type ReactNode, useEffect, useRef } from 'react';
import { useFilters } from '../lib/search.ts';
import { middleCut, visible } from '../lib/text.ts';
import { Icon } from './icons.tsx';

export interface DialogProps {
  readonly title: string;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly shape?: 'box' | 'wide' | 'palette';
  /** Only an answer closes the dialog. A request whose reply is visible once holds its dialog, too. */
  readonly held?: boolean;
}

/** First field of a dialog. It gets the focus, except after a touch: the keyboard would cover half of the screen. */
const firstField = (popup: HTMLElement | null): HTMLElement | null =>
  popup?.querySelector<HTMLElement>(
    '.dialog-body :is(input:not([type=checkbox], [type=radio], [type=file]), select, textarea):not(:disabled)',
  ) ?? null;

export function Dialog({ title, open, onClose, children, shape = 'box', held }: DialogProps): JSX.Element {
  const popup = useRef<HTMLDivElement>(null);
  const [{ peek }, change] = useFilters();
  // No dialog stands over a peek. A held one, such as the sign-in, leaves the page as it is; the palette has no form.
  const closesPeek = open && !held && shape !== 'palette' && peek !== undefined;
  useEffect(() => {
    if (closesPeek) change({ peek: undefined }, true);
  });
  return (
    <Base.Root
      open={open}
      disablePointerDismissal={held ?? false}
      onOpenChange={(next) => {
        if (!next && !held) onClose();
      }}
    >
      <Base.Portal>
        <Base.Backdrop className="backdrop" />
        <Base.Popup
          ref={popup}
          className={`dialog dialog-${shape}`}
          initialFocus={(by) => by === 'touch' || (firstField(popup.current) ?? true)}
        >
          <div className={shape === 'palette' ? 'heard' : 'dialog-head row apart'}>
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
