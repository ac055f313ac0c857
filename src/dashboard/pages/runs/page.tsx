// Runs: what each session of an agent is doing: its status, what it waits for, its counts; one run in a panel, call by call.

import { type JSX, useState } from 'react';
import type { z } from 'zod';
import type { decisionEvent } from '../../../api/hosted/events.ts';
import type { runRow } from '../../../api/hosted/runs.ts';
import { useHosted, useHostedLive } from '../../lib/hosted.ts';
import { useFilters } from '../../lib/search.ts';
import { count, counted } from '../../lib/text.ts';
import { CallArguments } from '../../ui/arguments.tsx';
import { Dialog } from '../../ui/overlay.tsx';
import { Answer, Button, Data, Empty, Env, Name, PageHead, Select, Time, Verdict } from '../../ui/parts.tsx';
import { type Column, Table } from '../../ui/table.tsx';

type Run = z.output<typeof runRow>;
type Event = z.output<typeof decisionEvent>;
interface Runs {
  readonly runs: readonly Run[];
  readonly total: number;
  readonly has_more: boolean;
}

const pageSize = 200;
const statuses = ['active', 'approval_pending', 'blocked', 'completed', 'stale'] as const;
const words: { readonly [status: string]: readonly [tone: string, word: string] } = {
  active: ['tone-allow', 'active'],
  approval_pending: ['tone-ask', 'waits for a person'],
  blocked: ['tone-deny', 'blocked'],
  completed: ['muted', 'completed'],
  stale: ['tone-unknown', 'stale'],
};

const keyOf = (run: Run): string => JSON.stringify([run.agent_id, run.session_id]);

const Status = ({ of }: { readonly of: string }): JSX.Element => {
  const [tone, word] = words[of] ?? ['muted', of];
  return <span className={tone}>● {word}</span>;
};

const columns: readonly Column<Run>[] = [
  {
    key: 'session',
    label: 'Session',
    width: 1.8,
    sort: (run) => run.session_id,
    cell: (run) => <Name text={run.session_id} />,
  },
  {
    key: 'agent',
    label: 'Agent',
    width: 1.6,
    sort: (run) => run.agent_id,
    cell: (run) => <Name text={run.agent_id} />,
  },
  {
    key: 'status',
    label: 'Status',
    width: 1.6,
    sort: (run) => run.status,
    cell: (run) => <Status of={run.status} />,
  },
  {
    key: 'env',
    label: 'Environment',
    width: 1.2,
    sort: (run) => run.environment,
    cell: (run) => <Env of={run.environment} />,
  },
  {
    key: 'calls',
    label: 'Calls',
    number: true,
    width: 0.8,
    sort: (run) => run.counts.calls,
    cell: (run) => count(run.counts.calls),
  },
  {
    key: 'blocked',
    label: 'Blocked',
    number: true,
    width: 0.9,
    sort: (run) => run.counts.blocked,
    cell: (run) => count(run.counts.blocked),
  },
  {
    key: 'asked',
    label: 'Asked',
    number: true,
    width: 0.8,
    sort: (run) => run.counts.asked,
    cell: (run) => count(run.counts.asked),
  },
  {
    key: 'last',
    label: 'Last call',
    width: 1.6,
    sort: (run) => run.last_event?.tool_name ?? '',
    cell: (run) => <Name text={run.last_event?.tool_name ?? '–'} />,
  },
  {
    key: 'at',
    label: 'Active',
    width: 1.1,
    sort: (run) => Date.parse(run.last_activity_at),
    text: (run) => run.last_activity_at,
    cell: (run) => <Time at={run.last_activity_at} />,
  },
];

export default function RunsPage(): JSX.Element {
  const [{ status = '', env, id }, change] = useFilters();
  const [offset, setOffset] = useState(0);
  const found = useHosted<Runs>('/v1/runs', { limit: pageSize, offset, status });
  useHostedLive('/v1/runs', ['event_created', 'approval_created', 'approval_decided', 'approval_timeout']);
  const rows = (found.data?.runs ?? []).filter((run) => !env || run.environment === env);
  return (
    <div className="page">
      <PageHead
        title="Runs"
        says={found.data && `${counted(found.data.total, 'run')} ${status ? 'fit' : 'are known'}.`}
      />
      <div className="filter-bar">
        <Select
          compact
          label="Status"
          value={status}
          options={[['', 'Any status'], ...statuses.map((one) => [one, words[one]?.[1] ?? one] as const)]}
          onValue={(next) => {
            setOffset(0);
            change({ status: next });
          }}
        />
        <span className="grow" />
        <Button disabled={offset === 0} onClick={() => setOffset(Math.max(0, offset - pageSize))}>
          Newer
        </Button>
        <Button disabled={!found.data?.has_more} onClick={() => setOffset(offset + pageSize)}>
          Older
        </Button>
      </div>
      <Answer of={found}>
        {() =>
          rows.length === 0 ? (
            <Empty title="No run fits">
              <p>
                A run is the calls of one session of an agent. Agents that send a session id appear here by
                themselves.
              </p>
            </Empty>
          ) : (
            <Table
              name="runs"
              rows={rows}
              columns={columns}
              keyOf={keyOf}
              chosen={id}
              onOpen={(run) => change({ id: keyOf(run) }, true)}
            />
          )
        }
      </Answer>
      <Dialog
        title="Run"
        shape="panel"
        open={id !== undefined}
        onClose={() => change({ id: undefined }, true)}
      >
        {id !== undefined && <One key={id} id={id} known={rows.find((run) => keyOf(run) === id)} />}
      </Dialog>
    </div>
  );
}

function One({ id, known }: { readonly id: string; readonly known: Run | undefined }): JSX.Element {
  let names: readonly unknown[] = [];
  try {
    names = JSON.parse(id);
  } catch {
    // An address of somebody's own making: nothing has this name.
  }
  const [agent, session] = [String(names[0] ?? ''), String(names[1] ?? '')];
  const found = useHosted<Runs>(
    '/v1/runs',
    { agent_id: agent, session_id: session },
    { enabled: known === undefined },
  );
  const events = useHosted<{ readonly events: readonly Event[]; readonly has_more: boolean }>('/v1/events', {
    agent_id: agent,
    session_id: session,
    limit: 500,
  });
  useHostedLive('/v1/events', ['event_created']);
  const run = known ?? found.data?.runs[0];
  return (
    <>
      <h3>
        <Data text={session} />
      </h3>
      <p className="muted">
        of the agent <Data text={agent} max={120} />
      </p>
      {run && <Facts of={run} />}
      <h3>Call by call</h3>
      <Answer of={events} rows={6}>
        {({ events: list, has_more: more }) => (
          <ol className="feed">
            {more && <li className="muted">The newest {list.length} calls</li>}
            {[...list].reverse().map((event) => (
              <Call key={String(event.id)} of={event} />
            ))}
          </ol>
        )}
      </Answer>
    </>
  );
}

function Facts({ of: run }: { readonly of: Run }): JSX.Element {
  const { workflow } = run;
  const stages = workflow && !('_truncated' in workflow) ? workflow : null;
  return (
    <>
      <p>
        <Status of={run.status} /> in <Env of={run.environment} />, began <Time at={run.started_at} />, active{' '}
        <Time at={run.last_activity_at} />
      </p>
      <p className="numbers">
        {counted(run.counts.calls, 'call')}: {count(run.counts.allowed)} allowed, {count(run.counts.blocked)}{' '}
        blocked, {count(run.counts.asked)} asked, {count(run.counts.failed)} failed.
      </p>
      {run.ruleset_name && (
        <p>
          By the ruleset <Data text={run.ruleset_name} max={120} /> v{run.ruleset_version ?? '?'}
        </p>
      )}
      {run.pending_approval && (
        <div className="notice notice-ask">
          <p>
            Waits for a person: <Data text={run.pending_approval.tool_name} max={120} />.{' '}
            <a href={`/dashboard/approvals?id=${run.pending_approval.id}`}>Decide it</a>
          </p>
        </div>
      )}
      {stages && (
        <p>
          Workflow <Data text={stages.name} max={80} />:{' '}
          {stages.completed_stages.map((stage) => `✓ ${stage}`).join(', ')} now{' '}
          <strong>
            <Data text={stages.active_stage} max={80} />
          </strong>
          {stages.blocked_reason && (
            <>
              , blocked: <Data text={stages.blocked_reason} mono={false} max={200} />
            </>
          )}
        </p>
      )}
    </>
  );
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function Call({ of }: { readonly of: Event }): JSX.Element {
  const all = of as { readonly [name: string]: unknown };
  return (
    <li>
      <details>
        <summary className="feed-row">
          <span>
            <Verdict of={of.decision} /> <Data text={textOf(all.tool_name)} max={120} />{' '}
            {textOf(all.decision_name) && <span className="tag">{textOf(all.decision_name)}</span>}
          </span>
          <Time at={textOf(all.timestamp) || of.received_at} className="muted" />
        </summary>
        {textOf(all.reason) && (
          <p>
            <Data text={textOf(all.reason)} mono={false} max={400} />
          </p>
        )}
        <CallArguments of={all.tool_args} />
      </details>
    </li>
  );
}
