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
import { Admission } from '../admission/admission.ts';
import { RuleSets } from '../agent/rules/assignment.ts';
import { proxyTest } from '../http/address.ts';
import type { App } from '../http/contract/app.ts';
import type { Hub, NodeHealth } from '../http/contract/handler.ts';
import { consoleFrames } from '../http/live/console-frames.ts';
import { hostedFrames } from '../http/live/hosted-frames.ts';
import type { Live } from '../http/live/live.ts';
import { createMetrics, type Metrics } from '../http/metrics.ts';
import type { Server } from '../http/server.ts';
import { workNotifications } from '../notification/jobs.ts';
import { waitForShortTurn } from '../shared/concurrency/next-turn.ts';
import type { Control } from '../shared/frame.ts';
import { gatherRepeats } from '../shared/log-repeats.ts';
import type { Durations } from '../shared/meters.ts';
import { pause } from '../shared/ports/clock.ts';
import { loginLinkMs, loginLinkUrl } from '../user/use-cases/login-links.ts';
import { version } from '../version.ts';
import { createAppPorts } from './app-ports.ts';
import type { Config } from './config.ts';
import { createEdge, type Edge } from './edge.ts';
import { openEmbedded } from './embedded.ts';
import { bootstrapFromEnvironment, setupTokenOf } from './first-admin.ts';
import { startHousekeeping } from './housekeeping.ts';
import { createLogLevel } from './log-level.ts';
import { checkMaster } from './master.ts';
import { countLog } from './metrics/counted-log.ts';
import { expositionOf, listenForScrapes } from './metrics/endpoint.ts';
import { HealthRecorder } from './metrics/health-recorder.ts';
import { createMeters } from './metrics/meters.ts';
import { exportMetrics } from './metrics/otlp.ts';
import { createRegistry, type RegistrySources, residentBytes } from './metrics/registry.ts';
import { nodeMetrics } from './node-metrics.ts';
import type { Materials, NodeParts } from './parts.ts';
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
   * Token that callers on other machines need to set the hub up, made because no SETUP_TOKEN is set; null when there is
   * nothing to print.
   */
  readonly printedSetupToken: string | null;
  /** Note about the HTTP server for the person who starts the hub; null when it is the native one, or was chosen. */
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

/** The state of a node at the moment. */
interface NodeState {
  /** Null until the edge is there. */
  live: Live | null;
  isDraining: boolean;
}

/** The parts of a node that open nothing. */
async function prepare(config: Config) {
  const state: NodeState = { live: null, isDraining: false };
  const node = config.cluster ? randomUUID() : undefined;
  const logger = createLog({ level: config.logLevel, node });
  const logLevel = createLogLevel(logger, config.logLevel, systemClock);
  const { log: countedLog, counts: logRecords } = countLog(logger, logLevel.current);
  const log = gatherRepeats(countedLog, systemClock);
  const shared =
    config.cluster && node ? { ...config.cluster, node, clock: clusterClock(systemClock, log) } : null;
  const clock = shared?.clock ?? systemClock;
  // A server that does not load is reported at once.
  const chosen = await chooseServer(config.httpServer);
  const tracer = await startTracing(config.tracing, { clock: systemClock, node });
  const secrets = createSecrets(config.secretKey ?? masterSecret(config.dataDir));
  const consoleApi = consoleFrames(config.wire.signatureEncoding);
  const hostedApi = hostedFrames(secrets);
  const materials: Materials = {
    config,
    clock,
    admission: new Admission(clock),
    log,
    secrets,
    workers: createWorkers(clock),
    ruleSets: new RuleSets(),
    streamApis: [consoleApi, hostedApi],
    agents: () => state.live?.connectedAgents() ?? 0,
    meters: createMeters(config.metrics.maxTenants),
    isDraining: () => state.isDraining,
  };
  return {
    ...{ state, node, log, logLevel, logRecords, shared, clock, chosen, tracer },
    ...{ consoleApi, hostedApi, materials },
  };
}

type Basis = Awaited<ReturnType<typeof prepare>>;
type Token = Awaited<ReturnType<typeof setupTokenOf>>;

/** @throws HubError if the master secret is not that of the store, which is closed then */
async function checkStore({ materials }: Basis, parts: NodeParts): Promise<Token> {
  const { config, secrets } = materials;
  try {
    await checkMaster(parts.store, secrets, config);
    return await setupTokenOf(config, parts.store, secrets);
  } catch (error) {
    await parts.jobs.close();
    await parts.close();
    throw error;
  }
}

/** The opened parts of a node with its use cases and its edge, from their start to their end. */
class HubNode {
  readonly #basis: Basis;
  readonly #parts: NodeParts;
  readonly #app: App;
  readonly #edge: Edge;
  readonly #registry: ReturnType<typeof createRegistry>;
  readonly #sweep: ReturnType<typeof startSweep>;
  readonly #housekeeping: ReturnType<typeof startHousekeeping>;
  readonly #delay: ReturnType<typeof watchLoopDelay>;
  readonly #recorder: HealthRecorder;
  readonly #closePorts: () => Promise<void>;
  #server: Server | null = null;
  #scrapes: { close(): void } | null = null;
  #readings: { close(): Promise<void> } | null = null;

  constructor(basis: Basis, parts: NodeParts, setupToken: Token) {
    this.#basis = basis;
    this.#parts = parts;
    const { clock, log, materials } = basis;
    const requests = createMetrics();
    this.#delay = watchLoopDelay(clock);
    const health = this.#health(requests);
    const { ports, isIssuerUp, close } = createAppPorts(materials, parts, health, setupToken);
    this.#closePorts = close;
    this.#app = createApp(ports);
    this.#registry = this.#openRegistry(requests, health, isIssuerUp);
    this.#recorder = this.#record();
    this.#edge = createEdge({
      ...{ materials, parts, ports, requests },
      hub: { ...ports, app: this.#app } satisfies Hub,
      consoleApi: basis.consoleApi,
      hostedApi: basis.hostedApi,
      exposition: expositionOf(materials.config.metrics, this.#registry, materials.secrets),
    });
    basis.state.live = this.#edge.live;
    this.#sweep = startSweep({
      clock,
      log,
      mine: (key) => parts.owns(key),
      turned: materials.workers.add('sweep', sweepMs),
      due: dueApprovals(parts.store),
      tell: (tell) => parts.actors.receive(tell),
    });
    parts.broadcast.onControl((message) => this.#control(message));
    workNotifications(parts.jobs, this.#app);
    this.#housekeeping = startHousekeeping(parts.jobs, {
      store: parts.store,
      clock,
      log,
      signHeads: () => this.#app.auditLog.signHeads(),
      retainAudit: () => this.#app.auditLog.retain(),
      retention: this.#app.retention,
      largeArgsDays: materials.config.quotas.largeArgsDays,
    });
  }

  get live(): Live {
    return this.#edge.live;
  }

  /** Listens. After a failure everything is closed. Returns the port. */
  async start(): Promise<number> {
    const { materials, chosen, clock, log, node } = this.#basis;
    const { config } = materials;
    try {
      if (config.admin) await bootstrapFromEnvironment(this.#app.accounts, log, config.admin);
      await this.#app.accounts.ensureSigningKeys();
      await this.#parts.begin();
      this.#scrapes = await listenForScrapes(config.metrics, this.#registry);
      const sender = { clock: systemClock, log, node };
      this.#readings = await exportMetrics(config.metricsExport, this.#registry, sender);
      this.#server = await chosen.start({
        host: config.host,
        port: config.port,
        pipeline: this.#edge.pipeline,
        clock,
        log,
        maxConnections: maxConnections(),
        isProxy: proxyTest(config.trustedProxies),
      });
      return this.#server.port;
    } catch (error) {
      // A process that exits while the store's threads run may crash in their native code.
      await this.stop(0);
      throw error;
    }
  }

  async stop(drainMs: number): Promise<void> {
    const { shared, tracer, log, materials } = this.#basis;
    const { live, callers } = this.#edge;
    this.#basis.state.isDraining = true;
    this.#server?.drain();
    this.#housekeeping.stop();
    // Balancers that ask for readiness see that this node stops before it refuses their connections.
    await Promise.all([
      live.drain(drainMs),
      shared && this.#server ? pause(systemClock, drainMs) : undefined,
    ]);
    live.close();
    // Right after a turn of the event loop that took what was waiting to be accepted: closing resets the rest.
    await waitForShortTurn();
    this.#server?.stopListening();
    await this.#server?.settle(settleMs);
    await this.#sweep.stop();
    await this.#parts.stopActors();
    await this.#parts.jobs.close();
    materials.workers.stop();
    this.#recorder.stop();
    this.#delay.stop();
    await callers.close();
    await this.#app.logins.close();
    await this.#closePorts();
    this.#server?.close();
    this.#scrapes?.close();
    await this.#readings?.close();
    await this.#parts.close();
    await tracer?.close();
    log.flush();
  }

  #control(message: Control): void {
    const { callers, live } = this.#edge;
    callers.control(message);
    live.control(message);
    this.#parts.control(message, live.audiences());
    if (message.kind === 'log_level') this.#basis.logLevel.set(message.level, message.until);
    // Deadlines that fell due while a shard had no owner do not wait for the next turn.
    if (message.kind === 'shards_moved') void this.#sweep.run();
  }

  #health(requests: Metrics): NodeHealth {
    const { materials, shared, clock } = this.#basis;
    const parts = this.#parts;
    const { store, jobs } = parts;
    const { store: storeTimes, redis: redisTimes } = materials.meters.dependencies;
    const sources = {
      startedAt: clock.now(),
      requests,
      live: () => this.live,
      jobs,
      cluster: () => parts.cluster(),
      delay: this.#delay,
      events: materials.meters.events,
      installation: store.installation,
      lastBackupAt: shared ? null : () => lastBackupAt(materials.config.dataDir),
    };
    return {
      store: () => reach(store.ping(), storeTimes),
      keyValue: () => reach(parts.keyValue(), shared ? redisTimes : null),
      storage: () => store.storage(),
      workers: () => ({ ...materials.workers.states(), jobs: jobs.health().state }),
      cluster: () => parts.cluster(),
      draining: materials.isDraining,
      isAloneWithout: (reached) => parts.isAloneWithout(reached),
      metrics: () => nodeMetrics(sources),
      series: () => this.#recorder.series(),
    };
  }

  #record(): HealthRecorder {
    const { materials, clock } = this.#basis;
    const { node, store } = this.#parts;
    return new HealthRecorder({
      ...{ clock, node, delay: this.#delay, commits: materials.meters.eventCommits },
      storage: () => store.storage(),
      storeBytes: async () => (await store.installation.figures()).storeBytes,
      memoryBytes: () => residentBytes(this.#registry),
    });
  }

  #openRegistry(requests: Metrics, health: NodeHealth, isIssuerUp: RegistrySources['isIssuerUp']) {
    const { materials, shared, clock, logRecords, tracer } = this.#basis;
    const { store, jobs } = this.#parts;
    return createRegistry({
      clock,
      version,
      mode: shared ? 'cluster' : 'embedded',
      requests,
      live: () => this.live,
      health,
      meters: materials.meters,
      isIssuerUp,
      lastBackupAt: () => lastBackupAt(materials.config.dataDir),
      isSpeaker: () => this.#parts.owns('installation'),
      installation: store.installation,
      jobs,
      logRecords,
      retentionRemoved: this.#app.retention.removed,
      exportLines: this.#app.exports.sent,
      lostSpans: () => tracer?.lost ?? 0,
    });
  }
}

/** @throws HubError or Error in plain words when the store, the secrets or the port cannot be had */
export async function startHub(config: Config): Promise<RunningHub> {
  const basis = await prepare(config);
  const { materials, shared, chosen, clock } = basis;
  const parts = await (shared
    ? openCluster({ ...materials, clock: shared.clock }, shared)
    : openEmbedded(materials));
  const setupToken = await checkStore(basis, parts);
  const hub = new HubNode(basis, parts, setupToken);
  const port = await hub.start();
  return {
    port,
    streams: () => hub.live.counts().streams,
    isSetUp: () => parts.store.tenants.anyUser(),
    loginLink() {
      const { secrets } = materials;
      const token = secrets.token(32);
      const link = { email: null, expiresAt: clock.now() + loginLinkMs };
      keepLoginLink(config.dataDir, secrets.sha256(token), link, clock.now());
      return loginLinkUrl(config.baseUrl, token);
    },
    serverNote: chosen.note,
    printedSetupToken: setupToken?.isGenerated ? setupToken.value : null,
    stop: () => hub.stop(config.drainSeconds * 1000),
  };
}
