// One run: the state of its workflow, a timeline of its calls, the runs that it started, and its signed evidence.
import './runs.css';
import { Link } from '@tanstack/react-router';
import { type JSX, useMemo } from 'react';
import { linkTo } from '../../lib/address.ts';
import type { HostedReply } from '../../lib/hosted.ts';
import { byCursor, useHosted, useHostedPages } from '../../lib/hosted-query.ts';
import type { PagedList } from '../../lib/query.ts';
import { duration, plainJson } from '../../lib/text.ts';
import { CallArguments } from '../../ui/arguments.tsx';
import { DataLink, DataParagraph, NameLink } from '../../ui/names.tsx';
import { Button, Data, Env, Name, Time, Verdict } from '../../ui/parts.tsx';
import { QueryProblem, QueryResult } from '../../ui/query-result.tsx';
import { QuerySection, Section } from '../../ui/section.tsx';
import { Evidence } from './evidence.tsx';
import type { Run } from './run.ts';
import { runSums } from './sums.ts';
import { SessionValues } from './values.tsx';

interface RunPlace {
  readonly agent: string;
  readonly session: string;
}

type Event = HostedReply<'hostedSearchEvents'>['events'][number];

export function RunDetail({
  agent,
  session,
  isPeek = false,
}: RunPlace & {
  /** Without the values, and of the evidence only the verification. */
  readonly isPeek?: boolean;
}): JSX.Element {
  const runsQuery = useHosted('hostedListRuns', {
    query: { agent_id: agent, session_id: session, limit: 1 },
  });
  return (
    <QueryResult query={runsQuery} rows={8}>
      {({ runs: [run] }) =>
        run === undefined ? (
          <p>
            This run does not exist. Its events were purged, or its agent has not reported any yet. Return to
            the list.
          </p>
        ) : (
          <>
            <Evidence agent={agent} session={session} isPeek={isPeek} />
            <Head run={run} />
            {run.workflow && <Workflow agent={agent} session={session} />}
            <Timeline agent={agent} session={session} startedAt={run.started_at} />
            <Children session={session} />
            {!isPeek && <SessionValues agent={agent} session={session} />}
          </>
        )
      }
    </QueryResult>
  );
}

function Head({ run }: { readonly run: Run }): JSX.Element {
  const approval = run.pending_approval;
  return (
    <section className="form">
      <h2 className="panel-name">
        <Data text={run.session_id} max={200} />
      </h2>
      <p>
        <Verdict word={run.status} /> <Env name={run.environment} /> by agent{' '}
        <DataLink link={linkTo.agent(run.agent_id)} text={run.agent_id} max={120} />{' '}
        {run.sample && <span className="tag">sample</span>}
      </p>
      <p className="muted">
        Started <Time at={run.started_at} />, last activity <Time at={run.last_activity_at} />. {runSums(run)}
      </p>
      {run.ruleset_name && (
        <p>
          Ruleset:{' '}
          <Link {...linkTo.ruleset(run.ruleset_name)}>
            <Data text={run.ruleset_name} max={120} /> v{run.ruleset_version}
          </Link>
          .
        </p>
      )}
      {run.parent_session_id && (
        <p>
          Started by the run <Data text={run.parent_session_id} max={120} />.
        </p>
      )}
      {approval && (
        <p className="notice notice-ask">
          <span>
            Pending approval: <Data text={approval.tool_name} max={120} />, requested{' '}
            <Time at={approval.created_at} />. <Link {...linkTo.approval(approval.id)}>Open approval</Link>
          </span>
        </p>
      )}
    </section>
  );
}

function Workflow({ agent, session }: RunPlace): JSX.Element {
  const workflowStateQuery = useHosted('hostedWorkflowState', {
    params: { agent_id: agent },
    query: { session_id: session },
  });
  return (
    <QuerySection title="Workflow state" label="Workflow" query={workflowStateQuery} rows={2}>
      {(state) => {
        const blocked = typeof state.blocked_reason === 'string' ? state.blocked_reason : null;
        return (
          <>
            <p>
              <Data text={state.name} max={120} />, <Time at={state.updated_at} className="muted" />
            </p>
            <ol className="stages">
              {state.completed_stages.map((stage) => (
                <li key={plainJson(stage)} className="stage stage-done">
                  <Verdict word="completed" /> <Data text={plainJson(stage)} max={120} />
                </li>
              ))}
              {state.active_stage !== '' && (
                <li className="stage">
                  <Verdict word="active" /> <Data text={state.active_stage} max={120} />
                </li>
              )}
            </ol>
            {blocked && (
              <p className="tone-deny">
                Cannot continue: <Data text={blocked} mono={false} max={400} />
              </p>
            )}
            {state.snapshot_error && (
              <p className="muted">Part of the workflow state from the agent is not readable.</p>
            )}
          </>
        );
      }}
    </QuerySection>
  );
}

const words = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

function Timeline({ agent, session, startedAt }: RunPlace & { readonly startedAt: string }): JSX.Element {
  const query = { agent_id: agent, session_id: session, limit: 200 };
  const eventsQuery = useHostedPages('hostedSearchEvents', { query }, byCursor);
  const events = useMemo(
    () => (eventsQuery.data?.pages ?? []).flatMap((page) => page.events).reverse(),
    [eventsQuery.data],
  );
  const start = Date.parse(startedAt);
  return (
    <Section title="Timeline" label>
      <QueryResult query={eventsQuery} rows={6}>
        {() => null}
      </QueryResult>
      <EarlierButton list={eventsQuery} label="Show earlier events" />
      <ol className="timeline">
        {events.map((event) => (
          <Step key={event.id} event={event} start={start} />
        ))}
      </ol>
    </Section>
  );
}

function Step({ event, start }: { readonly event: Event; readonly start: number }): JSX.Element {
  const reason = words(event.reason);
  const decidedBy = words(event.decision_name);
  return (
    <li className="step">
      <details>
        <summary>
          <span className="step-time numbers" title={event.timestamp}>
            +{duration(Date.parse(event.timestamp) - start)}
          </span>
          <Verdict word={event.action} />
          <Name text={event.tool_name} />
          {decidedBy && (
            <span className="muted">
              by <Data text={decidedBy} max={60} />
            </span>
          )}
        </summary>
        <DataParagraph text={reason} mono={false} max={600} />
        <CallArguments args={event.tool_args} />
        <p className="muted">
          <Time at={event.timestamp} />, event {event.seq} in order of arrival.{' '}
          <Link {...linkTo.event(event.id)}>View event</Link>
        </p>
      </details>
    </li>
  );
}

/** Loads the next page; absent after the last one. */
const EarlierButton = ({ list, label }: Readonly<{ list: PagedList; label: string }>): JSX.Element | null =>
  list.hasNextPage ? (
    <div>
      <Button busy={list.isFetchingNextPage ?? false} onClick={() => void list.fetchNextPage?.()}>
        {label}
      </Button>
    </div>
  ) : null;

/** Runs whose parent is this session. */
function Children({ session }: { readonly session: string }): JSX.Element | null {
  const query = { parent_session_id: session, limit: 200 };
  const eventsQuery = useHostedPages('hostedSearchEvents', { query }, byCursor);
  const runs = new Map(
    (eventsQuery.data?.pages ?? [])
      .flatMap(({ events }) => events)
      .filter(({ session_id: id }) => id !== null)
      .map((event) => [`${event.agent_id} ${event.session_id}`, event]),
  );
  if (runs.size === 0) return eventsQuery.error ? <QueryProblem query={eventsQuery} /> : null;
  return (
    <Section title="Child runs">
      <ul className="feed">
        {[...runs].map(([key, event]) => (
          <li key={key} className="feed-row">
            <NameLink
              link={linkTo.run(event.agent_id, event.session_id ?? '')}
              text={event.session_id ?? ''}
            />
            <Name text={event.agent_id} />
          </li>
        ))}
      </ul>
      <EarlierButton list={eventsQuery} label="Search earlier calls" />
    </Section>
  );
}
