// Gauges of this node: its shards, what it depends on, and the disk with its data.
import type { Registry } from 'prom-client';
import type { Dependency, Meters } from '../../shared/meters.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { ClusterState, NodeHealth } from '../../shared/ports/node-health.ts';
import { fails } from '../../shared/storage.ts';
import { withinScrape } from './answers.ts';
import { addGauge, addHistogram, type Sample, seriesOf } from './series.ts';

export interface NodeSources {
  readonly clock: Pick<Clock, 'after' | 'now'>;
  readonly mode: 'embedded' | 'cluster';
  readonly health: Pick<NodeHealth, 'store' | 'keyValue' | 'storage' | 'cluster'>;
  readonly meters: Meters;
  /** False when the last call to the identity provider failed; null: the hub has none. */
  readonly isIssuerUp: () => boolean | null;
  /** Time when `reeve backup` last wrote a file, epoch milliseconds; 0: never. */
  readonly lastBackupAt: () => Promise<number>;
}

export function addNode(registry: Registry, sources: NodeSources): void {
  addShards(registry, sources);
  addDependencies(registry, sources);
  if (sources.mode === 'cluster') return;
  const { health, lastBackupAt } = sources;
  addGauge(registry, 'reeve_disk_free_bytes', 'Free bytes on the disk with the data folder', () => {
    const { freeBytes } = health.storage();
    return freeBytes === null ? [] : [{ labels: {}, value: freeBytes }];
  });
  addGauge(
    registry,
    'reeve_last_backup_timestamp_seconds',
    'When `reeve backup` last wrote a file, as Unix time; 0: never',
    async () => [{ labels: {}, value: (await lastBackupAt()) / 1000 }],
  );
}

function addShards(registry: Registry, { health, clock }: NodeSources): void {
  let pending: Promise<ClusterState | null> | null = null;
  /** One request for the gauges of one scrape. */
  const clusterState = (): Promise<ClusterState | null> => {
    pending ??= withinScrape(clock, health.cluster()).finally(() => {
      pending = null;
    });
    return pending;
  };
  addGauge(
    registry,
    'reeve_shards',
    'Shards that this node owns; NaN if the bus does not answer',
    async () => {
      const state = await clusterState();
      const own = state?.nodes.find(({ node }) => node === state.node);
      return [{ labels: {}, value: state ? (own?.shards.length ?? 0) : Number.NaN }];
    },
  );
  addGauge(
    registry,
    'reeve_bus_lag_seconds',
    'Age of the oldest message that waits for an actor of this node; NaN if the bus does not answer',
    async () => {
      const state = await clusterState();
      const lagMs = state ? Math.max(0, ...state.lag.map(({ oldestMs }) => oldestMs)) : Number.NaN;
      return [{ labels: {}, value: lagMs / 1000 }];
    },
  );
}

function addDependencies(registry: Registry, sources: NodeSources): void {
  const { health, clock, mode, meters, isIssuerUp } = sources;
  const up = (dependency: Dependency, isUp: boolean): Sample => ({
    labels: { dependency },
    value: isUp ? 1 : 0,
  });
  addGauge(registry, 'reeve_dependency_up', '1 if the dependency answers, else 0', async () => {
    const answers = [health.store(), health.keyValue()].map((answer) => withinScrape(clock, answer));
    const [store = null, keyValue = null] = await Promise.all(answers);
    const issuer = isIssuerUp();
    return [
      up('store', store !== null),
      mode === 'cluster' ? up('redis', keyValue !== null) : up('disk', !fails(health.storage().state)),
      ...(issuer === null ? [] : [up('issuer', issuer)]),
    ];
  });
  const dependencies: readonly Dependency[] = [
    'store',
    mode === 'cluster' ? 'redis' : 'disk',
    ...(isIssuerUp() === null ? [] : (['issuer'] as const)),
  ];
  addHistogram(registry, 'reeve_dependency_seconds', 'Answers of dependencies', () =>
    dependencies.map((dependency) => seriesOf(meters.dependencies[dependency], { dependency })),
  );
}
