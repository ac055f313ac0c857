// Decisions about several calls. They are sent after five seconds; a person can take them back until then. Leaving the
// page, or a lost connection, drops them.
import { useBlocker } from '@tanstack/react-router';
import { type JSX, useEffect, useEffectEvent, useRef, useState } from 'react';
import type { ApiError } from '../../lib/api.ts';
import { after, now } from '../../lib/browser.ts';
import { useCommand } from '../../lib/commands.ts';
import type { Search } from '../../lib/search.ts';
import { serverNow } from '../../lib/server-time.ts';
import { useStore } from '../../lib/store.ts';
import { counted, duration } from '../../lib/text.ts';
import { useNow } from '../../lib/ticker.ts';
import { liveStatus } from '../../live/live.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { say } from '../../ui/messages.tsx';
import { Button } from '../../ui/parts.tsx';
import { type Approval, deadlineOf, decideAll, isDecidedByOther } from './model.ts';

/** Delay from the click to the first request, in milliseconds. */
const holdMs = 5_000;
/** A call that expires within this time is sent at once. Milliseconds. */
const hurryMs = 15_000;

interface HeldDecision {
  readonly ids: readonly string[];
  readonly approved: boolean;
  readonly reason: string;
  /** Epoch milliseconds of this machine. */
  readonly sendAt: number;
}

/** The calls whose decision was taken back, was dropped, or failed with an error. */
interface ReturnedCalls {
  readonly ids: readonly string[];
  readonly error: ApiError | null;
}

/** Parameters of the address whose change leaves the queue. */
const placeOf = ({ pathname, search }: { readonly pathname: string; readonly search: unknown }): string => {
  const { env = '', view = '', q = '' } = search as Search;
  return JSON.stringify([pathname, env, view, q]);
};

/**
 * Sends a decision, and reports its outcome in a message.
 * @param list a call that only a sheet loaded is not in it, and cannot stay selected
 */
async function send(
  { ids, approved, reason }: HeldDecision,
  list: readonly Approval[],
): Promise<ReturnedCalls> {
  const outcomes = await decideAll(ids, approved, reason);
  const all = [...outcomes.values()];
  const status = approved ? 'approved' : 'denied';
  const ownCount = all.filter(
    (one) => one.state === 'decided' && one.mine && one.approval.status === status,
  ).length;
  const lostCount = all.filter(isDecidedByOther).length;
  const endedCount = all.filter((one) => one.state === 'decided' && !one.mine).length - lostCount;
  const failed = [...outcomes].filter(([, one]) => one.state === 'failed');
  const listed = new Set(list.map(({ id }) => id));
  const unlistedCount = failed.filter(([id]) => !listed.has(id)).length;
  const selectedCount = failed.length - unlistedCount;
  // A decision about one of the calls alone was sent before.
  const singleCount = all.length - ownCount - lostCount - endedCount - failed.length;
  const parts = [
    `${counted(ownCount, 'call')} ${status}`,
    ...(singleCount > 0 ? [`${singleCount} already decided by you`] : []),
    ...(lostCount > 0 ? [`${lostCount} already decided by others`] : []),
    ...(endedCount > 0 ? [`${endedCount} already expired or withdrawn`] : []),
    ...(selectedCount > 0 ? [`${selectedCount} failed and still selected`] : []),
    ...(unlistedCount > 0 ? [`${unlistedCount} failed and not in the list`] : []),
  ];
  say(`${parts.join(', ')}.`, failed.length > 0 ? 'deny' : 'allow');
  const [, first] = failed[0] ?? [];
  return { ids: failed.map(([id]) => id), error: first?.state === 'failed' ? first.error : null };
}

export interface Held {
  readonly decisions: readonly HeldDecision[];
  readonly isSending: boolean;
  /** The calls whose decision waits or is being sent. */
  readonly ids: ReadonlySet<string>;
  /** Those whose decision waits. */
  readonly unsentIds: ReadonlySet<string>;
  readonly hold: (calls: readonly Approval[], approved: boolean, reason: string) => void;
  readonly undo: (decision: HeldDecision) => void;
  /** The question before the page is left. */
  readonly question: JSX.Element;
}

/** @param list the loaded calls, which can stay selected */
export function useHeld(list: readonly Approval[], onReturn: (calls: ReturnedCalls) => void): Held {
  const [decisions, setDecisions] = useState<readonly HeldDecision[]>([]);
  const [sending, setSending] = useState<readonly HeldDecision[]>([]);
  const returnCalls = useEffectEvent(onReturn);
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => placeOf(current) !== placeOf(next),
    enableBeforeUnload: decisions.length > 0,
    disabled: decisions.length === 0,
    withResolver: true,
  });
  const isBlocked = blocker.status === 'blocked';
  const remove = (one: HeldDecision): void =>
    setDecisions((before) => before.filter((decision) => decision !== one));
  const sendNow = async (decision: HeldDecision): Promise<void> => {
    setSending((before) => [...before, decision]);
    returnCalls(await send(decision, list));
    setSending((before) => before.filter((one) => one !== decision));
  };
  const sendDue = useEffectEvent(sendNow);
  const next = decisions[0];
  useEffect(() => {
    if (next === undefined || isBlocked) return;
    const timer = after(next.sendAt - now(), () => {
      setDecisions((before) => before.filter((decision) => decision !== next));
      void sendDue(next);
    });
    return () => timer.cancel();
  }, [next, isBlocked]);
  const { state } = useStore(liveStatus);
  const isLost = state === 'reconnecting' || state === 'stale';
  useEffect(() => {
    if (decisions.length === 0) return;
    const drop = (): void => setDecisions([]);
    if (isLost) {
      drop();
      returnCalls({ ids: decisions.flatMap(({ ids }) => ids), error: null });
      say('The connection is lost. The decision was not sent; its calls are still selected.', 'deny');
    }
    addEventListener('pagehide', drop);
    return () => removeEventListener('pagehide', drop);
  }, [decisions, isLost]);
  const undo = (decision: HeldDecision): void => {
    remove(decision);
    onReturn({ ids: decision.ids, error: null });
    say('Decision taken back. Nothing was sent.');
  };
  const last = decisions.at(-1);
  useCommand('undo', last ? () => undo(last) : null);
  const stay = (): void => {
    setDecisions((before) => before.map((one) => ({ ...one, sendAt: now() + holdMs })));
    blocker.reset?.();
  };
  return {
    decisions,
    isSending: sending.length > 0,
    ids: new Set([...decisions, ...sending].flatMap(({ ids }) => ids)),
    unsentIds: new Set(decisions.flatMap(({ ids }) => ids)),
    undo,
    hold: (calls, approved, reason) => {
      const isLate = (call: Approval): boolean => deadlineOf(call) - serverNow() < hurryMs;
      const [late, others] = [calls.filter(isLate), calls.filter((call) => !isLate(call))];
      const decisionOf = (some: readonly Approval[]): HeldDecision => ({
        ids: some.map(({ id }) => id),
        approved,
        reason,
        sendAt: now() + holdMs,
      });
      if (late.length > 0) void sendNow(decisionOf(late));
      if (others.length > 0) setDecisions((before) => [...before, decisionOf(others)]);
    },
    question: (
      <Dialog title="Discard unsent decision?" open={isBlocked} onClose={stay}>
        {decisions.map((one) => (
          <p key={one.ids[0]}>
            The decision to {one.approved ? 'approve' : 'deny'} {counted(one.ids.length, 'call')} is not sent
            yet.
          </p>
        ))}
        <p>If you leave this page now, the hub does not receive it.</p>
        <div className="decide-buttons">
          <Button kind="primary" onClick={stay}>
            Stay on page
          </Button>
          <Button
            kind="danger"
            onClick={() => {
              setDecisions([]);
              blocker.proceed?.();
            }}
          >
            Discard decision
          </Button>
        </div>
      </Dialog>
    ),
  };
}

/** A waiting decision, its countdown, and the button that takes it back. */
export function HeldRow({
  decision,
  onUndo,
}: Readonly<{ decision: HeldDecision; onUndo: () => void }>): JSX.Element {
  useNow(1_000);
  const { ids, approved, sendAt } = decision;
  const button = useRef<HTMLButtonElement>(null);
  // The clicked button is gone.
  useEffect(() => button.current?.focus({ preventScroll: true }), []);
  const left = Math.max(1_000, Math.ceil((sendAt - now()) / 1_000) * 1_000);
  return (
    <div className="bulk-held">
      <p role="status">
        {approved ? 'Approving' : 'Denying'} {counted(ids.length, 'call')}
        <span aria-hidden="true"> in {duration(left)}</span>
      </p>
      <Button ref={button} hint="z" onClick={onUndo}>
        Undo
      </Button>
    </div>
  );
}
