// The composition root: joins the parts (wire/) to handlers and the edge, and starts and stops them in order. Decides
// nothing.
import { fileURLToPath } from 'node:url';
import { dueApprovals } from '../../actors/kinds.ts';
import { startSweep } from '../../actors/runtime/deadlines.ts';
import { createAiModels } from '../../adapters/ai/index.ts';
import { createJwts } from '../../adapters/jose/jwts.ts';
import { createMessengers } from '../../adapters/messengers/messengers.ts';
import { systemClock } from '../../adapters/node/clock.ts';
import { maxConnections } from '../../adapters/node/descriptors.ts';
import { createEvaluator } from '../../adapters/node/evaluator/evaluator.ts';
import { createReplayer } from '../../adapters/node/evaluator/replayer.ts';
import { createLog } from '../../adapters/node/log.ts';
import { createLoginLinks, keepLoginLink } from '../../adapters/node/login-links.ts';
import { watchLoopDelay } from '../../adapters/node/loop-delay.ts';
import { masterSecret } from '../../adapters/node/master.ts';
import { createOutbound } from '../../adapters/node/outbound/outbound.ts';
import { createSecrets } from '../../adapters/node/secrets.ts';
import { readStaticFolder } from '../../adapters/node/static-folder.ts';
import { apiFamilies } from '../api/families.ts';
import { createAgentStreams } from '../app/agent-streams.ts';
import { createApp } from '../app/index.ts';
import { loginLinkMs, loginLinkUrl } from '../app/login-links.ts';
import type { AppPorts } from '../app/ports.ts';
import { enforceLimit } from '../app/rate-limit.ts';
import type { Config } from '../config.ts';
import { RuleSets } from '../domain/assignment.ts';
import { isHosted } from '../domain/frame.ts';
import { limitNames } from '../domain/limit-names.ts';
import type { Hub, NodeHealth, SetupToken } from '../handlers/common/hub.ts';
import { handlers } from '../handlers/console/index.ts';
import { streamHandlers } from '../handlers/console/streams.ts';
import { eventStreams } from '../handlers/hosted/event-stream.ts';
import { hostedHandlers } from '../handlers/hosted/index.ts';
import { isLoopback, proxyTest } from '../http/address.ts';
import { createBudgets } from '../http/budgets.ts';
import { createCallers } from '../http/caller.ts';
import { createCors } from '../http/headers.ts';
import { createIdempotency } from '../http/idempotency.ts';
import { joinedFrames } from '../http/live/announcer.ts';
import { consoleFrames } from '../http/live/console-frames.ts';
import { hostedFrames } from '../http/live/hosted-frames.ts';
import { createLive } from '../http/live/live.ts';
import { createMetrics } from '../http/metrics.ts';
import { openApiText } from '../http/openapi.ts';
import { bind, createPipeline } from '../http/pipeline.ts';
import type { Server } from '../http/server.ts';
import { createStaticFiles } from '../http/static-files.ts';
import { startHousekeeping } from '../jobs/housekeeping.ts';
import { workNotifications } from '../jobs/notifications.ts';
import type { Secrets } from '../ports/secrets.ts';
import type { Store } from '../ports/store.ts';
import { version } from '../version.ts';
import { openCluster } from './cluster.ts';
import { openEmbedded } from './embedded.ts';
import { bootstrapFromEnvironment, printedSetupToken } from './first-admin.ts';
import { checkMaster } from './master.ts';
import { nodeMetrics } from './node-metrics.ts';
import { chooseServer } from './server.ts';
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

/** The OpenAPI document, as the hub serves it; docs/openapi.json holds it for the default settings. */
export const openApiFor = ({ baseUrl, wire }: Config): string =>
  openApiText(apiFamilies, { title: 'Reeve', version, baseUrl, wire });

/** Where the build leaves the web console: beside the compiled sources. */
const consoleFolder = fileURLToPath(new URL('../../dashboard', import.meta.url));

/** Loops that turn every second or faster are crashed when they have not turned for so long. */
const sweepMs = 8_000;
const pushMs = 5_000;

/**
 * The token of the first set-up: SETUP_TOKEN, or one of the hub's own while it is not set up and listens to other
 * machines.
 */
async function setupTokenOf(
  { setupToken, host }: Config,
  { tenants, keyCheck }: Store,
  secrets: Secrets,
): Promise<SetupToken | null> {
  if (setupToken !== null) return { value: setupToken, made: false };
  const onlyLocal = host === 'localhost' || isLoopback(host);
  return onlyLocal || (await tenants.anyUser()) ? null : printedSetupToken(keyCheck, secrets);
}

/** @throws HubError or Error in plain words when the store, the secrets or the port cannot be had */
export async function startHub(config: Config): Promise<RunningHub> {
  const clock = systemClock;
  const log = createLog({ level: config.logLevel });
  // Before anything is opened: what does not load here is said at once.
  const chosen = await chooseServer(config.httpServer);
  const secrets = createSecrets(config.secretKey ?? masterSecret(config.dataDir));
  const workers = createWorkers(clock);
  const consoleApi = consoleFrames(config.wire.signatureEncoding);
  const hostedApi = hostedFrames(secrets);
  const streamApis = [consoleApi, hostedApi];
  const ruleSets = new RuleSets();
  const agents = (): number => live.connectedAgents();
  const materials = { config, clock, log, secrets, workers, ruleSets, streamApis, agents };
  const parts = await (config.cluster ? openCluster(materials, config.cluster) : openEmbedded(materials));
  const { store, announcer, broadcast, actors, limits, jobs } = parts;
  const setupToken = await checkMaster(store, secrets, config)
    .then(() => setupTokenOf(config, store, secrets))
    .catch(async (error: unknown) => {
      await jobs.close();
      await parts.close();
      throw error;
    });
  const { keyPrefix, apiVersions, bundleKinds, rulesetKinds } = config.wire;
  const language = { clock, keyPrefix, accepted: { apiVersions, bundleKinds, rulesetKinds } };
  const evaluator = createEvaluator(language);
  const replayer = createReplayer(language);
  const openApi = openApiFor(config);
  let draining = false;
  const reach = async (ping: () => Promise<number>): Promise<number | null> => ping().catch(() => null);
  const requests = createMetrics();
  const delay = watchLoopDelay(clock);
  const sources = {
    startedAt: clock.now(),
    requests,
    live: () => live,
    jobs,
    cluster: () => parts.cluster(),
    delay,
  };
  const health: NodeHealth = {
    store: () => reach(() => store.ping()),
    keyValue: () => reach(() => parts.keyValue()),
    storage: () => store.storage(),
    workers: () => ({ ...workers.states(), jobs: jobs.health().state }),
    connectedAgents: () => parts.connectedAgents(),
    cluster: () => parts.cluster(),
    draining: () => draining,
    metrics: () => nodeMetrics(sources),
  };
  const outbound = createOutbound({
    clock,
    allowPrivate: config.allowPrivateOutbound,
    allow: config.outboundAllow,
  });
  const ports: AppPorts = {
    store,
    actors,
    announcer,
    broadcast,
    evaluator,
    replayer,
    jobs,
    limits,
    requestLimits: parts.requestLimits,
    registrar: parts.registrar,
    ruleSets,
    outbound,
    // Whoever runs the hub says where the identity provider is.
    outboundToIssuer: createOutbound({ clock, allowPrivate: true, allow: [] }),
    models: createAiModels(outbound, config.aiAddresses),
    jwts: createJwts(),
    loginLinks: createLoginLinks(config.cluster ? null : config.dataDir),
    messengers: createMessengers({ ...config, ...config.wire, outbound, clock, version }),
    clock,
    secrets,
    log,
    health,
    settings: { ...config, version, setupToken },
  };
  const app = createApp(ports);
  const hub: Hub = { ...ports, app, openApi: () => openApi };
  const { events, admitEvents } = eventStreams(hub);
  const streams = { ...streamHandlers(hub, createAgentStreams(ports, parts.node)), admitEvents };
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
    // As many tries as logins, good ones too, counted where logins are (over all nodes).
    operatorGuess: (network) =>
      enforceLimit(limits, {
        name: limitNames.operator(network),
        max: config.loginAttempts,
        windowMs: config.loginWindowMs,
      }),
    operatorTokens: hub.app.operatorTokens,
    failedSignIn: (network) =>
      enforceLimit(limits, { name: limitNames.failedSignIns(network), max: 20, windowMs: 60_000 }),
  });
  const budgets = createBudgets();
  const live = createLive({
    budgets,
    broadcast,
    events,
    api: joinedFrames(streamApis, (audience) => (isHosted(audience) ? hostedApi : consoleApi)),
    handlers: streams,
    clock,
    log,
    isStillValid: (caller) => callers.isStillValid(caller),
    turned: workers.add('push', pushMs),
  });
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
    // What fell due while a shard had no owner is not kept waiting for the next turn.
    if (message.kind === 'shards_moved') void sweep.run();
  });
  const pipeline = createPipeline({
    families: apiFamilies,
    serve: { ...bind(hub, handlers), ...bind(hub, hostedHandlers) },
    callers,
    limits: parts.requestLimits,
    rateLimits: app.rateLimits,
    idempotency: createIdempotency({ store: store.idempotency, secrets, clock, log }),
    live,
    streams,
    cors: createCors(config.baseUrl, config.corsOrigins, config.wire.agentIdHeaders),
    metrics: requests,
    secrets,
    clock,
    log,
    trustedProxies: config.trustedProxies,
    budgets,
    openApi,
    openApiPublic: config.openApiPublic,
    files: createStaticFiles(readStaticFolder(consoleFolder)),
  });
  workNotifications(jobs, app);
  const housekeeping = startHousekeeping(jobs, {
    store,
    clock,
    log,
    signHeads: hub.app.auditLog.signHeads,
    retainAudit: hub.app.auditLog.retain,
    largeArgsDays: config.quotas.largeArgsDays,
  });

  let server: Server | null = null;
  async function stop(drainMs: number): Promise<void> {
    draining = true;
    server?.stopListening();
    housekeeping.stop();
    await live.drain(drainMs);
    live.close();
    await sweep.stop();
    await parts.stopActors();
    await jobs.close();
    workers.stop();
    delay.stop();
    await callers.close();
    await Promise.all([evaluator.close(), replayer.close()]);
    server?.close();
    await parts.close();
  }

  try {
    if (config.admin) await bootstrapFromEnvironment(hub.app.accounts, log, config.admin);
    await hub.app.accounts.ensureSigningKeys();
    await parts.begin();
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
