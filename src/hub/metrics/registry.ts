// The Prometheus registry of a node. Counts lie where they arise and are read at the scrape, so that hot paths pay for
// plain numbers alone. No label holds a value that a client can choose.
import { readdir } from 'node:fs/promises';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Live } from '../../http/live/live.ts';
import { durationBuckets, type Metrics, type Series } from '../../http/metrics.ts';
import { channelTypes } from '../../notification/record.ts';
import type { Meters } from '../../shared/meters.ts';
import { snakeKeys } from '../../shared/snake-keys.ts';
import { addInstallation, type InstallationSources } from './installation.ts';
import { addNode, type NodeSources } from './node.ts';
import {
  addCounter,
  addCounterInParts,
  addCounts,
  addGauge,
  addHistogram,
  type DurationSeries,
  type Sample,
  seriesOf,
} from './series.ts';

export interface RegistrySources extends NodeSources, InstallationSources {
  readonly version: string;
  readonly requests: Pick<Metrics, 'series'>;
  readonly live: () => Pick<Live, 'counts'>;
  readonly meters: Meters;
  /** Written log lines by level. */
  readonly logRecords: ReadonlyMap<string, number>;
  /** Records that retention removed on this node, by kind. */
  readonly retentionRemoved: ReadonlyMap<string, number>;
  /** Lines that exports sent from this node, by kind and format with a blank between. */
  readonly exportLines: ReadonlyMap<string, number>;
  /** Spans that reached no collector. */
  readonly lostSpans: () => number;
}

/** Gauges of prom-client with the ending of counters, which promtool refuses. The same by type stay. */
const misnamed = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`);
/** prom-client lists them in one go, which holds the event loop for 10 ms with 10,000 streams. */
const openFiles = 'process_open_fds';

export function createRegistry(sources: RegistrySources): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of [...misnamed, openFiles]) registry.removeSingleMetric(name);
  addGauge(registry, openFiles, 'Number of open file descriptors', async () => {
    const names = await readdir('/proc/self/fd').catch(() => null);
    // One of them is the folder's own. Systems without the folder have no such gauge.
    return names === null ? [] : [{ labels: {}, value: names.length - 1 }];
  });
  const { version, mode } = sources;
  addGauge(registry, 'reeve_build_info', 'Always 1; the labels describe the program', () => [
    { labels: snakeKeys({ version, nodeVersion: process.version, mode }), value: 1 },
  ]);
  addRequests(registry, sources);
  addStreams(registry, sources);
  addEvents(registry, sources.meters);
  addApprovals(registry, sources.meters);
  addRefusals(registry, sources);
  addNode(registry, sources);
  addInstallation(registry, sources);
  return registry;
}

/** Resident memory of the process, by the gauge; null if there is none. */
export async function residentBytes(registry: Registry): Promise<number | null> {
  const reading = await registry.getSingleMetric('process_resident_memory_bytes')?.get();
  return reading?.values[0]?.value ?? null;
}

/** Upper bounds that Prometheus receives, in milliseconds: eleven and an open one, 14 series a route. */
const bounds = durationBuckets.filter((bound) => bound !== 2 && bound !== 5000);

/**
 * Requests of at most 2 ms count with those of at most 5 ms. Requests of at most 5 s count with those of at most 10 s.
 */
function durationsOf({ route, method, buckets, sumMs }: Series): DurationSeries {
  const counts = new Array<number>(bounds.length + 1).fill(0);
  for (const [i, count] of buckets.entries()) {
    const limit = durationBuckets[i] ?? Number.POSITIVE_INFINITY;
    const at = bounds.findIndex((bound) => bound >= limit);
    const place = at < 0 ? bounds.length : at;
    counts[place] = (counts[place] ?? 0) + count;
  }
  return { labels: { route, method }, boundsMs: bounds, counts, sumMs };
}

function* countsOf(allSeries: readonly Series[]): Iterable<readonly Sample[]> {
  for (const { route, method, statuses } of allSeries)
    yield [...statuses].map(([status, value]) => ({ labels: { route, method, status }, value }));
}

function* allDurations(allSeries: readonly Series[]): Iterable<DurationSeries> {
  for (const series of allSeries)
    if (series.method !== 'HEAD' && series.method !== 'OPTIONS') yield durationsOf(series);
}

function addRequests(registry: Registry, { requests }: RegistrySources): void {
  addCounterInParts(registry, 'reeve_http_requests_total', 'Answered requests by declared route', () =>
    countsOf(requests.series()),
  );
  addHistogram(
    registry,
    'reeve_http_request_duration_seconds',
    'Duration of answered requests by declared route',
    // HEAD and OPTIONS would double the series, and cost no more than the GET of the same path.
    () => allDurations(requests.series()),
  );
}

function addStreams(registry: Registry, { live }: RegistrySources): void {
  addGauge(registry, 'reeve_streams', 'Open live streams of this node', () =>
    live()
      .counts()
      .byKind.map(({ kind, transport, api, streams }) => ({
        labels: { kind, transport, api },
        value: streams,
      })),
  );
  addCounter(registry, 'reeve_stream_ends_total', 'Ended live streams by reason', () =>
    Object.entries(live().counts().ended).map(([reason, count]) => ({ labels: { reason }, value: count })),
  );
  addGauge(
    registry,
    'reeve_stream_unsent_bytes',
    'Bytes of frames that wait for connections that take nothing for now',
    () => [{ labels: {}, value: live().counts().unsentBytes }],
  );
}

function addEvents(registry: Registry, meters: Meters): void {
  const { events, eventCommits, decisions, tenantEvents, deployments, pushes } = meters;
  addCounts(registry, 'reeve_events_total', 'Events that agents sent', ['api', 'outcome'], events);
  addHistogram(registry, 'reeve_event_commit_seconds', 'Durable commits of events', () => [
    seriesOf(eventCommits),
  ]);
  addCounts(registry, 'reeve_decisions_total', 'Stored events by verdict', ['env', 'verdict'], decisions);
  if (tenantEvents.series().length > 0) {
    addCounter(registry, 'reeve_tenant_events_total', 'Stored events by tenant', () =>
      tenantEvents.series().map(({ tenant, count }) => ({ labels: { tenant }, value: count })),
    );
  }
  addCounts(
    registry,
    'reeve_deployments_total',
    'Deployments and their ends, by outcome',
    ['env', 'outcome'],
    deployments,
  );
  addHistogram(
    registry,
    'reeve_push_seconds',
    "From the acceptance of a deployment until an agent's socket has it",
    () => [seriesOf(pushes)],
  );
}

function addApprovals(registry: Registry, meters: Meters): void {
  const { approvals, approvalWaits, deliveries } = meters;
  addCounts(registry, 'reeve_approvals_total', 'Ended approvals', ['env', 'outcome'], approvals);
  addHistogram(
    registry,
    'reeve_approval_wait_seconds',
    'From a request until its decision or deadline',
    () => [seriesOf(approvalWaits)],
  );
  addCounter(registry, 'reeve_deliveries_total', 'Attempts of notifications by outcome', () =>
    deliveries.series().map(({ values: [kind, outcome], count }) => ({
      labels: snakeKeys({ channelType: channelTypes[kind], outcome }),
      value: count,
    })),
  );
}

function addRefusals(
  registry: Registry,
  { meters, logRecords, retentionRemoved, exportLines, lostSpans }: RegistrySources,
): void {
  addCounts(registry, 'reeve_limited_total', 'Refusals by limit', ['limit'], meters.limited);
  addCounts(registry, 'reeve_login_failures_total', 'Refused sign-ins', ['method'], meters.loginFailures);
  addCounts(
    registry,
    'reeve_shard_takeovers_total',
    'Shards that this node took, by reason',
    ['reason'],
    meters.takeovers,
  );
  addCounter(registry, 'reeve_export_lines_total', 'Lines that exports by cursor sent', () =>
    [...exportLines].map(([series, value]) => {
      const [kind = '', format = ''] = series.split(' ');
      return { labels: { kind, format }, value };
    }),
  );
  addCounter(registry, 'reeve_spans_lost_total', 'Spans of traces that reached no collector', () => [
    { labels: {}, value: lostSpans() },
  ]);
  addCounter(registry, 'reeve_log_records_total', 'Written log lines by level', () =>
    [...logRecords].map(([level, count]) => ({ labels: { level }, value: count })),
  );
  addCounter(registry, 'reeve_retention_removed_total', 'Records that retention removed, by kind', () =>
    [...retentionRemoved].map(([kind, count]) => ({ labels: { kind }, value: count })),
  );
}
