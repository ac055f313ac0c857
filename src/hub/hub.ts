// The composition root: joins the parts, the use cases and the edge, and starts and stops them in order. Decides
// nothing.

import { randomUUID } from 'node:crypto';
import { dueApprovals } from '../../actors/kinds.ts';
import { startSweep } from '../../actors/runtime/deadlines.ts';
import { lastBackupAt } from '../../adapters/node/backup-mark.ts';
import { systemClock } from '../../adapters/node/clock.ts';
import { maxConnections } from '../../adapters/node/descriptors.ts';
import { createLog } from '../../adapters/node/log.ts';
import { keepLoginLink } from '../../adapters/node/login-links.ts';
import { watchLoopDelay } from '../../adapters/node/loop-delay.ts';
import { masterSecret } from '../../adapters/node/master.ts';
import { createSecrets } from '../../adapters/node/secrets.ts';
import { clusterClock } from '../../adapters/redis/clock.ts';
import { RuleSets } from '../agent/rules/assignment.ts';
import { proxyTest } from '../http/address.ts';
import type { Hub, NodeHealth } from '../http/contract/handler.ts';
import { consoleFrames } from '../http/live/console-frames.ts';
import { hostedFrames } from '../http/live/hosted-frames.ts';
import { createMetrics } from '../http/metrics.ts';
import type { Server } from '../http/server.ts';
import { workNotifications } from '../notification/jobs.ts';
import { nextTurn } from '../shared/concurrency/next-turn.ts';
import { gatherRepeats } from '../shared/log-repeats.ts';
import type { Durations } from '../shared/meters.ts';
import { pause } from '../shared/ports/clock.ts';
import { loginLinkMs, loginLinkUrl } from '../user/use-cases/login-links.ts';
import { version } from '../version.ts';
import { createAppPorts } from './app-ports.ts';
import type { Config } from './config.ts';
import { createEdge } from './edge.ts';
import { openEmbedded } from './embedded.ts';
import { bootstrapFromEnvironment, setupTokenOf } from './first-admin.ts';
import { startHousekeeping } from './housekeeping.ts';
import { createLogLevel } from './log-level.ts';
import { checkMaster } from './master.ts';
import { countLog } from './metrics/counted-log.ts';
import { expositionOf, listenForScrapes } from './metrics/endpoint.ts';
import { createMeters } from './metrics/meters.ts';
import { exportMetrics } from './metrics/otlp.ts';
import { createRegistry } from './metrics/registry.ts';
import { nodeMetrics } from './node-metrics.ts';
import { chooseServer } from './server.ts';
import { startTracing } from './tracing.ts';
import { createApp } from './use-cases.ts';
import { createWorkers } from './workers.ts';

export interface RunningHub {
  readonly port: number;
  /** Agents and dashboards with an open stream. */
  streams(): number;
  isSetUp(): Promise<boolean>;
  /** An address that signs the first admin in, once, within 5 minutes. Embedded mode only. */
  loginLink(): string;
  /**
   * What callers on other machines need to set it up, made because no SETUP_TOKEN is set; null when there is nothing to
   * print.
   */
  readonly printedSetupToken: string | null;
  /** What whoever started it should know of its HTTP server; null when it is the native one, or was chosen. */
  readonly serverNote: string | null;
  /** Stops listening, ends streams over the drain window, finishes what is acknowledged, closes the store. */
  stop(): Promise<void>;
}

/** A sweep that has not turned for so long is crashed: it turns every second. Milliseconds. */
const sweepMs = 8_000;

/** Calls under way may take so long to end once the listener is closed; with DRAIN_SECONDS well below 30 s in all. */
const settleMs = 5_000;

/** Milliseconds of a round trip; null if there is no answer. */
async function reach(ping: Promise<number>, times: Durations | null): Promise<number | null> {
  try {
    const ms = await ping;
    times?.add(ms);
    return ms;
  } catch {
    return null;
  }
}

/** Loaded where it is called for: the clients of MongoDB and Redis are half of all modules. */
const openCluster: typeof import('./cluster.ts').openCluster = async (...parameters) =>
  (await import('./cluster.ts')).openCluster(...parameters);

/** @throws HubError or Error in plain words when the store, the secrets or the port cannot be had */
export async function startHub(config: Config): Promise<RunningHub> {
  const node = config.cluster ? randomUUID() : undefined;
  const logger = createLog({ level: config.logLevel, node });
  const logLevel = createLogLevel(logger, config.logLevel, systemClock);
  const { log: countedLog, counts: logRecords } = countLog(logger, logLevel.current);
  const log = gatherRepeats(countedLog, systemClock);
  const shared =
    config.cluster && node ? { ...config.cluster, node, clock: clusterClock(systemClock, log) } : null;
  const clock = shared?.clock ?? systemClock;
  // Before anything is opened: what does not load here is said at once.
  const chosen = await chooseServer(config.httpServer);
  const tracer = await startTracing(config.tracing, { clock: systemClock, node });
  const secrets = createSecrets(config.secretKey ?? masterSecret(config.dataDir));
  const workers = createWorkers(clock);
  const consoleApi = consoleFrames(config.wire.signatureEncoding);
  const hostedApi = hostedFrames(secrets);
  const streamApis = [consoleApi, hostedApi];
  const ruleSets = new RuleSets();
  const agents = (): number => live.connectedAgents();
  const meters = createMeters(config.metrics.maxTenants);
  let draining = false;
  const isDraining = (): boolean => draining;
  const materials = {
    config,
    clock,
    log,
    secrets,
    workers,
    ruleSets,
    streamApis,
    agents,
    meters,
    isDraining,
  };
  const parts = await (shared
    ? openCluster({ ...materials, clock: shared.clock }, shared)
    : openEmbedded(materials));
  const { store, broadcast, actors, jobs } = parts;
  const setupToken = await checkMaster(store, secrets, config)
    .then(() => setupTokenOf(config, store, secrets))
    .catch(async (error: unknown) => {
      await jobs.close();
      await parts.close();
      throw error;
    });
  const { store: storeTimes, redis: redisTimes } = meters.dependencies;
  const requests = createMetrics();
  const delay = watchLoopDelay(clock);
  const sources = {
    startedAt: clock.now(),
    requests,
    live: () => live,
    jobs,
    cluster: () => parts.cluster(),
    delay,
    events: meters.events,
    installation: store.installation,
    lastBackupAt: shared ? null : () => lastBackupAt(config.dataDir),
  };
  const health: NodeHealth = {
    store: () => reach(store.ping(), storeTimes),
    keyValue: () => reach(parts.keyValue(), shared ? redisTimes : null),
    storage: () => store.storage(),
    workers: () => ({ ...workers.states(), jobs: jobs.health().state }),
    connectedAgents: () => parts.connectedAgents(),
    cluster: () => parts.cluster(),
    draining: isDraining,
    isAloneWithout: (reached) => parts.isAloneWithout(reached),
    metrics: () => nodeMetrics(sources),
  };
  const { ports, isIssuerUp, close: closePorts } = createAppPorts(materials, parts, health, setupToken);
  const app = createApp(ports);
  const hub: Hub = { ...ports, app };
  const registry = createRegistry({
    clock,
    version,
    mode: shared ? 'cluster' : 'embedded',
    requests,
    live: () => live,
    health,
    meters,
    isIssuerUp,
    lastBackupAt: () => lastBackupAt(config.dataDir),
    isSpeaker: () => parts.owns('installation'),
    installation: store.installation,
    jobs,
    logRecords,
    retentionRemoved: app.retention.removed,
    exportLines: app.exports.sent,
    lostSpans: () => tracer?.lost ?? 0,
  });
  const exposition = expositionOf(config.metrics, registry, secrets);
  const edge = createEdge({ materials, parts, ports, hub, consoleApi, hostedApi, requests, exposition });
  const { callers, live, pipeline } = edge;
  const sweep = startSweep({
    clock,
    log,
    mine: (key) => parts.owns(key),
    turned: workers.add('sweep', sweepMs),
    due: dueApprovals(store),
    tell: (tell) => actors.receive(tell),
  });
  broadcast.onControl((message) => {
    callers.control(message);
    live.control(message);
    parts.control(message, live.audiences());
    if (message.kind === 'log_level') logLevel.set(message.level, message.until);
    // What fell due while a shard had no owner is not kept waiting for the next turn.
    if (message.kind === 'shards_moved') void sweep.run();
  });
  workNotifications(jobs, app);
  const housekeeping = startHousekeeping(jobs, {
    store,
    clock,
    log,
    signHeads: hub.app.auditLog.signHeads,
    retainAudit: hub.app.auditLog.retain,
    retention: app.retention,
    largeArgsDays: config.quotas.largeArgsDays,
  });

  let server: Server | null = null;
  let scrapes: { close(): void } | null = null;
  let readings: { close(): Promise<void> } | null = null;
  async function stop(drainMs: number): Promise<void> {
    draining = true;
    server?.drain();
    housekeeping.stop();
    // Balancers that ask for readiness see that this node stops before it refuses their connections.
    await Promise.all([live.drain(drainMs), shared && server ? pause(systemClock, drainMs) : undefined]);
    live.close();
    // Right after the turn of the event loop that took what was waiting to be accepted: closing resets the rest.
    await nextTurn();
    server?.stopListening();
    await server?.settle(settleMs);
    await sweep.stop();
    await parts.stopActors();
    await jobs.close();
    workers.stop();
    delay.stop();
    await callers.close();
    await closePorts();
    server?.close();
    scrapes?.close();
    await readings?.close();
    await parts.close();
    await tracer?.close();
    log.flush();
  }

  try {
    if (config.admin) await bootstrapFromEnvironment(hub.app.accounts, log, config.admin);
    await hub.app.accounts.ensureSigningKeys();
    await parts.begin();
    scrapes = await listenForScrapes(config.metrics, registry);
    readings = await exportMetrics(config.metricsExport, registry, { clock: systemClock, log, node });
    server = await chosen.start({
      host: config.host,
      port: config.port,
      pipeline,
      clock,
      log,
      maxConnections: maxConnections(),
      isProxy: proxyTest(config.trustedProxies),
    });
  } catch (error) {
    // A process that exits while the store's threads run may crash in their native code.
    await stop(0);
    throw error;
  }
  const { port } = server;
  return {
    port,
    streams: () => live.counts().streams,
    isSetUp: () => store.tenants.anyUser(),
    loginLink() {
      const token = secrets.token(32);
      const link = { email: null, expiresAt: clock.now() + loginLinkMs };
      keepLoginLink(config.dataDir, secrets.sha256(token), link, clock.now());
      return loginLinkUrl(config.baseUrl, token);
    },
    serverNote: chosen.note,
    printedSetupToken: setupToken?.made ? setupToken.value : null,
    stop: () => stop(config.drainSeconds * 1000),
  };
}
