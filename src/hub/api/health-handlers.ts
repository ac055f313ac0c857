// Health of the hub, for probes and for the dashboard.

import { Reply } from '../../http/contract/call.ts';
import type { Handlers, Hub } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { iso } from '../../http/contract/render.ts';
import { snakeKeys } from '../../shared/snake-keys.ts';
import { fails, refuses } from '../../shared/storage.ts';
import type { healthRoutes } from './health-routes.ts';
import { probed } from './probe.ts';

const link = (latency: number | null) => ({
  connected: latency !== null,
  latency_ms: latency === null ? null : Math.round(latency * 100) / 100,
});

interface Links {
  readonly database: { readonly connected: boolean };
  readonly cache: { readonly connected: boolean };
}

/** State of everything that a node stands on. The node is well when all of it works and the node is to go on. */
const stateOf = async ({ health }: Hub) => {
  const storage = health.storage();
  const [store, keyValue] = await Promise.all([health.store(), health.keyValue()]);
  const [database, cache] = [link(store), link(keyValue)];
  const workers = health.workers();
  const working = Object.values(workers).every((state) => state === 'running');
  const connected = database.connected && cache.connected;
  const ready = connected && working && !health.draining() && !fails(storage.state);
  return { ready, database, cache, storage, workers };
};

/**
 * True if nothing is wrong but that no node reaches a service. Asked of each node every few seconds, because each
 * answer leaves a note for the others.
 */
async function isOnlyShort({ health }: Hub, { database, cache }: Links): Promise<boolean> {
  const reached = { store: database.connected, keyValue: cache.connected };
  const isAlone = await health.isAloneWithout(reached);
  return !isAlone && !health.draining() && !(reached.store && reached.keyValue);
}

export const health: Handlers<typeof healthRoutes> = {
  health: (hub) => probed(hub),

  async live() {
    return { status: 'alive' };
  },

  async ready(hub, { query }) {
    const { ready, storage, ...parts } = await stateOf(hub);
    const isShort = query.scope === 'node' && (await isOnlyShort(hub, parts));
    const isReady = ready || isShort;
    const status = isReady ? ('ready' as const) : ('not_ready' as const);
    return new Reply(
      { status, ...parts, storage: { state: storage.state } },
      { status: isReady ? 200 : 503 },
    );
  },

  async healthCluster(hub, _input, caller) {
    if (caller.kind !== 'operator') await hub.app.installation.requireOnlyTenant();
    const { mode, node, nodes, shardCount, lag, broadcastLagMs } = await hub.health.cluster();
    const owned = new Set(nodes.flatMap(({ shards }) => shards));
    const all = Array.from({ length: shardCount }, (_, shard) => shard);
    return {
      mode,
      node,
      nodes: nodes.map(({ node: name, version, startedAt, agents, shards }) => ({
        node: name,
        version,
        started_at: iso(startedAt),
        connected_agents: agents,
        shard_count: shards.length,
        shards: [...shards].sort((a, b) => a - b),
      })),
      shards: { total: shardCount, owned: owned.size, unowned: all.filter((shard) => !owned.has(shard)) },
      lag: {
        waiting: lag.reduce((sum, { waiting }) => sum + waiting, 0),
        oldest_ms: Math.max(0, ...lag.map(({ oldestMs }) => oldestMs)),
        shards: lag
          .filter(({ waiting }) => waiting > 0)
          .map(({ shard, waiting, oldestMs }) => ({ shard, waiting, oldest_ms: oldestMs })),
      },
      broadcast: { lag_ms: broadcastLagMs },
    };
  },

  async healthMetrics({ app, health }, _input, caller) {
    if (caller.kind !== 'operator') await app.installation.requireOnlyTenant();
    const { node, startedAt, bucketsMs, routes, streams, queues, storedEvents, installation, eventLoop } =
      await health.metrics();
    const { storeBytes, deadJobs, unsignedSince, lastBackupAt } = installation;
    return {
      node,
      started_at: iso(startedAt),
      buckets_ms: [...bucketsMs],
      routes: routes.map(({ route, requests, statuses, buckets, sumMs, bytes }) => ({
        route,
        requests,
        statuses: { ...statuses },
        buckets: [...buckets],
        sum_ms: Math.round(sumMs * 100) / 100,
        bytes,
      })),
      streams: { ...streams, ended: { ...streams.ended } },
      queues: {
        messages: queues.messages,
        oldest_message_ms: queues.oldestMessageMs,
        broadcast_lag_ms: queues.broadcastLagMs,
        jobs: queues.jobs,
      },
      events_stored: storedEvents,
      installation: {
        store_bytes: storeBytes,
        dead_jobs: deadJobs,
        unsigned_since: unsignedSince === null ? null : iso(unsignedSince),
        last_backup_at: lastBackupAt ? iso(lastBackupAt) : null,
      },
      event_loop: { mean_ms: eventLoop.meanMs, p99_ms: eventLoop.p99Ms, max_ms: eventLoop.maxMs },
    };
  },

  async healthSeries({ app, health }, _input, caller) {
    if (caller.kind !== 'operator') await app.installation.requireOnlyTenant();
    const { node, startedAt, intervalMs, points } = await health.series();
    return {
      node,
      started_at: iso(startedAt),
      interval_seconds: intervalMs / 1000,
      points: points.map(({ at, ...figures }) => ({ at: iso(at), ...snakeKeys(figures) })),
    };
  },

  async healthDetails(hub, _input, caller) {
    const [{ ready, database, cache, storage, workers }, connectedAgents] = await Promise.all([
      stateOf(hub),
      hub.app.fleet.countConnected(principalOf(caller)),
    ]);
    return {
      status: ready && !refuses(storage.state) ? 'ok' : 'degraded',
      version: hub.settings.version,
      auth_provider: 'local',
      base_url_https: hub.settings.baseUrl.startsWith('https://'),
      database,
      cache,
      storage: {
        state: storage.state,
        free_bytes: storage.freeBytes,
        reserve_bytes: storage.reserveBytes,
      },
      workers: Object.values(workers).filter((state) => state === 'running').length,
      connected_agents: connectedAgents,
    };
  },
};
