// Metrics of the answering node since its start: requests and durations by route, streams and the reasons for their
// ends, queues, event loop.
import { type JSX, type ReactNode, useEffect, useState } from 'react';
import { quantile } from '../../../shared/quantile.ts';
import type { Reply } from '../../lib/api.ts';
import { useCall } from '../../lib/query.ts';
import { count, counted } from '../../lib/text.ts';
import { countColumn, nameColumn, numberColumn } from '../../ui/columns.tsx';
import { Data, Time } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { bytes, refetchMs } from './figures.ts';

type Figures = Reply<'healthMetrics'>;
type Route = Figures['routes'][number];

const statusesFrom = ({ statuses }: Route, first: number, last: number): number =>
  Object.entries(statuses).reduce((sum, [name, requests]) => {
    const status = Number(name.replace('4xx', '400'));
    return status >= first && status <= last ? sum + requests : sum;
  }, 0);

const within = (ms: number): string => (Number.isFinite(ms) ? `≤ ${count(ms)}` : 'more');

const columnsOf = (bounds: readonly number[]): readonly Column<Route>[] => [
  nameColumn('route', 'Route', (row) => row.route, 3),
  countColumn('requests', 'Requests', (row) => row.requests),
  countColumn('refused', 'Refused (4xx)', (row) => statusesFrom(row, 400, 499), 1.2),
  {
    ...countColumn<Route>('failed', 'Failed (5xx)', (row) => statusesFrom(row, 500, 599), 1.2),
    cell: (row) => {
      const failed = statusesFrom(row, 500, 599);
      return <span className={failed > 0 ? 'tone-deny' : ''}>{count(failed)}</span>;
    },
  },
  numberColumn((ms) => ms.toFixed(1))('mean', 'Mean (ms)', (row) => row.sum_ms / Math.max(1, row.requests)),
  numberColumn(within)('p95', '95th percentile (ms)', (row) => quantile(bounds, row.buckets, 0.95), 1.1),
  numberColumn(bytes)('bytes', 'Sent', (row) => row.bytes),
];

export function Metrics(): JSX.Element {
  const healthMetricsQuery = useCall('healthMetrics', {}, { refetchMs });
  return (
    <QueryResult query={healthMetricsQuery}>
      {(data) => (
        <section className="card" aria-label="Node metrics">
          <h2>Metrics since start</h2>
          <p className="muted">
            <Data text={data.node} max={60} />, started <Time at={data.started_at} />. Other nodes have their
            own metrics.
          </p>
          <dl className="health">
            <IngestRow stored={data.events_stored} at={healthMetricsQuery.dataUpdatedAt} />
            <HealthRows rows={rowsOf(data)} />
          </dl>
          <Table
            name="routes"
            row="route"
            sortAs="routes_sort"
            rows={data.routes}
            columns={columnsOf(data.buckets_ms)}
            keyOf={(row) => row.route}
          />
        </section>
      )}
    </QueryResult>
  );
}

export type HealthRow = readonly [name: string, value: ReactNode, isOk: boolean];

export const HealthRows = ({ rows }: { readonly rows: readonly HealthRow[] }): JSX.Element => (
  <>
    {rows.map(([name, value, isOk]) => (
      <div key={name} className="health-row">
        <dt>{name}</dt>
        <dd className={isOk ? '' : 'tone-ask'}>{value}</dd>
      </div>
    ))}
  </>
);

interface Poll {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly value: number;
}

/** Rise of a count per second, between the last two polls; null before the second. */
function useRate(value: number, at: number): number | null {
  const [polls, setPolls] = useState<readonly Poll[]>([]);
  useEffect(() => setPolls((past) => [...past.slice(-1), { at, value }]), [at, value]);
  const [before, last] = polls;
  if (!before || !last || last.at <= before.at) return null;
  return Math.max(0, (last.value - before.value) / ((last.at - before.at) / 1000));
}

function IngestRow({ stored, at }: { readonly stored: number; readonly at: number }): JSX.Element {
  const rate = useRate(stored, at);
  const perSecond = rate === null ? '' : `, ${count(Math.round(rate))} a second now`;
  return <HealthRows rows={[['Events', `${count(stored)} stored since start${perSecond}`, true]]} />;
}

function rowsOf({ streams, queues, installation }: Figures): readonly HealthRow[] {
  const ended = Object.entries(streams.ended)
    .filter(([, times]) => times > 0)
    .map(([why, times]) => `${count(times)} ${why.replaceAll('_', ' ')}`);
  return [
    [
      'Open streams',
      `${counted(streams.agents, 'agent stream')}, ${counted(streams.dashboards, 'console')}, ${streams.blocked} slow`,
      streams.blocked === 0,
    ],
    ['Closed streams', ended.length === 0 ? 'none' : ended.join(', '), true],
    [
      'Queues',
      queues.messages === 0 && queues.jobs === 0
        ? 'empty'
        : `${counted(queues.messages, 'message')}, the oldest for ${Math.round(queues.oldest_message_ms)} ms; ` +
          `${counted(queues.jobs, 'job')}`,
      queues.messages === 0,
    ],
    [
      'Dead jobs',
      installation.dead_jobs === 0 ? 'none' : counted(installation.dead_jobs, 'background job'),
      installation.dead_jobs === 0,
    ],
    ...(installation.store_bytes === null
      ? []
      : ([['Database', bytes(installation.store_bytes), true]] as const)),
    [
      'Last backup',
      installation.last_backup_at === null ? (
        'no file by reeve backup'
      ) : (
        <Time key="backup" at={installation.last_backup_at} />
      ),
      true,
    ],
    [
      'Audit chain',
      installation.unsigned_since === null ? (
        'every entry is signed'
      ) : (
        <>
          unsigned entries since <Time at={installation.unsigned_since} />
        </>
      ),
      true,
    ],
  ];
}
