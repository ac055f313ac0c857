// The Prometheus registry of a node. Counts lie where they arise and are read at the scrape, so that hot paths pay for
// plain numbers alone. No label holds a value that a client can choose.
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Live } from '../../http/live/live.ts';
import type { Metrics } from '../../http/metrics.ts';
import { type Clock, pause } from '../../shared/ports/clock.ts';
import type { ClusterState, NodeHealth } from '../../shared/ports/node-health.ts';
import { fails } from '../../shared/storage.ts';
import { httpDurations } from './http-durations.ts';

export interface RegistrySources {
  readonly clock: Pick<Clock, 'after'>;
  readonly version: string;
  readonly mode: 'embedded' | 'cluster';
  readonly requests: Pick<Metrics, 'series'>;
  readonly live: () => Pick<Live, 'counts'>;
  readonly health: Pick<NodeHealth, 'store' | 'keyValue' | 'storage' | 'cluster'>;
  /** Written log lines by level. */
  readonly logRecords: ReadonlyMap<string, number>;
  /** Records that retention removed on this node, by kind. */
  readonly retentionRemoved: ReadonlyMap<string, number>;
  /** Lines that exports sent from this node, by kind and format with a blank between. */
  readonly exportLines: ReadonlyMap<string, number>;
  /** Spans that reached no collector. */
  readonly lostSpans: () => number;
}

export function createRegistry(sources: RegistrySources): Registry {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'reeve_build_info',
    help: 'Always 1; the labels describe the program',
    labelNames: ['version', 'node_version', 'mode'],
    registers,
  }).set({ version: sources.version, node_version: process.version, mode: sources.mode }, 1);
  new Counter({
    name: 'reeve_log_records_total',
    help: 'Written log lines by level',
    labelNames: ['level'],
    registers,
    collect() {
      this.reset();
      for (const [level, count] of sources.logRecords) this.inc({ level }, count);
    },
  });
  new Counter({
    name: 'reeve_retention_removed_total',
    help: 'Records that retention removed, by kind',
    labelNames: ['kind'],
    registers,
    collect() {
      this.reset();
      for (const [kind, count] of sources.retentionRemoved) this.inc({ kind }, count);
    },
  });
  new Counter({
    name: 'reeve_export_lines_total',
    help: 'Lines that exports by cursor sent',
    labelNames: ['kind', 'format'],
    registers,
    collect() {
      this.reset();
      for (const [series, count] of sources.exportLines) {
        const [kind = '', format = ''] = series.split(' ');
        this.inc({ kind, format }, count);
      }
    },
  });
  new Counter({
    name: 'reeve_spans_lost_total',
    help: 'Spans of traces that reached no collector',
    registers,
    collect() {
      this.reset();
      this.inc(sources.lostSpans());
    },
  });
  addRequests(registry, sources);
  addStreams(registry, sources);
  addNode(registry, sources);
  return registry;
}

function addRequests(registry: Registry, { requests }: RegistrySources): void {
  new Counter({
    name: 'reeve_http_requests_total',
    help: 'Answered requests by declared route',
    labelNames: ['route', 'method', 'status'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { route, method, statuses } of requests.series()) {
        for (const [status, count] of statuses) this.inc({ route, method, status: String(status) }, count);
      }
    },
  });
  httpDurations(registry, requests);
}

function addStreams(registry: Registry, { live }: RegistrySources): void {
  const registers = [registry];
  new Gauge({
    name: 'reeve_streams',
    help: 'Open live streams of this node',
    labelNames: ['kind', 'transport', 'api'],
    registers,
    collect() {
      this.reset();
      for (const { kind, transport, api, streams } of live().counts().byKind) {
        this.set({ kind, transport, api }, streams);
      }
    },
  });
  new Counter({
    name: 'reeve_stream_ends_total',
    help: 'Ended live streams by reason',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset();
      for (const [reason, count] of Object.entries(live().counts().ended)) this.inc({ reason }, count);
    },
  });
}

/** Until a dependency that does not answer counts as away: a scrape must not wait for it. */
const answerMs = 2_000;

/** What it answers in time; null when it does not. */
const inTime = <T>(clock: Pick<Clock, 'after'>, answer: Promise<T>): Promise<T | null> =>
  Promise.race([answer.catch(() => null), pause(clock, answerMs).then(() => null)]);

function addNode(registry: Registry, { health, mode, clock }: RegistrySources): void {
  const registers = [registry];
  let asked: Promise<ClusterState | null> | null = null;
  /** Asked once for the gauges of one scrape. */
  const clusterState = (): Promise<ClusterState | null> => {
    asked ??= inTime(clock, health.cluster()).finally(() => {
      asked = null;
    });
    return asked;
  };
  new Gauge({
    name: 'reeve_shards',
    help: 'Shards that this node owns; NaN if the bus does not answer',
    registers,
    async collect() {
      const state = await clusterState();
      const own = state?.nodes.find(({ node }) => node === state.node);
      this.set(state ? (own?.shards.length ?? 0) : Number.NaN);
    },
  });
  new Gauge({
    name: 'reeve_bus_lag_seconds',
    help: 'Age of the oldest message that waits for an actor of this node; NaN if the bus does not answer',
    registers,
    async collect() {
      const state = await clusterState();
      this.set(state ? Math.max(0, ...state.lag.map(({ oldestMs }) => oldestMs)) / 1000 : Number.NaN);
    },
  });
  new Gauge({
    name: 'reeve_dependency_up',
    help: '1 if the dependency answers, else 0',
    labelNames: ['dependency'],
    registers,
    async collect() {
      const answers = [health.store(), health.keyValue()].map((answer) => inTime(clock, answer));
      const [store = null, keyValue = null] = await Promise.all(answers);
      this.set({ dependency: 'store' }, store === null ? 0 : 1);
      if (mode === 'cluster') this.set({ dependency: 'redis' }, keyValue === null ? 0 : 1);
      else this.set({ dependency: 'disk' }, fails(health.storage().state) ? 0 : 1);
    },
  });
  if (mode === 'cluster') return;
  new Gauge({
    name: 'reeve_disk_free_bytes',
    help: 'Free bytes on the disk with the data folder; no value in a cluster',
    registers,
    collect() {
      const { freeBytes } = health.storage();
      if (freeBytes !== null) this.set(freeBytes);
    },
  });
}
