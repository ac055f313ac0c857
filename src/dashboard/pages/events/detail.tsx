// One event: the call, its decision and contracts, its run, and the event as JSON.
import './events.css';
import { Link } from '@tanstack/react-router';
import { type JSX, type ReactNode, useMemo, useState } from 'react';
import { linkTo } from '../../lib/address.ts';
import type { Reply } from '../../lib/api.ts';
import { useCall, usePages } from '../../lib/query.ts';
import { counted, duration, milliseconds, plainJson, textOrNull } from '../../lib/text.ts';
import { CallArguments } from '../../ui/arguments.tsx';
import { CallVerdict } from '../../ui/call-verdict.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { DataLink, DataParagraph, NameLink } from '../../ui/names.tsx';
import { Button, Data, Env, PreciseTime, Time, TimeWords, Verdict } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { thingPage } from '../../ui/thing-page.tsx';
import { type EventRow, payloadField } from './event-row.ts';
import { type Condition, Conditions, Explain } from './explain.tsx';
import { MakeContract } from './make.tsx';

type Whole = Reply<'getEvent'>;
type Payload = { readonly [name: string]: unknown };

export function EventDetail({
  id,
  isPeek = false,
}: {
  readonly id: string;
  /** Without the form for a contract. */
  readonly isPeek?: boolean;
}): JSX.Element {
  const eventQuery = useCall('getEvent', { params: { event_id: id } });
  return (
    <QueryResult query={eventQuery} rows={8}>
      {(event) => <Detail event={event} isPeek={isPeek} />}
    </QueryResult>
  );
}

/** The conditions of a contract that decided after the call. */
const conditionsOf = (outcome: object): readonly Condition[] => {
  const list = (outcome as { readonly conditions?: unknown }).conditions;
  return Array.isArray(list) ? (list.slice(0, 100) as Condition[]) : [];
};

interface FactProps {
  readonly name: string;
  /** Null: the event has no such fact, and nothing appears. Absent: the children are its content. */
  readonly text?: string | null | undefined;
  readonly max?: number;
  readonly children?: ReactNode;
}

const Fact = ({ name, text, max, children }: FactProps): JSX.Element | null =>
  text === null ? null : (
    <div className="fact">
      <dt>{name}</dt>
      <dd>{children ?? <Data text={text ?? ''} max={max} />}</dd>
    </div>
  );

function Detail({ event, isPeek }: { readonly event: Whole; readonly isPeek: boolean }): JSX.Element {
  const payload = event.payload ?? {};
  const run = textOrNull(payload.run_id);
  return (
    <div className="event-detail">
      <div className="event-head">
        <h2>
          <Data text={event.tool_name} max={200} />
        </h2>
        <span>
          {event.sample && <span className="tag">sample</span>} <CallVerdict {...event} />
        </span>
      </div>
      <DataParagraph className="event-reason" text={textOrNull(payload.reason)} mono={false} max={1_000} />
      <section>
        <h2>Arguments</h2>
        <CallArguments args={payload.tool_args} />
      </section>
      <Explain id={event.id} verdict={event.verdict} mode={event.mode} />
      <Facts event={event} payload={payload} />
      <Contracts payload={payload} />
      <Outcomes outcomes={event.outcomes} />
      <div className="decide-buttons">
        <Link to="/test" search={{ event: event.id } as never} className="button">
          Open in Test
        </Link>
        {!isPeek && <MakeContract event={event} />}
      </div>
      {run && <Run id={run} eventId={event.id} />}
      <Raw event={event} />
    </div>
  );
}

function Facts({ event, payload }: { readonly event: Whole; readonly payload: Payload }): JSX.Element {
  const parent = textOrNull(payload.parent_call_id);
  const contract = textOrNull(payload.decision_name);
  const session = textOrNull(payload.session_id);
  const policy = textOrNull(payload.policy_version);
  const { principal, decision_source: source } = payload;
  return (
    <dl className="facts">
      <Fact name="Agent">
        <DataLink link={linkTo.agent(event.agent_id)} text={event.agent_id} />
      </Fact>
      <Fact name="Environment">
        <Env name={event.env} />
      </Fact>
      <Fact name="Time">
        <PreciseTime at={event.timestamp} />{' '}
        <span className="muted">
          (received <Time at={event.created_at} />)
        </span>
      </Fact>
      {contract && (
        <Fact name="Decided by">
          <DataLink link={linkTo.contract(contract)} text={contract} /> <Tag text={textOrNull(source)} />
        </Fact>
      )}
      <Fact name="Mode" text={event.mode} max={60} />
      <Fact name="Call" text={event.call_id || null} />
      {parent && (
        <Fact name="Parent call">
          <Link to="/explore" search={{ call_id: parent, from: 'now-30d' } as never}>
            <Data text={parent} />
          </Link>
        </Fact>
      )}
      {session && (
        <Fact name="Session">
          <DataLink link={linkTo.run(event.agent_id, session)} text={session} />
        </Fact>
      )}
      <Fact
        name="Principal"
        text={principal !== null && typeof principal === 'object' ? plainJson(principal) : null}
        max={400}
      />
      {policy && <Policy hash={policy} bundle={event.policy_bundle ?? null} />}
      {event.sent_by && (
        <Fact name="Sent by">
          <Data text={event.sent_by} /> <span className="muted">on behalf of the agent</span>
        </Fact>
      )}
      <Fact name="Truncated" text={event.truncated?.join(', ') ?? null} />
    </dl>
  );
}

const Tag = ({ text }: { readonly text: string | null }): JSX.Element | null =>
  text === null ? null : (
    <span className="tag">
      <Data text={text} max={40} />
    </span>
  );

const Policy = ({
  hash,
  bundle,
}: Readonly<{ hash: string; bundle: NonNullable<Whole['policy_bundle']> | null }>): JSX.Element => (
  <Fact name="Policy version">
    {bundle ? (
      <>
        <DataLink link={linkTo.bundle(bundle.name)} text={`${bundle.name} v${bundle.version}`} max={160} />{' '}
        <span className="muted">
          <Data before="(SHA-256 " text={hash} max={24} after=")" />
        </span>
      </>
    ) : (
      <>
        <Data text={hash} /> <span className="muted">not a bundle from this hub</span>
      </>
    )}
  </Fact>
);

/** The later reports about the call. */
function Outcomes({ outcomes }: { readonly outcomes: Whole['outcomes'] }): JSX.Element | null {
  if (outcomes.length === 0) return null;
  return (
    <section>
      <h2>Outcome</h2>
      <ul className="feed">
        {outcomes.map((one) => (
          <li key={`${one.verdict}${one.timestamp}${one.decision_name}`} className="feed-row">
            <span>
              <Verdict word={one.verdict} />{' '}
              {one.duration_ms !== undefined && (
                <span className="muted numbers">in {milliseconds(one.duration_ms)} </span>
              )}
              {one.isolation !== undefined && (
                <span className="muted">{one.isolation === 'none' ? 'not isolated ' : 'isolated '}</span>
              )}
              {(one.reason ?? one.error) && (
                <Data text={one.reason ?? one.error ?? ''} mono={false} max={300} />
              )}
              <Conditions conditions={conditionsOf(one)} />
            </span>
            <Time at={one.timestamp} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Contracts({ payload }: { readonly payload: Payload }): JSX.Element | null {
  const list = [payload.contracts_evaluated, payload.rules_evaluated].find(
    (one) => Array.isArray(one) && one.length > 0,
  ) as readonly Payload[] | undefined;
  if (!list) return null;
  return (
    <section>
      <h2>Evaluated contracts</h2>
      <ul className="feed">
        {list.slice(0, 200).map((one, index) => {
          const fired = one.fired === true || one.passed === false;
          const name = String(one.id ?? one.name ?? '?');
          const message = textOrNull(one.message);
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: the order is the order of evaluation
            <li key={`${name}${index}`} className="feed-row">
              <span>
                <Data text={name} max={120} /> <Tag text={textOrNull(one.type)} />{' '}
                {message && <Data text={message} mono={false} max={200} />}
              </span>
              <span className={fired ? 'tone-deny' : 'muted'}>{fired ? 'fired' : 'passed'}</span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

const callsPerPage = 200;

/** Calls below this depth have its indentation. */
const maxDepth = 3;

/** Nesting depth of each call below its outer calls, by call id. */
function depthsOf(calls: readonly EventRow[]): ReadonlyMap<unknown, number> {
  const depths = new Map<unknown, number>();
  for (const call of calls) {
    const parentDepth = depths.get(payloadField(call, 'parent_call_id')) ?? -1;
    depths.set(call.call_id, Math.min(maxDepth, parentDepth + 1));
  }
  return depths;
}

/** All calls of a run, oldest first, with the time since its start. Inner calls are below their outer call. */
function Run({ id, eventId }: { readonly id: string; readonly eventId: string }): JSX.Element {
  const eventsQuery = usePages('searchEvents', { query: { run_id: id, limit: callsPerPage } });
  const calls = useMemo(
    () => (eventsQuery.data?.pages ?? []).flatMap(({ reply }) => reply).reverse(),
    [eventsQuery.data],
  );
  const began = Date.parse(calls[0]?.timestamp ?? '');
  const depths = useMemo(() => depthsOf(calls), [calls]);
  return (
    <section>
      <h2>Run</h2>
      <p>
        <Link to="/explore" search={{ run_id: id } as never}>
          View run events
        </Link>
      </p>
      <QueryResult query={eventsQuery} rows={4}>
        {() => null}
      </QueryResult>
      {eventsQuery.hasNextPage && (
        <p>
          <Button busy={eventsQuery.isFetchingNextPage} onClick={() => void eventsQuery.fetchNextPage()}>
            Show earlier calls
          </Button>{' '}
          <span className="muted numbers">
            Newest {counted(calls.length, 'call')}. Times are relative to the first of these calls.
          </span>
        </p>
      )}
      <ol className="timeline">
        {calls.map((event) => (
          <li
            key={event.id}
            data-depth={depths.get(event.call_id) ?? 0}
            className="timeline-row"
            aria-current={event.id === eventId ? 'true' : undefined}
          >
            <CallVerdict {...event} />
            <NameLink link={linkTo.event(event.id)} text={event.tool_name} />
            <TimeWords at={event.timestamp} className="muted numbers">
              +{duration(Math.max(0, Date.parse(event.timestamp) - began))}
            </TimeWords>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Raw({ event }: { readonly event: Whole }): JSX.Element {
  const [open, setOpen] = useState(false);
  const text = JSON.stringify(event, null, 2);
  return (
    <section>
      <div className="decide-buttons">
        <Button onClick={() => setOpen(!open)} aria-expanded={open}>
          {open ? 'Hide' : 'Show'} event as JSON
        </Button>
        <CopyButton
          text={text}
          noun="event"
          label="Copy JSON"
          otherwise="Show the event as JSON and copy it."
        />
      </div>
      {open && (
        <pre className="code">
          <Data text={text} max={100_000} />
        </pre>
      )}
    </section>
  );
}

export default thingPage('Event', { to: '/explore', label: 'View all events' }, EventDetail);
