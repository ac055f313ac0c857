// A hub for tests of handlers: in-memory store, real actors, local adapters, a clock that stands still. Opens no
// socket.

import { hubKinds } from '../actors/kinds.ts';
import type { ActorPorts } from '../actors/ports.ts';
import type { HubKinds } from '../actors/protocol.ts';
import { createActors } from '../actors/runtime/system.ts';
import { createAiModels } from '../adapters/ai/index.ts';
import { createJwts } from '../adapters/jose/jwts.ts';
import { createLocalBroadcast } from '../adapters/local/broadcast.ts';
import { createLocalJobs } from '../adapters/local/jobs.ts';
import { createLocalLimits } from '../adapters/local/limits.ts';
import { createMessengers } from '../adapters/messengers/messengers.ts';
import { systemClock } from '../adapters/node/clock.ts';
import { createEvaluator, type EvaluatorOptions } from '../adapters/node/evaluator/evaluator.ts';
import { createReplayer } from '../adapters/node/evaluator/replayer.ts';
import { createOutbound } from '../adapters/node/outbound/outbound.ts';
import { createSecrets } from '../adapters/node/secrets.ts';
import { tenantFileFormat } from '../adapters/node/tenant-file.ts';
import { openSqliteInline, type SqliteStore } from '../adapters/sqlite/index.ts';
import { Admission } from '../src/admission/admission.ts';
import { createRouteLimits } from '../src/admission/route-limits.ts';
import { RuleSets } from '../src/agent/rules/assignment.ts';
import { Registrar } from '../src/agent/use-cases/registrar.ts';
import type { Evaluator } from '../src/evaluation/port/evaluator.ts';
import type { Replayer } from '../src/evaluation/port/replayer.ts';
import { type Caller, List, Reply, Streamed, WrittenJson } from '../src/http/contract/call.ts';
import type { Hub, Settings } from '../src/http/contract/handler.ts';
import type { ReplyBody, RouteDeclaration } from '../src/http/contract/route.ts';
import { problemsOf, validationFailed } from '../src/http/contract/validation.ts';
import { createCors } from '../src/http/headers.ts';
import { createIdempotency } from '../src/http/idempotency.ts';
import { encodeList } from '../src/http/list.ts';
import { readOwnEnvironment } from '../src/http/validate.ts';
import { handlers as consoleHandlers } from '../src/hub/api/console-handlers.ts';
import { type Api, api } from '../src/hub/api/console-routes.ts';
import { hostedHandlers } from '../src/hub/api/hosted-handlers.ts';
import { type HostedApi, hostedApi } from '../src/hub/api/hosted-routes.ts';
import { createMeters } from '../src/hub/metrics/meters.ts';
import { createApp } from '../src/hub/use-cases.ts';
import { workNotifications } from '../src/notification/jobs.ts';
import { adminRoles } from '../src/shared/env-roles.ts';
import type { Control } from '../src/shared/frame.ts';
import type { Env } from '../src/shared/ids.ts';
import type { Broadcast } from '../src/shared/ports/broadcast.ts';
import type { Jobs } from '../src/shared/ports/jobs.ts';
import type { OperatorRole } from '../src/shared/principal.ts';
import type { AppPorts } from '../src/shared/use-case-ports.ts';
import type { LoginLink } from '../src/user/port/login-links.ts';
import { ManualClock } from './clock.ts';
import { bundledThread } from './compiled.ts';
import { consoleAnnouncer, type ReadFrame, readFrame } from './frames.ts';
import { silentLog } from './log.ts';

export type UserCaller = Extract<Caller, { kind: 'user' }>;
export type HostedKeyCaller = Extract<Caller, { kind: 'hostedKey' }>;
export type OperatorCaller = Extract<Caller, { kind: 'hostedOperator' }>;
export type KeyCaller = Extract<Caller, { kind: 'key' }>;
const handlers = { ...consoleHandlers, ...hostedHandlers };
const routes = { ...api, ...hostedApi };
export type Operation = keyof typeof handlers;

/**
 * The content of a request, before validation. A body of a route that parses bytes may be a value: it is written as
 * JSON.
 */
export interface CallInput {
  readonly params?: { readonly [name: string]: string };
  readonly query?: { readonly [name: string]: string };
  readonly body?: unknown;
}

export interface CallResult<N extends Operation> {
  readonly status: number;
  readonly body: ReplyBody<(Api & HostedApi)[N]>;
  readonly headers: { readonly [name: string]: string };
  readonly cookies: readonly string[];
}

export interface TestHub {
  readonly hub: Hub & AppPorts;
  /** The same hub where some of its parts behave otherwise. */
  changed(parts: Partial<AppPorts>): Hub & AppPorts;
  readonly broadcast: Broadcast;
  readonly jobs: Jobs;
  readonly clock: ManualClock;
  /** Sign-in links that can be taken, by the hash of their token. */
  readonly loginLinks: Map<string, LoginLink>;
  /** Frames published so far, in order. */
  readonly frames: ReadFrame[];
  /** Control messages sent so far, in order. */
  readonly controls: Control[];
  /**
   * Calls a handler as the pipeline does: validated input, full reply. The caller is not checked against the route's
   * auth.
   */
  call<N extends Operation>(
    operation: N,
    input?: CallInput,
    caller?: Caller,
    request?: {
      readonly network?: string;
      readonly local?: boolean;
      readonly headers?: { readonly [name: string]: string };
    },
  ): Promise<CallResult<N>>;
  /** A new tenant's signed-in admin. */
  tenant(email?: string): Promise<UserCaller>;
  /** An admin of the tenant with a token of the hosted API. */
  operator(user: UserCaller, role?: OperatorRole): OperatorCaller;
  /** The same on the hosted API; without an environment the key is for all. */
  hostedKey(user: UserCaller, env?: Env | null, agentId?: string | null): HostedKeyCaller;
  /** A caller with an API key of the tenant (the key is not stored). */
  key(user: UserCaller, env?: Env, agentId?: string | null): KeyCaller;
  /** Types of the frames published since the last call of this function. */
  newFrames(): readonly ReadFrame[];
  close(): Promise<void>;
}

const settings: Settings = {
  version: '0.0.0-test',
  baseUrl: 'http://localhost:8000',
  setupToken: null,
  operatorToken: null,
  operatorTokens: true,
  oidc: null,
  oidcSessionMs: 12 * 3_600_000,
  passwordLogin: true,
  sessionTtlMs: 24 * 3_600_000,
  loginAttempts: 10,
  loginWindowMs: 300_000,
  approvalsPerMinute: 10,
  ingestEventsPerMinute: 6_000_000,
  runStaleMs: 900_000,
  agentStaleMs: 900_000,
  auditRetentionDays: 0,
  wire: {
    agentIdHeaders: ['x-service-agent-id'],
    sessionCookie: 'service_session',
    signatureHeader: 'X-Service-Signature',
    keyPrefix: 'svk_',
    tokenPrefix: 'svt_',
    actionPrefix: 'reeve',
    apiVersions: ['service/v1'],
    bundleKinds: ['ContractBundle'],
    rulesetKinds: ['Ruleset'],
    signatureEncoding: 'hex',
  },
  aiPrices: {},
  chatBotUrl: 'http://127.0.0.1:9',
  chatBotSecretHeaders: ['x-chat-bot-secret-token', 'x-telegram-bot-api-secret-token'],
  quotas: { sessionBytes: 1 << 28, sessionKeys: 1_000_000, largeArgsBytes: 1 << 30, largeArgsDays: 90 },
};

const evaluatorThread = bundledThread('worker');

const threadParts = {
  clock: systemClock,
  accepted: { apiVersions: settings.wire.apiVersions },
  ...(evaluatorThread ? { entry: evaluatorThread } : {}),
};

/** An evaluator of a test's own. Close it when done. It runs in real time, which threads cannot do without. */
export const makeEvaluator = (changed: Partial<EvaluatorOptions> = {}): Evaluator =>
  createEvaluator({ ...threadParts, ...changed });

let evaluatorOfAll: Evaluator | undefined;
let replayerOfAll: Replayer | undefined;

/** The evaluator of all hubs of this process, which ends it: a thread loads for longer than most tests take. */
export function sharedEvaluator(): Evaluator {
  evaluatorOfAll ??= makeEvaluator();
  return evaluatorOfAll;
}

/** The replayer of all hubs of this process. */
export function sharedReplayer(): Replayer {
  replayerOfAll ??= createReplayer(threadParts);
  return replayerOfAll;
}

/** Data that a hub finds at its start. */
export interface HubData {
  /** Closed with the hub. */
  readonly store?: SqliteStore;
  readonly masterSecret?: string;
  /** Epoch milliseconds. */
  readonly now?: number;
}

/**
 * @param changed settings other than the defaults
 * @param own an evaluator that the hub uses and does not close; by default that of all hubs of the process
 * @param replays a replayer, likewise
 */
export async function makeHub(
  changed: Partial<Settings> & {
    readonly newAgentsPerMinute?: number;
    readonly maxAgents?: number;
    readonly signInProvider?: AppPorts['signInProvider'];
  } = {},
  own?: Evaluator,
  replays?: Replayer,
  data: HubData = {},
): Promise<TestHub> {
  const clock = new ManualClock(data.now);
  const loginLinks = new Map<string, LoginLink>();
  const frames: ReadFrame[] = [];
  const controls: Control[] = [];
  const store = data.store ?? (await openSqliteInline(':memory:'));
  // Cheap password hashes: what they cost is tested elsewhere.
  const secrets = createSecrets(data.masterSecret ?? 'a master secret of tests, 32 bytes', { cost: 16 });
  const local = createLocalBroadcast({ clock, log: silentLog });
  const broadcast: Broadcast = {
    follow: (audience, deliver, lost) => local.follow(audience, deliver, lost),
    onControl: (listener) => local.onControl(listener),
    since: (audience, position) => local.since(audience, position),
    close: () => local.close(),
    async publish(published) {
      frames.push(...published.map(readFrame));
      await local.publish(published);
    },
    async control(message) {
      controls.push(message);
      await local.control(message);
    },
  };
  const full: Settings = { ...settings, ...changed };
  const cors = createCors(full.baseUrl, ['http://localhost:3000'], full.wire.agentIdHeaders);
  const limits = createLocalLimits({ clock });
  const ruleSets = new RuleSets();
  const announcer = consoleAnnouncer(broadcast, full.wire.signatureEncoding);
  const registrar = new Registrar({
    agents: store.agents,
    limits,
    clock,
    secrets,
    log: silentLog,
    newPerMinute: changed.newAgentsPerMinute ?? 20_000,
    maxLive: changed.maxAgents ?? 200_000,
  });
  const meters = createMeters();
  const ports: ActorPorts = { store, secrets, ruleSets, registrar, isGone: () => false, meters };
  const jobs = createLocalJobs({ table: store.jobs, clock, log: silentLog });
  const actors = createActors<HubKinds, ActorPorts>({
    jobs,
    definitions: hubKinds,
    ports,
    clock,
    announcer,
    broadcast,
    log: silentLog,
  });
  const evaluator = own ?? sharedEvaluator();
  const replayer = replays ?? sharedReplayer();
  // Other services are played on loopback; how long they take is real time.
  const outbound = createOutbound({ clock: systemClock, allowPrivate: true, allow: [] });
  const messengers = createMessengers({
    workspaceChatUrl: full.chatBotUrl,
    communityChatUrl: full.chatBotUrl,
    ...full,
    ...full.wire,
    outbound,
    clock,
    version: full.version,
  });
  const appPorts: AppPorts = {
    admission: new Admission(clock),
    store,
    actors,
    announcer,
    broadcast,
    evaluator,
    replayer,
    jobs,
    limits,
    requestLimits: limits,
    registrar,
    ruleSets,
    outbound,
    outboundToIssuer: outbound,
    models: createAiModels(outbound, {
      hosted_a: 'http://localhost:1',
      hosted_b: 'http://localhost:1',
      router: 'http://localhost:1',
      local: 'http://localhost:1',
    }),
    signInProvider: changed.signInProvider ?? null,
    jwts: createJwts(),
    fileFormat: tenantFileFormat,
    loginLinks: {
      take: async (hash) => {
        const link = loginLinks.get(hash) ?? null;
        loginLinks.delete(hash);
        return link;
      },
    },
    messengers,
    clock,
    secrets,
    log: silentLog,
    settings: full,
    meters,
    health: {
      store: async () => 0.123,
      keyValue: async () => 0.456,
      storage: () => ({
        state: 'ok',
        freeBytes: 9_000_000_000,
        totalBytes: 20_000_000_000,
        reserveBytes: 512,
      }),
      workers: () => ({ deadlines: 'running' }),
      cluster: async () => ({
        mode: 'embedded',
        node: 'n1',
        nodes: [{ node: 'n1', version: full.version, startedAt: 0, agents: 0, shards: [0, 1] }],
        shardCount: 3,
        lag: [{ shard: 1, waiting: 2, oldestMs: 5 }],
        broadcastLagMs: 0,
      }),
      draining: () => false,
      isAloneWithout: async () => true,
      metrics: async () => ({
        node: 'n1',
        startedAt: 0,
        routes: [],
        bucketsMs: [1],
        streams: { agents: 0, dashboards: 0, blocked: 0, ended: {} },
        storedEvents: 0,
        installation: { storeBytes: null, deadJobs: 0, unsignedSince: null, lastBackupAt: null },
        queues: { messages: 0, oldestMessageMs: 0, broadcastLagMs: 0, jobs: 0 },
        eventLoop: { meanMs: 0, p99Ms: 0, maxMs: 0 },
      }),
      series: async () => ({ node: 'n1', startedAt: 0, intervalMs: 300_000, points: [] }),
    },
  };
  const changedHub = (parts: Partial<AppPorts>): Hub & AppPorts => ({
    ...appPorts,
    ...parts,
    app: createApp({ ...appPorts, ...parts }),
  });
  const hub = changedHub({});
  workNotifications(jobs, hub.app);
  let told = 0;
  let tenants = 0;

  const testHub: TestHub = {
    loginLinks,
    hub,
    changed: changedHub,
    broadcast,
    jobs,
    clock,
    frames,
    controls,
    async call(operation, input = {}, caller = { kind: 'none' }, request = {}) {
      const declaration: RouteDeclaration = routes[operation];
      const headers = request.headers ?? {};
      const network = request.network ?? ('network' in caller ? caller.network : '127.0.0.1');
      const own = createRouteLimits(hub.app.rateLimits, declaration, caller, network);
      const idempotency = createIdempotency({ store: store.idempotency, secrets, clock, log: silentLog });
      const keyed = {
        operation,
        declaration,
        caller,
        headers: new Map(Object.entries(headers)),
      };
      const full = {
        id: 'request',
        network,
        limits: own.own,
        local: request.local ?? true,
        isFromForeignPage: cors.isFromForeignPage(new Map(Object.entries(headers))),
        header: (name: string) => headers[name] ?? null,
        recheckCaller: async () => true,
      };
      const query = readOwnEnvironment(declaration, caller, input.query ?? {});
      // The input was validated by the declaration itself, so it is what the handler's type says.
      const parts = validated(declaration, { ...input, query });
      await own.before(parts);
      const handle = (newId: string | null): Promise<unknown> =>
        handlers[operation](hub, parts as never, caller as never, { ...full, newId });
      const answered = await idempotency.run(keyed, idempotency.keyOf(keyed), parts, handle);
      const isJson = declaration.media === undefined;
      const result = answered instanceof Streamed && isJson ? await received(answered) : answered;
      const reply =
        result instanceof Reply
          ? result
          : result instanceof List
            ? sent(result, declaration, input)
            : new Reply(result);
      const body: unknown =
        reply.body instanceof WrittenJson
          ? JSON.parse(new TextDecoder().decode(reply.body.bytes))
          : reply.body;
      // The handler keeps the declaration's promises: the typed client and the OpenAPI document rely on it.
      if (reply.status !== 304) declaration.reply?.parse(body);
      return {
        status: reply.status ?? declaration.status,
        body: body as never,
        headers: reply.headers,
        cookies: reply.cookies,
      };
    },
    async tenant(email = `admin${++tenants}@example.com`) {
      const body = { name: email, email, password: 'correct horse battery' };
      const { tenant_id, user_id } = (await testHub.call('createTenant', { body }, { kind: 'operator' }))
        .body;
      return {
        kind: 'user',
        userId: user_id,
        tenantId: tenant_id,
        email,
        roles: adminRoles,
        tokenHash: user_id,
      };
    },
    hostedKey: (user, env = null, agentId = 'agent-1') => ({
      ...testHub.key(user, env ?? 'production', agentId),
      kind: 'hostedKey',
      env,
    }),
    operator: ({ tenantId, userId, email }, role = 'admin') => ({
      kind: 'hostedOperator',
      tenantId,
      issuer: 'https://issuer.example',
      subject: userId,
      display: email,
      roles: [{ role, env: '*' }],
      loginHash: null,
      expiresAt: Number.MAX_SAFE_INTEGER,
    }),
    key: ({ tenantId }, env = 'production', agentId = 'agent-1') => ({
      kind: 'key',
      keyId: `key-${tenantId}-${env}`,
      keyPrefix: `svk_${env}_12345678`,
      keyHash: secrets.sha256(`${tenantId}/${env}`),
      tenantId,
      env,
      agentId,
      agentPattern: null,
      expiresAt: null,
      network: '203.0.113.9',
    }),
    newFrames() {
      const found = frames.slice(told);
      told = frames.length;
      return found;
    },
    async close() {
      await actors.stop(0);
      await jobs.close();
      await broadcast.close();
      await store.close();
    },
  };
  return testHub;
}

/** A body of JSON that is made while it is sent, as its client has it. */
async function received({ pieces, headers, ended }: Streamed): Promise<Reply<unknown>> {
  let text = '';
  for (let next = await pieces.next(); !next.done; next = await pieces.next()) text += next.value;
  ended();
  return new Reply(JSON.parse(text), { headers });
}

/** A list as it goes out. */
function sent(list: List<object>, { path }: RouteDeclaration, { query }: CallInput): Reply<unknown> {
  const target = { path, query: new URLSearchParams(query as { [name: string]: string }).toString() };
  const { json, headers } = encodeList(list, target);
  return new Reply(JSON.parse(json), { headers: Object.fromEntries(headers) });
}

/** As the pipeline validates. @throws HubError validation_failed */
function validated(declaration: RouteDeclaration, input: CallInput) {
  const problems = [];
  const parts: { params: unknown; query: unknown; body: unknown } = { params: {}, query: {}, body: {} };
  for (const [part, place] of [
    ['params', 'path'],
    ['query', 'query'],
    ['body', 'body'],
  ] as const) {
    if (part === 'body' && declaration.parse === 'bytes') {
      parts.body = input.body instanceof Uint8Array ? input.body : Buffer.from(JSON.stringify(input.body));
      continue;
    }
    const schema = declaration[part];
    if (!schema) continue;
    const result = schema.safeParse(
      input[part] ?? (part === 'body' && !declaration.optionalBody ? undefined : {}),
    );
    if (result.success) parts[part] = result.data;
    else problems.push(...problemsOf(result.error, place));
  }
  if (problems.length > 0) throw validationFailed(problems);
  return parts;
}
