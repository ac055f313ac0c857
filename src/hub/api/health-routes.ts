// Routes about the health of the hub.
import { z } from 'zod';
import { instant } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';
import { storageStates } from '../../shared/storage.ts';

const status = z.enum(['ok', 'degraded']);
export const storageState = z.enum(storageStates);
export const link = z.object({ connected: z.boolean(), latency_ms: z.number().nullable() });

export const minimalHealth = z.object({ status, bootstrap_complete: z.boolean() });

export const healthRoutes = routes({
  health: {
    method: 'GET',
    path: '/api/v1/health',
    auth: [],
    role: 'nobody',
    envs: 'none',
    tag: 'health',
    summary:
      'Minimal health: always 200; degraded if the key-value store does not answer or the store refuses writes',
    status: 200,
    reply: minimalHealth,
    errors: [],
    limit: 'none',
  },
  live: {
    method: 'GET',
    path: '/api/v1/health/live',
    auth: [],
    role: 'nobody',
    envs: 'none',
    tag: 'health',
    summary: 'Liveness of the process',
    status: 200,
    reply: z.object({ status: z.literal('alive') }),
    errors: [],
    limit: 'none',
  },
  ready: {
    method: 'GET',
    path: '/api/v1/health/ready',
    auth: [],
    role: 'nobody',
    envs: 'none',
    tag: 'health',
    summary:
      'Readiness of the node: 200, or 503 with the same body. With `scope=node`, a service that no node reaches does not count',
    query: z.object({ scope: z.enum(['node', 'all']).default('all') }),
    status: 200,
    reply: z.object({
      status: z.enum(['ready', 'not_ready']),
      database: link,
      cache: link,
      storage: z.object({ state: storageState }),
      workers: z.record(z.string(), z.enum(['running', 'stopped', 'crashed'])),
    }),
    errors: [],
    limit: 'none',
  },
  healthCluster: {
    method: 'GET',
    path: '/api/v1/health/cluster',
    auth: ['cookie', 'operatorToken'],
    role: 'admin',
    envs: 'none',
    tag: 'health',
    summary: 'Nodes, shard owners and waiting messages. With a second tenant, needs OPERATOR_TOKEN',
    status: 200,
    reply: z.object({
      mode: z.enum(['embedded', 'cluster']),
      node: z.string(),
      nodes: z.array(
        z.object({
          node: z.string(),
          version: z.string(),
          started_at: instant,
          connected_agents: z.number().int(),
          shard_count: z.number().int(),
          shards: z.array(z.number().int()),
        }),
      ),
      shards: z.object({
        total: z.number().int(),
        owned: z.number().int(),
        unowned: z.array(z.number().int()),
      }),
      /** Of the answering node's shards, and of those without an owner. */
      lag: z.object({
        waiting: z.number().int(),
        oldest_ms: z.number(),
        shards: z.array(
          z.object({ shard: z.number().int(), waiting: z.number().int(), oldest_ms: z.number() }),
        ),
      }),
      broadcast: z.object({ lag_ms: z.number() }),
    }),
    errors: ['forbidden', 'unavailable'],
  },
  healthMetrics: {
    method: 'GET',
    path: '/api/v1/health/metrics',
    auth: ['cookie', 'operatorToken'],
    role: 'admin',
    envs: 'none',
    tag: 'health',
    summary: 'Metrics of the answering node since its start. With a second tenant, needs OPERATOR_TOKEN',
    status: 200,
    reply: z.object({
      node: z.string(),
      started_at: instant,
      /** Upper bounds of `buckets`, milliseconds; the last bucket is open. */
      buckets_ms: z.array(z.number()),
      routes: z.array(
        z.object({
          /** Method and path as declared; `unmatched` for all that no route fits. */
          route: z.string(),
          requests: z.number().int(),
          statuses: z.record(z.string(), z.number().int()),
          buckets: z.array(z.number().int()),
          sum_ms: z.number(),
          bytes: z.number().int(),
        }),
      ),
      streams: z.object({
        agents: z.number().int(),
        dashboards: z.number().int(),
        blocked: z.number().int(),
        ended: z.record(z.string(), z.number().int()),
      }),
      queues: z.object({
        messages: z.number().int(),
        oldest_message_ms: z.number(),
        broadcast_lag_ms: z.number(),
        jobs: z.number().int(),
      }),
      /** Of this node, since its start. */
      events_stored: z.number().int(),
      /** Of all nodes. */
      installation: z.object({
        /** Null if the server does not report it. */
        store_bytes: z.number().nullable(),
        dead_jobs: z.number().int(),
        /** The oldest audit entry that no signed head covers; null: none. */
        unsigned_since: instant.nullable(),
        /** By `reeve backup`; null: never, or in a cluster. */
        last_backup_at: instant.nullable(),
      }),
      /** Lag of the event loop in the last one to two minutes. */
      event_loop: z.object({ mean_ms: z.number(), p99_ms: z.number(), max_ms: z.number() }),
    }),
    errors: ['forbidden', 'unavailable'],
  },
  healthSeries: {
    method: 'GET',
    path: '/api/v1/health/series',
    auth: ['cookie', 'operatorToken'],
    role: 'admin',
    envs: 'none',
    tag: 'health',
    summary:
      "The answering node's health over the last 24 hours, a point for each 5 minutes, from its memory. With a second tenant, needs OPERATOR_TOKEN",
    status: 200,
    reply: z.object({
      node: z.string(),
      /** Start of the recording: a node that starts has no points from before. */
      started_at: instant,
      interval_seconds: z.number().int(),
      /** Oldest first; the last one is in progress. A figure is null where it is unknown. */
      points: z.array(
        z.object({
          at: instant,
          /** Lag of the event loop: 99th percentile of the worst minute, and maximum. */
          loop_lag_ms: z.number().nullable(),
          loop_lag_max_ms: z.number().nullable(),
          /** 99th percentile of the durable commits of events, up to 10,000; null without a commit. */
          commit_ms: z.number().nullable(),
          /** Of the database, at the start of the point; null if the server does not report it. */
          store_bytes: z.number().nullable(),
          /** Of the disk with the data folder: least free bytes, and its size; null in a cluster. */
          disk_free_bytes: z.number().nullable(),
          disk_total_bytes: z.number().nullable(),
          /** Most resident memory of the process. */
          memory_bytes: z.number().nullable(),
        }),
      ),
    }),
    errors: ['forbidden', 'unavailable'],
  },
  healthDetails: {
    method: 'GET',
    path: '/api/v1/health/details',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'none',
    tag: 'health',
    summary: 'Detailed health for the dashboard',
    status: 200,
    reply: z.object({
      status,
      version: z.string(),
      auth_provider: z.string(),
      base_url_https: z.boolean(),
      database: link,
      cache: link,
      storage: z.object({
        state: storageState,
        free_bytes: z.number().int().nullable(),
        reserve_bytes: z.number().int().nullable(),
      }),
      workers: z.number().int(),
      /**
       * Of the caller's tenant, in the environments that the caller sees. One whose node does not answer within a
       * second counts as 0.
       */
      connected_agents: z.number().int(),
    }),
    errors: [],
  },
});
