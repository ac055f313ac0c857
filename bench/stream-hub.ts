// The edge with real streams and stub stores, for benchmarks: one tenant, one key, any number of agents.
import { createLocalBroadcast } from '../adapters/local/broadcast.ts';
import { createLocalLimits } from '../adapters/local/limits.ts';
import { systemClock as clock } from '../adapters/node/clock.ts';
import { createSecrets } from '../adapters/node/secrets.ts';
import { startServer } from '../adapters/uws/server.ts';
import { routes } from '../src/api/route.ts';
import type { StreamHandlers } from '../src/api/stream.ts';
import { agentsOf, type Frame } from '../src/domain/frame.ts';
import { createCallers } from '../src/http/caller.ts';
import { createCors } from '../src/http/headers.ts';
import { createLive } from '../src/http/live/live.ts';
import { createMetrics } from '../src/http/metrics.ts';
import { createPipeline } from '../src/http/pipeline.ts';
import type { Log } from '../src/ports/log.ts';

const streamRoutes = routes({
  agentStream: {
    method: 'GET',
    path: '/api/v1/stream',
    auth: 'key',
    tag: 'stream',
    summary: 'Agent stream',
    status: 200,
    media: 'text/event-stream',
    errors: [],
  },
});

const log: Log = {
  debug() {},
  info() {},
  warn() {},
  error: (fields) => process.stderr.write(`${String(fields)}\n`),
};
const key = 'svk_production_benchmark';
const audience = agentsOf('t1', 'production');

/** What a client sends to open an agent's stream. */
export const streamRequest = (agent: string): string =>
  `GET /api/v1/stream?env=production HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nX-Service-Agent-Id: ${agent}\r\n\r\n`;

export async function startHub() {
  const secrets = createSecrets('benchmark-benchmark-benchmark-bench');
  const broadcast = createLocalBroadcast({ clock, log });
  const wire = {
    agentIdHeaders: ['x-service-agent-id'],
    sessionCookie: 'service_session',
    keyPrefix: 'svk_',
  };
  const baseUrl = 'http://localhost:8000';
  const callers = createCallers({
    keys: {
      byHash: async (hash) => ({
        id: 'k1',
        tenantId: 't1',
        env: 'production',
        label: null,
        prefix: 'svk_production_benchmar',
        hash,
        createdBy: '',
        createdAt: 0,
        lastUsedAt: null,
        revokedAt: null,
      }),
      used: async () => undefined,
    },
    logins: { get: async () => null, extend: async () => undefined },
    users: { userById: async () => null },
    secrets,
    clock,
    log,
    wire,
    baseUrl,
    sessionTtlMs: 1,
    operatorToken: null,
  });
  const streams: StreamHandlers = {
    async admitAgent(caller) {
      const agentId = caller.agentId ?? 'default';
      return {
        audience: agentsOf(caller.tenantId, caller.env),
        agentId,
        bundleName: null,
        pinned: false,
        catchUp: async () => [],
        announce: async () => undefined,
        closed: () => undefined,
      };
    },
    admitDashboard: () => Promise.reject(new Error('no dashboards here')),
    message: async () => null,
  };
  const live = createLive({ broadcast, handlers: streams, clock, log });
  const pipeline = createPipeline({
    tables: [streamRoutes],
    serve: {},
    callers,
    limits: createLocalLimits({ clock }),
    live,
    streams,
    cors: createCors(baseUrl, [], wire.agentIdHeaders),
    metrics: createMetrics(),
    secrets,
    clock,
    log,
    trustedProxies: [],
    openApi: null,
  });
  const server = await startServer({ host: '127.0.0.1', port: 0, pipeline, clock, log });
  return {
    port: server.port,
    live,
    /** Publishes a contract_update whose bundle has this many bytes. */
    publish: (bytes: number): Promise<void> => broadcast.publish([contractUpdate(bytes)]),
    async close() {
      live.close();
      await callers.close();
      await broadcast.close();
      server.close();
    },
  };
}

export const contractUpdate = (bytes: number): Frame => ({
  audience,
  type: 'contract_update',
  data: {
    type: 'contract_update',
    bundle_name: 'b',
    version: 1,
    revision_hash: '0'.repeat(64),
    signature: '0'.repeat(128),
    public_key: '0'.repeat(64),
    yaml_bytes: 'x'.repeat(bytes),
  },
  bundle: 'b',
});
