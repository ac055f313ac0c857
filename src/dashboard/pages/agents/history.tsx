// The history of one agent in the range: deployments, periods out of date, and its runs with their status.
import type { JSX } from 'react';
import { minuteMs } from '../../../shared/duration.ts';
import { linkTo } from '../../lib/address.ts';
import type { Reply } from '../../lib/api.ts';
import { readOn, useCall, useFirstRow } from '../../lib/query.ts';
import { spanOf } from '../../lib/range.ts';
import { useEnv, useFilters } from '../../lib/search.ts';
import { counted, duration } from '../../lib/text.ts';
import { useNow } from '../../lib/ticker.ts';
import {
  envColumn,
  instantColumn,
  nameColumn,
  numberColumn,
  proseColumn,
  wordColumn,
} from '../../ui/columns.tsx';
import { NameLink } from '../../ui/names.tsx';
import { Skeleton } from '../../ui/parts.tsx';
import { QuerySection } from '../../ui/section.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { standingColumns } from '../runs/columns.tsx';
import { useRunsInRange } from '../runs/in-range.tsx';
import type { Run } from '../runs/run.ts';

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
  instantColumn('when', 'Time', (event) => event.timestamp, 1.6),
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
];

/** Deployments that the hub looks at, at most. */
const maxDeployments = 200;

export function AgentHistory({ id }: { readonly id: string }): JSX.Element {
  const [search] = useFilters();
  const span = spanOf(search, useNow(minuteMs));
  const env = useEnv();
  const input = { params: { agent_id: id }, query: { limit: maxDeployments } };
  const agentHistoryQuery = useCall('agentHistory', input);
  const changesOf = ({ events }: Reply<'agentHistory'>): readonly Change[] =>
    events.filter(({ timestamp, environment }) => {
      const at = Date.parse(timestamp);
      return at >= span.from && at < span.until && (!env || environment === null || environment === env);
    });
  const isCut = ({ events }: Reply<'agentHistory'>): boolean =>
    events.filter(({ type }) => type === 'deployment').length >= maxDeployments;
  return (
    <QuerySection
      title="Deployment history"
      label="History"
      query={agentHistoryQuery}
      rows={3}
      none={(history) =>
        changesOf(history).length === 0 &&
        (isCut(history)
          ? `No deployments in this range among the newest ${maxDeployments}. Changes has the others.`
          : 'No deployments in this range. Deployments for this agent appear here.')
      }
    >
      {(history) => (
        <Table
          name="changes of an agent"
          sortAs="changes_sort"
          rows={changesOf(history)}
          columns={changeColumns}
          keyOf={(event) => [event.type, event.timestamp, event.environment, bundleOf(event)].join(' ')}
          bar={`${counted(changesOf(history).length, 'change')} in this range${isCut(history) ? `, from the newest ${maxDeployments} deployments` : ''}`}
        />
      )}
    </QuerySection>
  );
}

/** The runs of an agent that were active in the range. Pages up to the first one load by themselves. */
export function useAgentRuns(id: string) {
  const runs = useRunsInRange({ agent_id: id }, useEnv());
  useFirstRow(runs.query, runs.rows.length > 0);
  const none =
    runs.rows.length === 0 && (runs.query.hasNextPage ? <Skeleton rows={2} /> : (runs.cutOff ?? noRuns));
  return { ...runs, none };
}

const runColumns: readonly Column<Run>[] = [
  {
    ...nameColumn<Run>('session', 'Session', (run) => run.session_id, 1.8),
    cell: (run) => <NameLink link={linkTo.run(run.agent_id, run.session_id)} text={run.session_id} />,
  },
  ...standingColumns,
];

const noRuns = 'No sessions in this range. Calls with a session ID appear here.';

export function AgentRuns({ id }: { readonly id: string }): JSX.Element {
  const { query, rows, bar, none } = useAgentRuns(id);
  return (
    <QuerySection title="Sessions and runs" label="Runs" query={query} rows={2} none={() => none}>
      {() => (
        <Table
          name="sessions of an agent"
          sortAs="sessions_sort"
          rows={rows}
          columns={runColumns}
          keyOf={(run) => run.session_id}
          onEnd={() => readOn(query)}
          bar={bar}
        />
      )}
    </QuerySection>
  );
}
