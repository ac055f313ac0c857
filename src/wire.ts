// The composition root: makes the adapters, joins them to actors, handlers and the edge, and starts and stops them in order. Decides nothing.
import { join } from 'node:path';
import { dueApprovals, hubKinds } from '../actors/kinds.ts';
import type { ActorPorts } from '../actors/ports.ts';
import type { HubKinds } from '../actors/protocol.ts';
import { startSweep } from '../actors/runtime/deadlines.ts';
import { createActors } from '../actors/runtime/system.ts';
import { createLocalBroadcast } from '../adapters/local/broadcast.ts';
import { createLocalLimits } from '../adapters/local/limits.ts';
import { systemClock } from '../adapters/node/clock.ts';
import { createEvaluator } from '../adapters/node/evaluator/evaluator.ts';
import { createLog } from '../adapters/node/log.ts';
import { masterSecret } from '../adapters/node/master.ts';
import { createSecrets } from '../adapters/node/secrets.ts';
import { openSqlite } from '../adapters/sqlite/index.ts';
import { startServer } from '../adapters/uws/server.ts';
import { api } from './api/index.ts';
import type { Config } from './config.ts';
import { HubError } from './domain/error.ts';
import { globMatch } from './domain/evaluate/glob.ts';
import type { Hub, NodeHealth } from './handlers/hub.ts';
import { handlers } from './handlers/index.ts';
import { bootstrapFromEnvironment, ensureSigningKeys } from './handlers/setup.ts';
import { streamHandlers } from './handlers/streams.ts';
import { createCallers } from './http/caller.ts';
import { createCors } from './http/headers.ts';
import { createLive } from './http/live/live.ts';
import { createMetrics } from './http/metrics.ts';
import { openApiText } from './http/openapi.ts';
import { bind, createPipeline } from './http/pipeline.ts';
import type { Clock } from './ports/clock.ts';
import type { Log } from './ports/log.ts';
import type { Store } from './ports/store.ts';
import { version } from './version.ts';

export interface RunningHub {
  readonly port: number;
  /** Agents and dashboards with an open stream. */
  streams(): number;
  isSetUp(): Promise<boolean>;
  /** Stops listening, ends streams over the drain window, finishes what is acknowledged, closes the store. */
  stop(): Promise<void>;
}

/** The OpenAPI document, as the hub serves it; docs/openapi.json holds it for the default settings. */
export const openApiFor = ({ baseUrl, wire }: Config): string =>
  openApiText([api], { title: 'Reeve', version, baseUrl, wire });

const housekeepingMs = 60_000;
const sweepBatch = 1_000;

/** Removes what has expired. A failure waits for the next turn. */
function keepHouse(store: Store, clock: Clock, log: Log): { cancel(): void } {
  return clock.every(housekeepingMs, () => {
    const now = clock.now();
    Promise.all([store.logins.sweep(now), store.values.sweep(now, sweepBatch)]).catch((err: unknown) => {
      log.warn({ err }, 'expired entries wait for the next turn');
    });
  });
}

/** @throws HubError or Error in plain words when the store, the secrets or the port cannot be had */
export async function startHub(config: Config): Promise<RunningHub> {
  if (config.cluster) {
    throw new HubError(
      'unavailable',
      'This version runs on its embedded store alone: unset MONGODB_URL and REDIS_URL to start it.',
    );
  }
  const clock = systemClock;
  const log = createLog({ level: config.logLevel });
  const secrets = createSecrets(config.secretKey ?? masterSecret(config.dataDir));
  const store = await openSqlite({ path: join(config.dataDir, 'reeve.db'), clock, log });
  const broadcast = createLocalBroadcast({ clock, log });
  const limits = createLocalLimits({ clock });
  const evaluator = createEvaluator({
    clock,
    accepted: {
      apiVersions: config.wire.apiVersions,
      kinds: [...config.wire.bundleKinds, ...config.wire.rulesetKinds],
      rulesetKinds: config.wire.rulesetKinds,
    },
  });
  const actors = createActors<HubKinds, ActorPorts>({
    definitions: hubKinds,
    ports: { store, secrets, signatureEncoding: config.wire.signatureEncoding, matches: globMatch },
    clock,
    broadcast,
    log,
  });
  const openApi = openApiFor(config);
  let draining = false;
  const reach = async (ping: () => Promise<number>): Promise<number | null> => ping().catch(() => null);
  const health: NodeHealth = {
    store: () => reach(() => store.ping()),
    keyValue: () => reach(() => store.ping()),
    workers: () => ({ sweep: 'running' }),
    connectedAgents: () => live.connectedAgents(),
    draining: () => draining,
  };
  const hub: Hub = {
    store,
    actors,
    broadcast,
    evaluator,
    limits,
    clock,
    secrets,
    log,
    health,
    settings: { ...config, version },
    openApi: () => openApi,
  };
  const streams = streamHandlers(hub, secrets.uuid());
  const live = createLive({ broadcast, handlers: streams, clock, log });
  const callers = createCallers({
    keys: store.keys,
    logins: store.logins,
    users: store.tenants,
    secrets,
    clock,
    log,
    wire: config.wire,
    baseUrl: config.baseUrl,
    sessionTtlMs: config.sessionTtlMs,
    operatorToken: config.operatorToken,
  });
  broadcast.onControl((message) => {
    callers.control(message);
    live.control(message);
  });
  const pipeline = createPipeline({
    tables: [api],
    serve: bind(hub, handlers),
    callers,
    limits,
    live,
    streams,
    cors: createCors(config.baseUrl, config.corsOrigins, config.wire.agentIdHeaders),
    metrics: createMetrics(),
    secrets,
    clock,
    log,
    trustedProxies: config.trustedProxies,
    openApi,
  });
  const sweep = startSweep({
    clock,
    log,
    lease: () => true,
    due: dueApprovals(store),
    tell: (tell) => actors.send(tell),
  });
  const house = keepHouse(store, clock, log);

  if (config.admin) await bootstrapFromEnvironment(hub, config.admin);
  await ensureSigningKeys(hub);
  const server = await startServer({ host: config.host, port: config.port, pipeline, clock, log });

  return {
    port: server.port,
    streams: () => live.counts().streams,
    isSetUp: () => store.tenants.anyUser(),
    async stop() {
      draining = true;
      server.stopListening();
      house.cancel();
      await live.drain(config.drainSeconds * 1000);
      await sweep.stop();
      await actors.stop();
      await callers.close();
      await evaluator.close();
      await broadcast.close();
      server.close();
      await store.close();
    },
  };
}
