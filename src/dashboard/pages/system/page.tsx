// The system page: problems with their remedies; lag, store, disk, bus and workers. Admins also see the last 24 hours,
// the nodes with their shards, and the queues.
import { type JSX, useMemo } from 'react';
import type { Reply } from '../../lib/api.ts';
import { useSignedIn } from '../../lib/me.ts';
import { useCall } from '../../lib/query.ts';
import { count, counted } from '../../lib/text.ts';
import { countColumn, timeColumn } from '../../ui/columns.tsx';
import { Name, PageHead } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Course } from './course.tsx';
import { bytes, lagBoundMs, refetchMs } from './figures.ts';
import { type HealthRow, HealthRows, Metrics } from './metrics.tsx';
import './system.css';

export default function System(): JSX.Element {
  const me = useSignedIn();
  const details = useCall('healthDetails', {}, { refetchMs });
  return (
    <div className="page">
      <PageHead title="System" summary={details.data && summaryOf(details.data)} />
      <QueryResult query={details}>{(data) => <Figures details={data} />}</QueryResult>
      {me.is_admin ? (
        <>
          <Course reserveBytes={details.data?.storage.reserve_bytes ?? null} />
          <Cluster />
          <Metrics />
        </>
      ) : (
        <p className="muted">Only admins can view nodes, shards and metrics.</p>
      )}
    </div>
  );
}

type Details = Reply<'healthDetails'>;

/** State of the disk: a problem, and the remedy. */
const storageStates: { readonly [state: string]: readonly [problem: string, remedy: string] } = {
  low: ['disk space is low', 'Free disk space, or purge old events.'],
  reserved: [
    'disk space is nearly exhausted, so only decisions are stored',
    'Free disk space, or purge old events.',
  ],
  full: ['the disk is full, so writes fail', 'Free disk space.'],
  failing: ['writes to the disk fail', 'Check the disk and its permissions.'],
  damaged: ['the store is damaged', 'Restore a backup.'],
};

function summaryOf({ database, cache, storage: { state } }: Details): string {
  const problems = [
    ...(database.connected ? [] : [['the store is not responding', 'Start it, or check the network.']]),
    ...(cache.connected
      ? []
      : [['the key-value store is not responding', 'Start it, or check the network.']]),
    ...(state === 'ok' ? [] : [storageStates[state] ?? [state, 'Check the disk.']]),
  ];
  return problems.length === 0
    ? 'The hub is healthy.'
    : `Action needed: ${problems.map(([problem, remedy]) => `${problem}. ${remedy}`).join(' ')}`;
}

const took = (ms: number | null): string =>
  ms === null ? 'not responding' : `responds in ${ms < 1 ? '< 1' : Math.round(ms)} ms`;

function Figures({ details }: { readonly details: Details }): JSX.Element {
  const { is_admin: enabled } = useSignedIn();
  const loop = useCall('healthMetrics', {}, { refetchMs, enabled }).data?.event_loop;
  const rows: readonly HealthRow[] = [
    ...(loop
      ? ([
          [
            'Lag',
            `event loop: mean ${loop.mean_ms.toFixed(1)} ms, 99th percentile ${loop.p99_ms.toFixed(1)} ms, maximum ${loop.max_ms.toFixed(0)} ms`,
            loop.p99_ms < lagBoundMs,
          ],
        ] as const)
      : []),
    ['Store', took(details.database.latency_ms), details.database.connected],
    [
      'Disk',
      `${storageStates[details.storage.state]?.[0] ?? details.storage.state}${details.storage.free_bytes === null ? '' : `, ${bytes(details.storage.free_bytes)} free`}`,
      details.storage.state === 'ok',
    ],
    ['Key-value store', took(details.cache.latency_ms), details.cache.connected],
    ['Workers', `${details.workers} running`, true],
    ['Connected agents', count(details.connected_agents), true],
    [
      'Address',
      details.base_url_https ? 'HTTPS, secure cookies' : 'HTTP, for local use only',
      details.base_url_https,
    ],
    ['Sign-in', details.auth_provider, true],
    ['Version', details.version, true],
  ];
  return (
    <section className="card" aria-label="Health">
      <dl className="health">
        <HealthRows rows={rows} />
      </dl>
    </section>
  );
}

function Cluster(): JSX.Element {
  const healthClusterQuery = useCall('healthCluster', {}, { refetchMs });
  return (
    <QueryResult query={healthClusterQuery}>
      {(data) => (
        <section className="card" aria-label="Nodes and shards">
          <h2>
            {data.mode === 'embedded' ? 'Single process' : counted(data.nodes.length, 'node')},{' '}
            {count(data.shards.owned)} of {count(data.shards.total)} shards owned
          </h2>
          <p className={data.lag.waiting > 0 ? 'tone-ask' : 'muted'}>
            {data.lag.waiting === 0
              ? 'No queued messages.'
              : `${counted(data.lag.waiting, 'queued message')}, the oldest for ${Math.round(data.lag.oldest_ms)} ms.`}{' '}
            Broadcast delay: {Math.round(data.broadcast.lag_ms)} ms.
          </p>
          <Table
            name="nodes"
            row="node"
            sortAs="nodes_sort"
            rows={data.nodes}
            columns={nodeColumns(data)}
            keyOf={(node) => node.node}
          />
          <ShardMap cluster={data} />
        </section>
      )}
    </QueryResult>
  );
}

type Node = Reply<'healthCluster'>['nodes'][number];

/** Number of colours for nodes. They repeat. */
const colours = 6;

const nodeColumns = ({ nodes, node: own }: Reply<'healthCluster'>): readonly Column<Node>[] => [
  {
    key: 'node',
    label: 'Node',
    width: 3,
    sort: (node) => node.node,
    cell: (node) => (
      <span className="node-name">
        <span className={`shard shard-${nodes.indexOf(node) % colours}`} aria-hidden="true" />
        <Name text={node.node} />
        {node.node === own && <span className="muted">(this node)</span>}
      </span>
    ),
  },
  { key: 'version', label: 'Version', sort: (node) => node.version, cell: (node) => node.version },
  countColumn('agents', 'Connected agents', (node) => node.connected_agents, 1.4),
  countColumn('shards', 'Shards', (node) => node.shard_count),
  timeColumn('started', 'Started', (node) => node.started_at, 1.2),
];

/** The owners of shards as a grid. The text above contains the same. */
function ShardMap({ cluster }: { readonly cluster: Reply<'healthCluster'> }): JSX.Element {
  const owners = useMemo(() => {
    const map = new Map<number, number>();
    cluster.nodes.forEach((node, index) => {
      for (const shard of node.shards) map.set(shard, index);
    });
    return map;
  }, [cluster.nodes]);
  return (
    <div
      className="shards"
      role="img"
      aria-label={`${cluster.shards.owned} of ${cluster.shards.total} shards owned`}
    >
      {Array.from({ length: cluster.shards.total }, (_, shard) => shard).map((shard) => {
        const owner = owners.get(shard);
        return (
          <span
            key={shard}
            className={owner === undefined ? 'shard shard-free' : `shard shard-${owner % colours}`}
            title={`shard ${shard}: ${owner === undefined ? 'no owner' : (cluster.nodes[owner]?.node ?? '')}`}
          />
        );
      })}
    </div>
  );
}
