// Bulk decisions. A sheet with the differences precedes the approval of similar calls; denials can be mixed. A bulk
// decision is sent after five seconds, and a person can take it back until then.
import { useBlocker } from '@tanstack/react-router';
import { type JSX, useEffect, useRef, useState } from 'react';
import { useActionBlockReason } from '../../frame/connection.tsx';
import type { ApiError } from '../../lib/api.ts';
import { after, now } from '../../lib/browser.ts';
import type { Search } from '../../lib/search.ts';
import { counted, duration, middleCut, visible } from '../../lib/text.ts';
import { useNow } from '../../lib/ticker.ts';
import { Dialog, say } from '../../ui/overlay.tsx';
import { Button } from '../../ui/parts.tsx';
import { Failed } from '../../ui/query-result.tsx';
import { groupAlike } from './alike.ts';
import { BulkSheet } from './bulk-sheet.tsx';
import { type Approval, decideAll } from './model.ts';

/** Delay from the click to the first request, in milliseconds. */
const holdMs = 5_000;

interface HeldDecision {
  readonly ids: readonly string[];
  readonly approved: boolean;
  readonly reason: string;
  /** Epoch milliseconds of this machine. */
  readonly sendAt: number;
}

/** Sends the waiting decisions after the delay. Leaving the page drops them. */
function useHeldDecision(isPaused: boolean, send: (held: HeldDecision) => void) {
  const [held, setHeld] = useState<HeldDecision | null>(null);
  const latest = useRef(send);
  latest.current = send;
  useEffect(() => {
    if (held === null || isPaused) return;
    const drop = (): void => setHeld(null);
    const timer = after(held.sendAt - now(), () => {
      setHeld(null);
      latest.current(held);
    });
    addEventListener('pagehide', drop);
    return () => {
      timer.cancel();
      removeEventListener('pagehide', drop);
    };
  }, [held, isPaused]);
  return [held, setHeld] as const;
}

/** Parameters of the address whose change leaves the selection. */
const placeOf = ({ pathname, search }: { readonly pathname: string; readonly search: unknown }): string => {
  const { env = '', view = '', search: text = '' } = search as Search;
  return JSON.stringify([pathname, env, view, text]);
};

export function Bulk({
  calls,
  onSelect,
}: {
  /** The selected pending approvals. */
  readonly calls: readonly Approval[];
  readonly onSelect: (ids: readonly string[]) => void;
}): JSX.Element {
  const [reason, setReason] = useState('');
  const [isOpen, setOpen] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const [isLeaving, setLeaving] = useState(false);
  const cannot = useActionBlockReason('decideApproval', [...new Set(calls.map(({ env }) => env))]);
  const bar = useRef<HTMLElement>(null);
  useEffect(() => bar.current?.scrollIntoView({ block: 'nearest' }), []);
  const [held, setHeld] = useHeldDecision(isLeaving, (decision) => void send(decision));
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => placeOf(current) !== placeOf(next),
    enableBeforeUnload: held !== null,
    disabled: held === null,
    withResolver: true,
  });
  const isBlocked = blocker.status === 'blocked';
  useEffect(() => setLeaving(isBlocked), [isBlocked]);
  const stay = (): void => {
    setHeld((before) => before && { ...before, sendAt: now() + holdMs });
    blocker.reset?.();
  };
  const hold = (approved: boolean): void => {
    setOpen(false);
    setError(null);
    setHeld({ ids: calls.map(({ id }) => id), approved, reason, sendAt: now() + holdMs });
  };
  const send = async ({ ids, approved, reason: words }: HeldDecision): Promise<void> => {
    setBusy(true);
    const outcomes = await decideAll(ids, approved, words);
    setBusy(false);
    const all = [...outcomes.values()];
    const own = all.filter((one) => one.state === 'decided' && one.mine).length;
    const lost = all.filter((one) => one.state === 'decided' && !one.mine).length;
    const failed = [...outcomes].filter(([, one]) => one.state === 'failed');
    const parts = [
      `${counted(own, 'call')} ${approved ? 'approved' : 'denied'}`,
      ...(lost > 0 ? [`${lost} already decided by others`] : []),
      ...(failed.length > 0 ? [`${failed.length} failed and still selected`] : []),
    ];
    say(`${parts.join(', ')}.`, failed.length > 0 ? 'deny' : 'allow');
    const [, first] = failed[0] ?? [];
    if (first?.state === 'failed') setError(first.error);
    onSelect(failed.map(([id]) => id));
  };
  const groups = groupAlike(calls);
  const [alike] = groups;
  return (
    <section ref={bar} className="bulk" aria-label="Bulk decision">
      <strong>{calls.length} selected</strong>
      {held ? (
        <Held decision={held} onTakeBack={() => setHeld(null)} />
      ) : (
        <>
          <label>
            <span className="heard">Reason for all</span>
            <input
              value={reason}
              maxLength={2000}
              placeholder="Reason for all"
              onChange={(event) => setReason(event.target.value)}
            />
          </label>
          <Button
            kind="primary"
            disabled={busy || cannot !== null || groups.length > 1}
            aria-describedby={groups.length > 1 ? 'bulk-unlike' : undefined}
            onClick={() => setOpen(true)}
          >
            Approve {calls.length}
          </Button>
          <Button kind="danger" busy={busy} disabled={cannot !== null} onClick={() => hold(false)}>
            Deny {calls.length}
          </Button>
          <Button kind="quiet" onClick={() => onSelect([])}>
            {' '}
            Clear selection{' '}
          </Button>
        </>
      )}
      {cannot && <p className="field-error bulk-says">{cannot}</p>}
      {!held && groups.length > 1 && (
        <div className="bulk-says">
          <p id="bulk-unlike" className="muted">
            You can approve calls together only if they have the same tool, contract and environment. Select
            one group:
          </p>
          <div className="bulk-kinds">
            {groups.map(({ tool, contracts, env, calls: own }) => (
              <Button key={`${tool} ${contracts} ${env}`} onClick={() => onSelect(own.map(({ id }) => id))}>
                {own.length} ×{' '}
                {[tool, ...contracts, env].map((name) => middleCut(visible(name), 40)).join(' · ')}
              </Button>
            ))}
          </div>
        </div>
      )}
      {error && !held && (
        <div className="bulk-says">
          <Failed error={error} />
        </div>
      )}
      <Dialog
        title={`Approve ${counted(calls.length, 'call')}`}
        shape="wide"
        open={isOpen && groups.length === 1 && !held}
        onClose={() => setOpen(false)}
      >
        {alike && isOpen && (
          <BulkSheet
            group={alike}
            cannot={cannot}
            onApprove={() => hold(true)}
            onClose={() => setOpen(false)}
          />
        )}
      </Dialog>
      <Dialog title="Discard unsent decision?" open={isBlocked} onClose={stay}>
        <p>
          {held &&
            `The decision to ${held.approved ? 'approve' : 'deny'} ${counted(held.ids.length, 'call')} is not sent yet. `}
          If you leave this page now, the hub does not receive it.
        </p>
        <div className="decide-buttons">
          <Button kind="primary" onClick={stay}>
            {' '}
            Stay on page{' '}
          </Button>
          <Button
            kind="danger"
            onClick={() => {
              setHeld(null);
              blocker.proceed?.();
            }}
          >
            Discard decision
          </Button>
        </div>
      </Dialog>
    </section>
  );
}

/** The waiting decisions, a countdown, and the button that takes them back. */
function Held({
  decision,
  onTakeBack,
}: {
  readonly decision: HeldDecision;
  readonly onTakeBack: () => void;
}): JSX.Element {
  useNow(1_000);
  const { ids, approved, sendAt } = decision;
  const button = useRef<HTMLButtonElement>(null);
  // The clicked button is gone.
  useEffect(() => button.current?.focus({ preventScroll: true }), []);
  const left = Math.max(1_000, Math.ceil((sendAt - now()) / 1_000) * 1_000);
  return (
    <>
      <p className="bulk-held" role="status">
        {approved ? 'Approving' : 'Denying'} {counted(ids.length, 'call')}
        <span aria-hidden="true"> in {duration(left)}</span>
      </p>
      <Button
        ref={button}
        onClick={() => {
          onTakeBack();
          say('Decision taken back. Nothing was sent.');
        }}
      >
        Undo{' '}
      </Button>
    </>
  );
}
