// One approval for the person who decides: the agent, the call, the reason, the time left, and the result without a
// decision.
import { Link } from '@tanstack/react-router';
import type { JSX } from 'react';
import { argumentLine } from '../../../approval/rules/argument-line.ts';
import { linkTo } from '../../lib/address.ts';
import { useCall } from '../../lib/query.ts';
import { useStore } from '../../lib/store.ts';
import { duration, plainJson, visible } from '../../lib/text.ts';
import { useNow } from '../../lib/ticker.ts';
import { CallArguments } from '../../ui/arguments.tsx';
import { CallVerdict } from '../../ui/call-verdict.tsx';
import { DataLink } from '../../ui/names.tsx';
import { usePhone } from '../../ui/narrow.ts';
import { Data, Env, Line, Time, TimeWords, Verdict } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { ReadToEnd } from '../../ui/read-to-end.tsx';
import { payloadField } from '../events/event-row.ts';
import { Decide, type DecideProps, Outcome } from './decide.tsx';
import { type Approval, deadlineOf, decisions, isDecidedByOther, isOfSample, markRead } from './model.ts';
import { Snooze } from './snooze.tsx';
import { Take } from './take.tsx';

const urgentMs = 60_000;
const around = 2 * Math.PI * 15;

/** Time left, as a ring and as text. In a row, where it stands first, only screen readers get its last word. */
export function Countdown({
  approval,
  isRow = false,
}: Readonly<{ approval: Approval; isRow?: boolean }>): JSX.Element {
  const left = Math.max(0, deadlineOf(approval) - useNow(1_000));
  const part = Math.min(1, left / (approval.timeout_seconds * 1000));
  return (
    <TimeWords
      at={new Date(deadlineOf(approval)).toISOString()}
      className={`countdown numbers ${left < urgentMs ? 'countdown-urgent' : ''}`}
    >
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
      {left === 0 ? (
        'expired'
      ) : (
        <span>
          {duration(left)}
          <span className={isRow ? 'heard' : undefined}> left</span>
        </span>
      )}
    </TimeWords>
  );
}

/** Pixels at the bottom of a phone's screen that the buttons and the navigation cover. */
const decideBarPx = 180;

export function ApprovalCard({ approval: listed, ...controls }: DecideProps): JSX.Element {
  const decision = useStore(decisions).get(listed.id);
  const approval = useWhole(listed);
  const isPhone = usePhone();
  const current = decision?.state === 'decided' ? decision.approval : approval;
  return (
    <article className="approval card" aria-label={`Approval of ${visible(approval.tool_name).slice(0, 80)}`}>
      <header className="approval-head">
        <div className="approval-what">
          <h2>
            <Data text={approval.tool_name} />
          </h2>
          <p className="muted">
            <Data text={approval.agent_id} /> asked <Time at={approval.created_at} /> in{' '}
            <Env name={approval.env} />
            <Principal principal={approval.principal} />
            {isOfSample(approval) && (
              <>
                {' '}
                <span className="tag">sample</span>
              </>
            )}
          </p>
        </div>
        {current.status === 'pending' ? <Countdown approval={approval} /> : <Verdict word={current.status} />}
      </header>
      <p className="approval-why">
        {typeof approval.message === 'string' ? (
          <Data text={approval.message} mono={false} max={600} />
        ) : (
          'The message is too long to show here. Open the approval to read it.'
        )}
      </p>
      <Asking approval={approval} />
      <ReadToEnd coveredPx={isPhone ? decideBarPx : 0} onRead={() => markRead(approval.id)}>
        <CallArguments args={approval.tool_args} />
      </ReadToEnd>
      <div className="approval-links">
        <Related approval={approval} />
        {current.status === 'pending' && (
          <>
            <Take approval={approval} />
            <Snooze approval={approval} />
          </>
        )}
      </div>
      {current.status === 'pending' ? (
        <Decide approval={approval} {...controls} />
      ) : (
        <Outcome
          approval={current}
          lost={isDecidedByOther(decision)}
          mine={decision?.state === 'decided' && decision.mine}
        />
      )}
      <Before approval={approval} />
    </article>
  );
}

/** The complete arguments, because lists leave out large ones. */
function useWhole(approval: Approval): Approval {
  const { tool_args: args, principal, contracts, message, decision_reason: why } = approval;
  const isCut = [args, principal, contracts, message, why].some(
    (field) => typeof field === 'object' && field !== null && '_truncated' in field,
  );
  const { data } = useCall('getApproval', { params: { approval_id: approval.id } }, { enabled: isCut });
  return isCut && data ? { ...data, status: approval.status } : approval;
}

const text = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : null;

/** The principal of the call: name and role first, then the other fields. */
function Principal({ principal }: { readonly principal: Approval['principal'] }): JSX.Element | null {
  if (principal === null || '_truncated' in principal || Object.keys(principal).length === 0) return null;
  const { user_id: user, role, ...others } = principal as { readonly [name: string]: unknown };
  const rest = Object.entries(others).filter(([, value]) => value !== null);
  const valueTexts = rest.map(([key, value]) => `${key}: ${plainJson(value)}`).join(', ');
  const [name, as] = [text(user), text(role)];
  return (
    <>
      {' '}
      on behalf of {name === null ? 'an unnamed user' : <Data text={name} />}
      {as !== null && <Data before=" as " text={as} />}
      {valueTexts !== '' && <Data before=" (" text={valueTexts} max={160} after=")" />}
    </>
  );
}

/** The asking contract, or all of them with their messages. */
function Asking({ approval }: { readonly approval: Approval }): JSX.Element | null {
  const { contracts, contract_name: name } = approval;
  if (Array.isArray(contracts) && contracts.length > 1) {
    return (
      <section className="asking">
        <h3>Contracts that require approval</h3>
        <ul>
          {contracts.map((one, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two may have one name
            <li key={at}>
              <Contract id={one.name} /> <Data text={one.message} mono={false} max={300} />
            </li>
          ))}
        </ul>
      </section>
    );
  }
  if (!name) return null;
  return (
    <p className="muted">
      Required by the contract <Contract id={name} />
    </p>
  );
}

const Contract = ({ id }: { readonly id: string }): JSX.Element => (
  <DataLink link={linkTo.contract(id)} text={id} max={120} />
);

/** Links to other pages about this call. */
const Related = ({ approval }: { readonly approval: Approval }): JSX.Element => (
  <>
    <Link {...linkTo.agent(approval.agent_id)}> View agent </Link>
    {approval.session_id !== null && (
      <Link {...linkTo.run(approval.agent_id, approval.session_id)}>View run</Link>
    )}
    {approval.call_id !== null && (
      <Link to="/explore" search={{ call_id: approval.call_id, from: 'now-30d' } as never}>
        View events for this call
      </Link>
    )}
  </>
);

const maxEarlierCalls = 5;

/** The agent's calls before this request. Later ones would mislead. */
function Before({ approval }: { readonly approval: Approval }): JSX.Element {
  const eventsQuery = useCall('searchEvents', {
    query: {
      agent_id: approval.agent_id,
      env: approval.env,
      until: approval.created_at,
      limit: maxEarlierCalls + 1,
    },
  });
  return (
    <section className="before">
      <h3>Earlier calls from this agent</h3>
      <QueryResult query={eventsQuery} rows={maxEarlierCalls}>
        {(list) => {
          const calls = list
            .filter((event) => event.call_id === null || event.call_id !== approval.call_id)
            .slice(0, maxEarlierCalls);
          if (calls.length === 0) return <p className="muted">The agent reported no earlier calls.</p>;
          return (
            <ul>
              {calls.map((event) => (
                <li key={event.id} className="before-row">
                  <CallVerdict {...event} />
                  <Link {...linkTo.event(event.id)} className="before-call">
                    <Line
                      mono
                      text={`${event.tool_name} ${argumentLine(payloadField(event, 'tool_args'))}`}
                    />
                  </Link>
                  <Time at={event.timestamp} className="muted" />
                </li>
              ))}
            </ul>
          );
        }}
      </QueryResult>
    </section>
  );
}
