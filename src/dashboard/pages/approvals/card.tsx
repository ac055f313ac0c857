// One approval, as the person needs it who decides: who asks, what for, why, how long still, what happens without an
// answer.
import { type JSX, useId } from 'react';
import { useCannotAct } from '../../frame/connection.tsx';
import { useCall } from '../../lib/query.ts';
import { useStore } from '../../lib/store.ts';
import { duration, visible } from '../../lib/text.ts';
import { useNow } from '../../lib/ticker.ts';
import { CallArguments } from '../../ui/arguments.tsx';
import { Button, Data, Env, Failed, Name, Time, Verdict } from '../../ui/parts.tsx';
import { type Approval, deadlineOf, decide, decisions, isOfSample, outcomeOf } from './model.ts';

const urgentMs = 60_000;
const around = 2 * Math.PI * 15;

/** Time left as a ring and in words. */
export function Countdown({ approval }: { readonly approval: Approval }): JSX.Element {
  const left = Math.max(0, deadlineOf(approval) - useNow(1_000));
  const part = Math.min(1, left / (approval.timeout_seconds * 1000));
  return (
    <span className={`countdown numbers ${left < urgentMs ? 'countdown-urgent' : ''}`}>
      <svg viewBox="0 0 36 36" width="20" height="20" aria-hidden="true" focusable="false">
        <circle cx="18" cy="18" r="15" className="countdown-track" />
        <circle
          cx="18"
          cy="18"
          r="15"
          className="countdown-left"
          strokeDasharray={`${part * around} ${around}`}
        />
      </svg>
      {left === 0 ? 'time is up' : `${duration(left)} left`}
    </span>
  );
}

export interface CardProps {
  readonly approval: Approval;
  /** On Home: without what the agent did before. */
  readonly brief?: boolean;
  readonly reason: string;
  readonly onReason: (reason: string) => void;
}

export function ApprovalCard({ approval, brief, reason, onReason }: CardProps): JSX.Element {
  const decision = useStore(decisions)[approval.id];
  const known = decision?.state === 'decided' ? decision.approval : approval;
  return (
    <article className="approval card" aria-label={`Approval of ${visible(approval.tool_name).slice(0, 80)}`}>
      <header className="approval-head">
        <div className="approval-what">
          <h2>
            <Data text={approval.tool_name} max={120} />
          </h2>
          <p className="muted">
            <Data text={approval.agent_id} max={120} /> asks <Time at={approval.created_at} /> in{' '}
            <Env of={approval.env} />
            {isOfSample(approval) && (
              <>
                {' '}
                <span className="tag">sample</span>
              </>
            )}
          </p>
        </div>
        {known.status === 'pending' ? <Countdown approval={approval} /> : <Verdict of={known.status} />}
      </header>
      <p className="approval-why">
        <Data
          text={
            typeof approval.message === 'string'
              ? approval.message
              : 'A message too long for the list: open the approval.'
          }
          mono={false}
          max={600}
        />
      </p>
      {approval.contract_name && (
        <p className="muted">
          Asked by the contract <Data text={approval.contract_name} max={120} />
        </p>
      )}
      <CallArguments of={approval.tool_args} />
      {known.status === 'pending' ? (
        <Decide approval={approval} brief={brief} reason={reason} onReason={onReason} />
      ) : (
        <Outcome approval={known} lost={decision?.state === 'decided' && !decision.mine} />
      )}
      {!brief && <Before approval={approval} />}
    </article>
  );
}

function Decide({ approval, brief, reason, onReason }: CardProps): JSX.Element {
  const id = useId();
  const decision = useStore(decisions)[approval.id];
  const cannot = useCannotAct();
  const isLate = deadlineOf(approval) <= useNow(1_000);
  const sending = decision?.state === 'sending' ? decision.approved : null;
  const why = cannot ?? (isLate ? 'Its time is up: the hub is closing it.' : null);
  const press = (approved: boolean) => (): void => void decide(approval.id, approved, reason);
  return (
    <div className="decide">
      <p className="muted">
        Without an answer the call is{' '}
        <strong>{approval.timeout_effect === 'allow' ? 'allowed' : 'denied'}</strong>.
      </p>
      <div className="field">
        <label htmlFor={id}>Reason</label>
        <input
          id={id}
          className="reason"
          value={reason}
          maxLength={2000}
          placeholder="Optional; the agent and the audit log get it"
          onChange={(event) => onReason(event.target.value)}
        />
      </div>
      <div className="decide-buttons">
        <Button
          kind="primary"
          icon="check"
          hint={brief ? undefined : 'a'}
          busy={sending === true}
          disabled={why !== null || sending !== null}
          onClick={press(true)}
        >
          Approve
        </Button>
        <Button
          kind="danger"
          icon="slash"
          hint={brief ? undefined : 'd'}
          busy={sending === false}
          disabled={why !== null || sending !== null}
          onClick={press(false)}
        >
          Deny
        </Button>
      </div>
      {why && <p className="field-error">{why}</p>}
      {decision?.state === 'failed' && <Failed error={decision.error} />}
    </div>
  );
}

function Outcome({ approval, lost }: { readonly approval: Approval; readonly lost: boolean }): JSX.Element {
  const tone = approval.status === 'approved' ? 'allow' : approval.status === 'denied' ? 'deny' : 'ask';
  return (
    <div className={`notice notice-${tone}`} role={lost ? 'alert' : undefined}>
      <div>
        <p>
          {lost && <strong>Somebody was faster. </strong>}
          <Data text={outcomeOf(approval)} mono={false} />
          {approval.decided_at && (
            <>
              {' '}
              <Time at={approval.decided_at} />
            </>
          )}
          {approval.decided_by && approval.decided_via && <> through {visible(approval.decided_via)}</>}.
        </p>
        {typeof approval.decision_reason === 'string' && (
          <p>
            <Data text={approval.decision_reason} mono={false} />
          </p>
        )}
      </div>
    </div>
  );
}

/** The newest calls of the same agent. */
function Before({ approval }: { readonly approval: Approval }): JSX.Element | null {
  const { data } = useCall('searchEvents', {
    query: { agent_id: approval.agent_id, env: approval.env, limit: 5 },
  });
  if (!data) return null;
  return (
    <section className="before">
      <h3>What this agent did just before</h3>
      {data.length === 0 ? (
        <p className="muted">Nothing that the hub was told of.</p>
      ) : (
        <ul>
          {data.map((event) => (
            <li key={event.id} className="before-row">
              <Verdict of={event.verdict} />
              <Name text={event.tool_name} />
              <Time at={event.timestamp} className="muted" />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
