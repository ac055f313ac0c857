// The controls of a decision: reason, two buttons, the notice about a missing answer, and the outcome.
import { type JSX, type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { argumentLine } from '../../../approval/rules/argument-line.ts';
import { now } from '../../lib/browser.ts';
import { useActionBlockReason } from '../../lib/may.ts';
import { useStore } from '../../lib/store.ts';
import { endCut, visible } from '../../lib/text.ts';
import { useIsPast, useNow } from '../../lib/ticker.ts';
import { unansweredMs } from '../../lib/unanswered.ts';
import { Field } from '../../ui/form.tsx';
import { DataParagraph } from '../../ui/names.tsx';
import { usePhone } from '../../ui/narrow.ts';
import { Button, Data, Time } from '../../ui/parts.tsx';
import { Failed } from '../../ui/query-result.tsx';
import {
  type Approval,
  channelWord,
  deadlineOf,
  decide,
  decisionChannel,
  decisions,
  lateReason,
  outcomeOf,
  readApprovals,
  unreadReason,
} from './model.ts';

export interface DecideProps {
  readonly approval: Approval;
  /** True for a moment after the card replaced another one. The buttons are disabled. */
  readonly isArriving?: boolean;
  /** True while an unsent decision about several calls contains this call. */
  readonly isHeld?: boolean;
  readonly reason: string;
  readonly onReason: (reason: string) => void;
}

const heldReason =
  'A decision about several calls contains this call. To decide it alone, undo that decision.';

export function Decide(props: DecideProps): JSX.Element {
  const { approval, isArriving = false, isHeld = false, reason, onReason } = props;
  const id = useId();
  const decision = useStore(decisions).get(approval.id);
  const cannot = useActionBlockReason('decideApproval', [approval.env]);
  const isLate = useIsPast(deadlineOf(approval));
  const isRead = useStore(readApprovals).has(approval.id);
  const sending = decision?.state === 'sending' ? decision.approved : null;
  const why = cannot ?? (isHeld ? heldReason : isLate ? lateReason : null);
  const canDeny = why === null && sending === null && !isArriving;
  const canApprove = canDeny && isRead;
  const press = (approved: boolean) => (): void => void decide(approval.id, approved, reason);
  // On a phone, one slip of the thumb must not approve a call in production.
  const isPhone = usePhone();
  const [isSure, setSure] = useState(false);
  const asksOnce = isPhone && approval.env === 'production';
  const leaveOrSend = (event: KeyboardEvent<HTMLInputElement>): void => {
    if (event.key === 'Escape') {
      // Keeps the text. Letters are keys of the page again.
      event.stopPropagation();
      event.currentTarget.blur();
    }
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.repeat) return;
    event.preventDefault();
    if (event.shiftKey ? canDeny : canApprove) press(!event.shiftKey)();
  };
  return (
    <div className="decide">
      <p className="muted">
        If nobody decides, the call is{' '}
        <strong>{approval.timeout_effect === 'allow' ? 'allowed' : 'denied'}</strong>.
      </p>
      <Field
        label="Reason"
        className="reason"
        value={reason}
        maxLength={2000}
        placeholder="Optional. Sent to the agent and recorded in the audit log"
        onValue={onReason}
        onKeyDown={leaveOrSend}
        help={
          <span className="wide-only">
            Press Ctrl Enter to approve, Ctrl Shift Enter to deny, or Esc to leave the field.
          </span>
        }
      />
      <div className="decide-buttons">
        {canDeny && !isRead && (
          <p id={`${id}-unread`} className="decide-unread">
            {unreadReason}
          </p>
        )}
        <Button
          kind="primary"
          icon="check"
          hint="a"
          busy={sending === true}
          disabled={!canApprove}
          aria-describedby={canDeny && !isRead ? `${id}-unread` : undefined}
          onClick={asksOnce && !isSure ? () => setSure(true) : press(true)}
        >
          Approve
          {asksOnce && isSure && (
            <span className="one-line"> {endCut(visible(argumentLine(approval.tool_args)), 80)}?</span>
          )}
        </Button>
        <Button
          kind="danger"
          icon="slash"
          hint="d"
          busy={sending === false}
          disabled={!canDeny}
          onClick={press(false)}
        >
          Deny
        </Button>
      </div>
      {decision?.state === 'sending' && <Unanswered sentAt={decision.sentAt} />}
      {why && <p className="field-error">{why}</p>}
      {decision?.state === 'failed' && <Failed error={decision.error} />}
    </div>
  );
}

/** @param sentAt epoch milliseconds of this machine */
function Unanswered({ sentAt }: { readonly sentAt: number }): JSX.Element | null {
  useNow(1_000);
  if (now() - sentAt < unansweredMs) return null;
  return (
    <p className="notice notice-ask" role="status">
      The hub has not answered for 10 s. Your decision may have taken effect. The result appears here when the
      hub answers.
    </p>
  );
}

export function Outcome({
  approval,
  lost,
  mine,
}: Readonly<{ approval: Approval; lost: boolean; mine: boolean }>): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The clicked button is gone. The outcome gets the focus, so that screen readers announce it.
    const isLost = document.activeElement === null || document.activeElement === document.body;
    if (mine && isLost) place.current?.focus({ preventScroll: true });
  }, [mine]);
  const channel = decisionChannel(approval);
  const tone = approval.status === 'approved' ? 'allow' : approval.status === 'denied' ? 'deny' : 'ask';
  return (
    <div ref={place} tabIndex={-1} className={`notice notice-${tone}`} role={lost ? 'alert' : undefined}>
      <div>
        <p>
          {lost && <strong>Another user decided first. </strong>}
          <Data text={outcomeOf(approval)} mono={false} />
          {approval.decided_at && (
            <>
              {' '}
              <Time at={approval.decided_at} />
            </>
          )}
          {channel !== null && <> via {channelWord(channel)}</>}.
        </p>
        {typeof approval.decision_reason === 'string' && (
          <DataParagraph text={approval.decision_reason} mono={false} />
        )}
      </div>
    </div>
  );
}
