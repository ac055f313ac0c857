// The peek: a drawer beside a list that displays one of its rows. The list stays usable, and a form or a dialog belongs
// to the page of the thing instead.
import { Link } from '@tanstack/react-router';
import { type JSX, type ReactNode, useEffect, useState } from 'react';
import { createPortal } from 'react-dom';
import type { ThingLink } from '../lib/address.ts';
import { middleCut, visible } from '../lib/text.ts';
import { useThingLink } from '../lib/thing-link.ts';
import { Icon } from './icons.tsx';
import { useKeys } from './keys.ts';
import { Button } from './parts.tsx';
import { Split } from './split.tsx';

/** Id of the element beside the page, in which the frame leaves room. */
export const peekHost = 'peek-host';

export interface PeekProps {
  readonly title: string;
  readonly onClose: () => void;
  /** The page of the thing; absent if it has none. */
  readonly page?: ThingLink | undefined;
  readonly children: ReactNode;
}

/** Width of the page and the peek. */
const roomOf = ({ parentElement }: HTMLElement): number =>
  (document.getElementById('content')?.clientWidth ?? 0) + (parentElement?.clientWidth ?? 0);

export function Peek({ title, onClose, page, children }: PeekProps): JSX.Element | null {
  const [host, setHost] = useState<HTMLElement | null>(null);
  useEffect(() => setHost(document.getElementById(peekHost)), []);
  useKeys({ esc: onClose });
  useThingLink(page);
  if (host === null) return null;
  return createPortal(
    <aside className="peek" aria-label={middleCut(visible(title), 200)}>
      <Split name="peek" label="Width of the peek" side="after" roomOf={roomOf} />
      <div className="peek-head row">
        <h2 className="dialog-title">{middleCut(visible(title), 80)}</h2>
        <span className="grow" />
        {page && (
          <Link {...page} className="button">
            Open page
          </Link>
        )}
        <Button kind="quiet" aria-label="Close" onClick={onClose}>
          <Icon name="x" />
        </Button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it */}
      <section className="peek-body" tabIndex={0} aria-label="Details">
        {children}
      </section>
    </aside>,
    host,
  );
}
