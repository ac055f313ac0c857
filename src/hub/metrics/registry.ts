// The Prometheus registry of a node. Counts lie where they arise and are read at the scrape, so that hot paths pay for
// plain numbers alone. No label holds a value that a client can choose.
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Live } from '../../http/live/live.ts';
import type { Metrics } from '../../http/metrics.ts';
import type { NodeHealth } from '../../shared/ports/node-health.ts';
import { fails } from '../../shared/storage.ts';
import { httpDurations } from './http-durations.ts';

export interface RegistrySources {
  readonly version: string;
  readonly mode: 'embedded' | 'cluster';
  readonly requests: Pick<Metrics, 'series'>;
  readonly live: () => Pick<Live, 'counts'>;
  readonly health: Pick<NodeHealth, 'store' | 'keyValue' | 'storage' | 'cluster'>;
  /** Written log lines by level. */
  readonly logRecords: ReadonlyMap<string, number>;
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

function addNode(registry: Registry, { health, mode }: RegistrySources): void {
  const registers = [registry];
  new Gauge({
    name: 'reeve_shards',
    help: 'Shards that this node owns',
    registers,
    async collect() {
      const state = await health.cluster().catch(() => null);
      const own = state?.nodes.find(({ node }) => node === state.node);
      this.set(own?.shards.length ?? 0);
    },
  });
  new Gauge({
    name: 'reeve_bus_lag_seconds',
    help: 'Age of the oldest message that waits for an actor of this node; NaN if the bus does not answer',
    registers,
    async collect() {
      const state = await health.cluster().catch(() => null);
      this.set(state ? Math.max(0, ...state.lag.map(({ oldestMs }) => oldestMs)) / 1000 : Number.NaN);
    },
  });
  new Gauge({
    name: 'reeve_dependency_up',
    help: '1 if the dependency answers, else 0',
    labelNames: ['dependency'],
    registers,
    async collect() {
      const [store, keyValue] = await Promise.all([health.store(), health.keyValue()]);
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
