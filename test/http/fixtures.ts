// Parts that the tests of the edge share: small tables, stub stores, and a pipeline on them.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { createLocalBroadcast } from '../../adapters/local/broadcast.ts';
import { createLocalLimits } from '../../adapters/local/limits.ts';
import { type Budgets, createBudgets } from '../../src/admission/byte-budgets.ts';
import type { Limit } from '../../src/admission/limit.ts';
import { limitSubjectOf, limits as limitTable } from '../../src/admission/limit.ts';
import { createRateLimits } from '../../src/admission/rate-limit.ts';
import { createCallers } from '../../src/http/caller.ts';
import { env, line } from '../../src/http/contract/fields.ts';
import { consoleAgentFrames, consoleDashboardFrames } from '../../src/http/contract/frames.ts';
import { routes, smallBody } from '../../src/http/contract/route.ts';
import type { AdmittedStream, StreamHandlers } from '../../src/http/contract/stream.ts';
import { createCors } from '../../src/http/headers.ts';
import { oneApi } from '../../src/http/live/announcer.ts';
import { consoleFrames } from '../../src/http/live/console-frames.ts';
import { createLive } from '../../src/http/live/live.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { createPipeline } from '../../src/http/pipeline.ts';
import type { RawRequest, RawResponse } from '../../src/http/raw.ts';
import type { Serve } from '../../src/http/serve.ts';
import type { Served } from '../../src/http/service-tokens.ts';
import { createMeters } from '../../src/hub/metrics/meters.ts';
import { keyRoutes } from '../../src/key/console/routes.ts';
import type { ApiKey } from '../../src/key/record.ts';
import type { Announcement } from '../../src/shared/announcement.ts';
import { memberRoles } from '../../src/shared/env-roles.ts';
import { HubError } from '../../src/shared/error.ts';
import { agentsOf, dashboardsOf } from '../../src/shared/frame.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import { isOperatorRole } from '../../src/shared/principal.ts';
import type { Login, User } from '../../src/user/record.ts';
import { ManualClock } from '../clock.ts';
import { memoryLog } from '../log.ts';

export const wire = {
  agentIdHeaders: ['x-service-agent-id'],
  sessionCookie: 'service_session',
  keyPrefix: 'svk_',
  tokenPrefix: 'svt_',
};

export const hostedTestLimits = {
  ofAgent: { name: 'test-agent', per: 'agent', max: 2 },
  told: { name: 'test-told', per: 'tenant', max: 7, byHandler: true },
} as const satisfies { readonly [name: string]: Limit };

/** Routes of an API whose errors are problem documents. */
export const hostedTestRoutes = routes({
  hostedLimited: {
    method: 'POST',
    path: '/v1/limited',
    auth: ['hostedKey'],
    role: 'agent',
    envs: 'none',
    tag: 'test',
    summary: 'Has limits of its own',
    body: z.object({ text: z.string().max(5), agent_id: z.string().optional() }),
    agent: 'body',
    limits: [hostedTestLimits.ofAgent, hostedTestLimits.told],
    status: 200,
    reply: z.unknown(),
    errors: [],
  },
  hostedEcho: {
    method: 'POST',
    path: '/v1/echo',
    auth: ['hostedKey', 'operatorJwt'],
    envs: 'none',
    role: 'operator',
    tag: 'test',
    summary: 'Answers who called',
    body: z.object({ text: z.string().max(5) }),
    status: 201,
    reply: z.unknown(),
    errors: ['validation_failed'],
  },
  hostedForPeople: {
    method: 'DELETE',
    path: '/v1/echo',
    auth: ['operatorJwt'],
    envs: 'none',
    role: 'admin',
    tag: 'test',
    summary: 'For people',
    status: 200,
    reply: z.unknown(),
    errors: [],
  },
  hostedForKeys: {
    method: 'PUT',
    path: '/v1/echo',
    auth: ['hostedKey'],
    role: 'agent',
    envs: 'none',
    tag: 'test',
    summary: 'For agents',
    status: 200,
    reply: z.unknown(),
    errors: [],
  },
});

export const testRoutes = routes({
  echo: {
    method: 'POST',
    path: '/api/v1/echo/{name}',
    auth: ['key', 'cookie'],
    role: 'viewer',
    envs: 'none',
    tag: 'test',
    summary: 'Answers what it got',
    params: z.object({ name: line(10) }),
    query: z.object({ n: z.coerce.number().int().max(9).optional() }),
    body: z.object({ text: z.string().max(5), more: z.unknown().optional() }),
    status: 201,
    reply: z.unknown(),
    errors: ['validation_failed'],
  },
  getValue: {
    method: 'GET',
    path: '/api/v1/sessions/{key+}',
    auth: ['key'],
    role: 'agent',
    envs: 'none',
    tag: 'test',
    summary: 'A key with slashes',
    params: z.object({ key: z.string() }),
    status: 200,
    reply: z.object({ key: z.string() }),
    errors: [],
  },
  ofEnvironment: {
    method: 'GET',
    path: '/api/v1/environment',
    auth: ['key', 'cookie'],
    role: 'viewer',
    envs: 'query',
    ownEnvironment: true,
    tag: 'test',
    summary: 'The environment in the query',
    query: z.object({ env: env.optional(), n: z.coerce.number().int().optional() }),
    status: 200,
    reply: z.unknown(),
    errors: ['env_mismatch', 'validation_failed'],
  },
  download: {
    method: 'GET',
    path: '/api/v1/download',
    auth: ['key'],
    role: 'agent',
    envs: 'none',
    tag: 'test',
    summary: 'An answer of any size',
    download: true,
    status: 200,
    reply: z.unknown(),
    errors: [],
  },
  bump: {
    method: 'POST',
    path: '/api/v1/sessions/{key+}/increment',
    auth: ['key'],
    role: 'agent',
    envs: 'none',
    tag: 'test',
    summary: 'A tail with a fixed end',
    params: z.object({ key: z.string() }),
    status: 200,
    reply: z.object({ key: z.string() }),
    errors: [],
  },
  batch: {
    method: 'POST',
    path: '/api/v1/sessions/batch',
    auth: ['key'],
    role: 'agent',
    envs: 'none',
    tag: 'test',
    summary: 'A fixed path beside the tail',
    body: z.object({ keys: z.array(z.string()) }),
    optionalBody: true,
    status: 200,
    reply: z.unknown(),
    errors: [],
  },
  ingest: {
    method: 'POST',
    path: '/api/v1/events',
    auth: ['key'],
    role: 'agent',
    envs: 'none',
    tag: 'test',
    summary: 'Raw bytes',
    parse: 'bytes',
    limit: 'own',
    status: 200,
    reply: z.object({ bytes: z.number() }),
    errors: [],
  },
  setup: {
    method: 'POST',
    path: '/api/v1/setup',
    csrfMessage: 'Missing X-Requested-With header.',
    bodyLimit: smallBody,
    auth: [],
    role: 'nobody',
    envs: 'none',
    tag: 'test',
    summary: 'First admin',
    body: z.object({ email: z.string() }),
    status: 201,
    reply: z.unknown(),
    errors: [],
  },
  operate: {
    method: 'POST',
    path: '/api/v1/operator/act',
    auth: ['operatorToken'],
    role: 'installation',
    envs: 'none',
    tag: 'test',
    summary: 'An operator route',
    status: 204,
    errors: [],
  },
  remove: {
    method: 'DELETE',
    path: '/api/v1/things/{name}',
    auth: ['key', 'cookie'],
    role: 'viewer',
    envs: 'none',
    tag: 'test',
    summary: 'Answers nothing',
    params: z.object({ name: line(10) }),
    status: 204,
    errors: [],
  },
  broken: {
    method: 'GET',
    path: '/api/v1/broken',
    auth: [],
    role: 'nobody',
    envs: 'none',
    tag: 'test',
    summary: 'Throws',
    status: 200,
    reply: z.null(),
    errors: [],
  },
  agentStream: {
    method: 'GET',
    path: '/api/v1/stream',
    auth: ['key'],
    role: 'agent',
    envs: 'none',
    tag: 'stream',
    summary: 'Agent stream',
    query: z.object({ env, bundle_name: z.string().optional() }),
    status: 200,
    media: 'text/event-stream',
    frames: consoleAgentFrames,
    errors: ['env_mismatch'],
  },
  dashboardStream: {
    method: 'GET',
    path: '/api/v1/stream/dashboard',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'none',
    tag: 'stream',
    summary: 'Dashboard stream',
    status: 200,
    media: 'text/event-stream',
    frames: consoleDashboardFrames,
    errors: [],
  },
});

export const keyText = 'svk_production_0123456789';
export const hashOf = (text: string | Uint8Array): string => createHash('sha256').update(text).digest('hex');

export const secrets = {
  sha256: hashOf,
  equal: (a: string, b: string) => a === b,
  uuid: () => crypto.randomUUID() as string,
  token: (bytes: number) => Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString('base64url'),
};

/** Stream handlers that admit everybody and record what happens. */
export function recordingStreams() {
  const seen = {
    closed: [] as string[],
    announced: [] as string[],
    announce: (async () => undefined) as (id: string) => Promise<void>,
    catchUp: (async () => []) as (agentId: string | null) => Promise<readonly Announcement[]>,
    message: (async (message) => ({ got: message.type })) as (message: {
      type: string;
      body: unknown;
    }) => Promise<unknown>,
  };
  const admitted = (
    fields: Pick<AdmittedStream, 'audience' | 'agentId' | 'bundleName' | 'pinned'>,
    id: string,
  ) => ({
    ...fields,
    catchUp: () => seen.catchUp(fields.agentId),
    async announce() {
      await seen.announce(id);
      seen.announced.push(id);
    },
    closed: () => void seen.closed.push(id),
  });
  const handlers: StreamHandlers = {
    async admitAgent(caller, query, id) {
      if (query.env !== caller.env)
        throw new HubError('env_mismatch', `API key is scoped to '${caller.env}'.`);
      return admitted(
        {
          audience: agentsOf(caller.tenantId, caller.env),
          agentId: caller.agentId ?? 'default',
          bundleName: query.bundle_name ?? null,
          pinned: query.bundle_name !== undefined,
        },
        id,
      );
    },
    async admitHosted() {
      throw new TypeError('no hosted stream here');
    },
    async admitEvents() {
      throw new TypeError('no stream of events here');
    },
    async admitDashboard(caller, _query, id) {
      return admitted(
        { audience: dashboardsOf(caller.tenantId), agentId: null, bundleName: null, pinned: true },
        id,
      );
    },
    message: (_caller, message) => seen.message(message),
  };
  return { seen, handlers };
}

/** A pipeline over stub stores with one key, one user signed in by the token `token`, and whatever `serve` adds. */
export function edge(
  options: {
    serve?: Serve;
    clock?: Clock;
    requestsPerMinute?: number;
    operatorToken?: string | null;
    openApiPublic?: boolean;
    budgets?: Budgets;
    /** In place of counts in this process. */
    limits?: ReturnType<typeof createLocalLimits>;
    /** Instead of moving the end of a login. */
    extend?: () => Promise<void>;
  } = {},
) {
  const clock = options.clock ?? new ManualClock();
  const log = memoryLog();
  const broadcast = createLocalBroadcast({ clock, log });
  const keys = new Map<string, ApiKey>();
  const services = new Map<string, Served>();
  const reads = { keys: 0, users: 0 };
  const used: { id: string; at: number }[] = [];
  const extended: number[] = [];
  const key: ApiKey = {
    id: 'key-1',
    tenantId: 't1',
    env: 'production',
    label: null,
    prefix: 'svk_production_01234567',
    hash: hashOf(keyText),
    agentPattern: null,
    createdBy: 'a@b.c',
    createdAt: clock.now(),
    expiresAt: null,
    lastUsedAt: null,
    revokedAt: null,
  };
  keys.set(key.hash, key);
  const user: User = {
    id: 'user-1',
    tenantId: 't1',
    email: 'a@b.c',
    passwordHash: '',
    roles: memberRoles,
    createdAt: clock.now(),
  };
  const logins = new Map<string, Login>();
  const sessionTtlMs = 24 * 3_600_000;
  logins.set(hashOf('token'), {
    tokenHash: hashOf('token'),
    userId: user.id,
    tenantId: 't1',
    createdAt: clock.now(),
    expiresAt: clock.now() + sessionTtlMs,
    lastSeenAt: clock.now(),
    network: null,
    browser: null,
    method: null,
    providerSession: null,
  });
  const people: { user: User | null } = { user };
  const { limits = createLocalLimits({ clock }) } = options;
  const { requestsPerMinute } = options;
  const rateLimits = createRateLimits({
    limits,
    requestLimits: limits,
    meters: createMeters(),
    settings: {
      approvalsPerMinute: 10,
      ingestEventsPerMinute: 1_000,
      loginAttempts: 3,
      loginWindowMs: 300_000,
      ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
    },
  });
  const callers = createCallers({
    tenants: { listClosed: async () => [] },
    oidcSessionMs: 12 * 3_600_000,
    keys: {
      async getByHash(hash) {
        reads.keys++;
        return keys.get(hash) ?? null;
      },
      async used(list) {
        used.push(...list);
      },
    },
    logins: {
      async get(hash, now) {
        const login = logins.get(hash);
        return login && login.expiresAt > now ? login : null;
      },
      async extend(hash, expiresAt) {
        await options.extend?.();
        extended.push(expiresAt);
        const login = logins.get(hash);
        if (login) logins.set(hash, { ...login, expiresAt });
      },
    },
    serviceAccounts: {
      getByHash: async (hash) => services.get(hash) ?? null,
      used: async () => {},
    },
    users: {
      async getUser() {
        reads.users++;
        return people.user;
      },
    },
    secrets,
    clock,
    log,
    wire,
    baseUrl: 'http://localhost:8000',
    sessionTtlMs,
    operatorToken: options.operatorToken === undefined ? 'operate-me' : options.operatorToken,
    // Tokens of these tests are the word `token-` and a role.
    operatorTokens: {
      isRevoked: async () => false,
      async identify(token) {
        const role = token.slice('token-'.length);
        if (!isOperatorRole(role)) throw new HubError('unauthenticated', 'no such token');
        return {
          tenantId: 't1',
          issuer: 'https://issuer.example',
          subject: 'ann',
          display: 'ann@example.com',
          roles: [{ role, env: '*' }],
          loginHash: null,
          expiresAt: clock.now() + 1000,
        };
      },
    },
    async failedSignIn(network) {
      await rateLimits.count(limitTable.wrongCredentials, limitSubjectOf({ kind: 'none' }, network));
    },
    async operatorGuess(network) {
      await rateLimits.count(limitTable.operatorTokens, limitSubjectOf({ kind: 'none' }, network));
    },
  });
  const streams = recordingStreams();
  const budgets = options.budgets ?? createBudgets();
  const live = createLive({
    budgets,
    broadcast,
    api: oneApi(consoleFrames('hex')),
    handlers: streams.handlers,
    clock,
    log,
    isStillValid: callers.isStillValid,
  });
  broadcast.onControl((message) => {
    callers.control(message);
    live.control(message);
  });
  const metrics = createMetrics();
  const pipeline = createPipeline({
    families: [
      { prefix: '', errors: 'detail', routes: { ...testRoutes, ...keyRoutes } },
      { prefix: '/v1', errors: 'problem', routes: hostedTestRoutes },
    ],
    serve: {
      echo: async (input, caller, request) => ({ ...input, caller: caller.kind, network: request.network }),
      getValue: async ({ params }) => params,
      ofEnvironment: async ({ query }) => query,
      download: async () => ({}),
      bump: async ({ params }) => params,
      batch: async ({ body }) => body,
      ingest: async ({ body }) => ({ bytes: (body as Uint8Array).length }),
      setup: async () => ({ message: 'Admin created' }),
      operate: async () => null,
      remove: async () => null,
      broken: async () => {
        throw new TypeError('secret detail');
      },
      hostedLimited: async () => ({}),
      hostedEcho: async (_input, caller) => ({ kind: caller.kind }),
      hostedForPeople: async (_input, caller) => ({ kind: caller.kind }),
      hostedForKeys: async (_input, caller) => ({ kind: caller.kind }),
      createKey: async () => ({}),
      listKeys: async () => [],
      revokeKey: async () => null,
      ...options.serve,
    },
    callers,
    rateLimits,
    idempotency: {
      keyOf: () => null,
      run: (_sent, _key, _input, handle) => handle(null),
      answered: async () => null,
    },
    live,
    streams: streams.handlers,
    cors: createCors('http://localhost:8000', ['http://localhost:3000'], wire.agentIdHeaders),
    metrics,
    secrets,
    clock,
    log,
    trustedProxies: ['10.0.0.0/8', '::1'],
    openApi: () => Buffer.from('{"openapi":"3.1.0"}'),
    budgets,
    ...(options.openApiPublic === undefined ? {} : { openApiPublic: options.openApiPublic }),
  });
  return {
    pipeline,
    callers,
    live,
    broadcast,
    streams,
    metrics,
    clock,
    log,
    keys,
    key,
    services,
    logins,
    people,
    reads,
    used,
    extended,
  };
}

export const asKey = { authorization: `Bearer ${keyText}` };
export const asUser = { cookie: 'service_session=token', 'x-requested-with': 'x' };

/** A raw request without a socket. */
export function raw(
  method: string,
  url: string,
  headers: { [name: string]: string } = {},
  body: string | Uint8Array = '',
  more: Partial<RawRequest> = {},
): RawRequest {
  const [path = '', query = ''] = url.split('?', 2);
  return {
    method,
    path,
    query,
    headers: new Map(Object.entries(headers)),
    remote: '127.0.0.1',
    upgrade: false,
    refused: null,
    body: async () => (typeof body === 'string' ? new TextEncoder().encode(body) : body),
    ...more,
  };
}

export function headerOf(response: RawResponse, name: string): string | undefined {
  const all = [...response.headers, ...response.common.list];
  return all.find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
}

export const jsonOf = (response: RawResponse): { detail?: unknown; code?: string; [key: string]: unknown } =>
  JSON.parse(String(response.body));
