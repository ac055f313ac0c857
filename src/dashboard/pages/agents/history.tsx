// The history of one agent: deployments, periods out of date, and its runs with their status.
import { Link } from '@tanstack/react-router';
import { type JSX, useMemo, useState } from 'react';
import { linkTo } from '../../lib/address.ts';
import type { Reply } from '../../lib/api.ts';
import { useHosted } from '../../lib/hosted-query.ts';
import { useCall } from '../../lib/query.ts';
import { count, counted, duration, visible } from '../../lib/text.ts';
import {
  countColumn,
  envColumn,
  nameColumn,
  numberColumn,
  proseColumn,
  timeColumn,
  verdictColumn,
  wordColumn,
} from '../../ui/columns.tsx';
import { NameLink } from '../../ui/names.tsx';
import { Button } from '../../ui/parts.tsx';
import { QuerySection } from '../../ui/section.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import type { Run } from '../runs/run.ts';
import { SessionValues } from '../runs/values.tsx';

const words = {
  deployment: 'Deployed',
  drift_detected: 'Became out of date',
  drift_resolved: 'Became current',
  first_seen: 'First seen',
} as const;

type Change = Reply<'agentHistory'>['events'][number];

const bundleOf = ({ bundle_name: name, bundle_version: version }: Change): string =>
  name === null ? '' : `${name}${version === null ? '' : ` v${version}`}`;

const changeColumns: readonly Column<Change>[] = [
  wordColumn('what', 'Change', (event) => words[event.type], 1.8),
  nameColumn('bundle', 'Bundle', bundleOf, 1.5),
  envColumn('env', 'Environment', (event) => event.environment, 1.5),
  proseColumn('by', 'Deployed by', (event) => event.deployed_by, 1.5),
  numberColumn((seconds) => duration(seconds * 1000))(
    'drift',
    'Out of date for',
    (event) => event.drift_duration_seconds,
    1.3,
  ),
  timeColumn('when', 'Time', (event) => event.timestamp, 1.2),
];

export function AgentHistory({ id }: { readonly id: string }): JSX.Element {
  const agentHistoryQuery = useCall('agentHistory', { params: { agent_id: id }, query: { limit: 20 } });
  return (
    <QuerySection
      title="Deployment history"
      label="History"
      query={agentHistoryQuery}
      rows={3}
      none={({ events }) =>
        events.length === 0 && 'No deployments yet. Deployments for this agent appear here.'
      }
    >
      {({ events }) => (
        <Table
          name="changes of an agent"
          sortAs="changes_sort"
          rows={events}
          columns={changeColumns}
          keyOf={(event) => [event.type, event.timestamp, event.environment, bundleOf(event)].join(' ')}
          bar={counted(events.length, 'change')}
        />
      )}
    </QuerySection>
  );
}

const maxRuns = 10;

export function AgentRuns({ id }: { readonly id: string }): JSX.Element {
  const runsQuery = useHosted('hostedListRuns', { query: { agent_id: id, limit: maxRuns } });
  const [valued, setValued] = useState<string | null>(null);
  const columns = useMemo(
    (): readonly Column<Run>[] => [
      {
        ...nameColumn<Run>('session', 'Session', (run) => run.session_id, 1.8),
        cell: (run) => <NameLink link={linkTo.run(run.agent_id, run.session_id)} text={run.session_id} />,
      },
      verdictColumn('status', 'Status', (run) => run.status, 1.5),
      countColumn('calls', 'Calls', (run) => run.counts.calls, 0.8),
      countColumn('blocked', 'Denied', (run) => run.counts.blocked, 0.9),
      timeColumn('last', 'Last activity', (run) => run.last_activity_at, 1.3),
      {
        key: 'values',
        label: 'Values',
        width: 1.3,
        text: () => '',
        cell: ({ session_id: session }) => (
          <Button
            kind="quiet"
            aria-expanded={valued === session}
            aria-label={`${valued === session ? 'Hide values' : 'Values'} of ${visible(session).slice(0, 80)}`}
            onClick={() => setValued(valued === session ? null : session)}
          >
            {valued === session ? 'Hide' : 'Values'}
          </Button>
        ),
      },
    ],
    [valued],
  );
  return (
    <QuerySection
      title="Sessions and runs"
      label="Runs"
      query={runsQuery}
      rows={2}
      none={({ runs }) => runs.length === 0 && 'No sessions yet. Calls with a session ID appear here.'}
    >
      {({ runs, total }) => (
        <>
          <Table
            name="sessions of an agent"
            sortAs="sessions_sort"
            rows={runs}
            columns={columns}
            keyOf={(run) => run.session_id}
            chosen={valued ?? undefined}
            bar={
              total > maxRuns ? (
                <Link to="/runs" search={{ agent_id: id } as never}>
                  View all {count(total)} runs
                </Link>
              ) : (
                <span className="muted">{counted(total, 'session')}</span>
              )
            }
          />
          {valued !== null && <SessionValues key={valued} agent={id} session={valued} />}
        </>
      )}
    </QuerySection>
  );
}
