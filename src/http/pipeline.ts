// From a raw request to a raw response: match → caller → limit → parse → handle → encode. The only catch. Knows no
// socket and none of the routes.

import { Admission } from '../admission/admission.ts';
import { type Budgets, checkAnswer, createBudgets } from '../admission/byte-budgets.ts';
import type { RateLimits } from '../admission/rate-limit.ts';
import { countArrival, type LimitedRoute } from '../admission/route-limits.ts';
import { SharedTexts } from '../shared/concurrency/shared-texts.ts';
import { HubError } from '../shared/error.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { Log } from '../shared/ports/log.ts';
import type { Secrets } from '../shared/ports/secrets.ts';
import type { OpenSpan } from '../shared/tracing.ts';
import { clientAddress, networkOf } from './address.ts';
import type { Callers } from './caller.ts';
import type { Caller } from './contract/call.ts';
import { type ApiFamily, defaultBody, type RouteDeclaration } from './contract/route.ts';
import type { StreamHandlers } from './contract/stream.ts';
import { downloadsPath } from './downloads.ts';
import { noStore, plain } from './encode.ts';
import { createFinish, limitHeaders, nameOf, requestIds, type Seen, sizeOf } from './finish.ts';
import { type Cors, commonHeaders, type HeaderBlock } from './headers.ts';
import type { Idempotency } from './idempotency.ts';
import type { Live } from './live/live.ts';
import type { Metrics } from './metrics.ts';
import { allowOf, errorReply } from './problem.ts';
import { type RawRequest, type RawResponse, TransportGone } from './raw.ts';
import { noteRequest, requestSpan } from './request-span.ts';
import { RouteAnswers } from './route-answers.ts';
import { createRouter, families, type Route } from './router.ts';
import type { Serve } from './serve.ts';
import type { StaticFiles } from './static-files.ts';
import { openStream } from './streams.ts';

/** A path beside the APIs that has its own credentials. */
export interface Exposition {
  readonly path: string;
  /** @throws HubError */
  answer(raw: RawRequest): Promise<RawResponse>;
}

export interface PipelineOptions {
  readonly families: readonly ApiFamily[];
  readonly serve: Serve;
  readonly callers: Callers;
  readonly rateLimits: RateLimits;
  readonly idempotency: Idempotency;
  readonly live: Live;
  readonly streams: StreamHandlers;
  readonly cors: Cors;
  readonly metrics: Metrics;
  readonly secrets: Pick<Secrets, 'uuid' | 'token'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Addresses and ranges whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  /** The document that GET /api/openapi.json serves. It holds no tenant's data. */
  readonly openApi: () => Uint8Array;
  /** True if the OpenAPI document needs no login and no key. Default: true. */
  readonly openApiPublic?: boolean;
  /** The web console; default: none. */
  readonly files?: StaticFiles;
  readonly downloads?: StaticFiles;
  /** The node's metrics as text; default: none. */
  readonly exposition?: Exposition | undefined;
  /** Answers whoever proves the master secret; default: none. */
  readonly probe?: Exposition | undefined;
  /** Shared with the live streams of the node; default: its own. */
  readonly budgets?: Budgets;
  /** Shared by all parts of the node. Default: one for this pipeline alone. */
  readonly admission?: Admission;
}

const maxStreamNetworks = 10_000;

export interface Pipeline {
  readonly budgets: Budgets;
  readonly admission: Admission;
  /** Network that a request comes from, as limits count it. */
  networkOf(raw: Pick<RawRequest, 'remote' | 'headers'>): string;
  /** The most bytes the body of this request may have. */
  bodyLimit(method: string, path: string): number;
  /** True for a request for a live stream: thousands of them can arrive at once. */
  isOpening(raw: Pick<RawRequest, 'method' | 'path'>): boolean;
  /** Never rejects, but with TransportGone when the client disconnected before its body was read. */
  handle(raw: RawRequest): Promise<RawResponse>;
}

/** @throws Error when a route has no handler, or the tables or proxies are malformed: a server must not start then */
export const createPipeline = (options: PipelineOptions): Pipeline => new RequestPipeline(options);

class RequestPipeline implements Pipeline {
  readonly budgets: Budgets;
  readonly admission: Admission;
  readonly #options: PipelineOptions;
  readonly #router: ReturnType<typeof createRouter>;
  readonly #familyOf: ReturnType<typeof families>;
  readonly #routeAnswers: RouteAnswers;
  readonly #finish: ReturnType<typeof createFinish>;
  readonly #behindProxies: ReturnType<typeof clientAddress>;
  readonly #routeNames = new Map<Route, string>();
  readonly #streamPaths = new Set<string>();
  /** Each stream keeps its client's network, and many clients share one. */
  readonly #streamNetworks = new SharedTexts(maxStreamNetworks);

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.budgets = options.budgets ?? createBudgets();
    this.#router = createRouter(options.families.map(({ routes }) => routes));
    this.#familyOf = families(options.families);
    this.admission = options.admission ?? new Admission(options.clock);
    this.#routeAnswers = new RouteAnswers({ ...options, budgets: this.budgets, admission: this.admission });
    this.#finish = createFinish(options);
    this.#behindProxies = clientAddress(options.trustedProxies);
    for (const route of this.#router.routes) {
      const { name, declaration } = route;
      this.#routeNames.set(route, `${declaration.method} ${declaration.path}`);
      if (options.serve[name]) continue;
      if (!isStream(declaration)) throw new Error(`the route ${name} has no handler`);
      this.#streamPaths.add(declaration.path);
    }
  }

  networkOf({ remote, headers }: Pick<RawRequest, 'remote' | 'headers'>): string {
    return networkOf(this.#behindProxies(remote, headers.get('x-forwarded-for') ?? ''));
  }

  bodyLimit(method: string, path: string): number {
    try {
      const match = this.#router.match(method, path);
      if (match && 'route' in match && match.route.declaration.bodyLimit !== undefined) {
        return match.route.declaration.bodyLimit;
      }
    } catch {
      // A path that cannot be read is refused when the request is handled.
    }
    return defaultBody;
  }

  isOpening({ method, path }: Pick<RawRequest, 'method' | 'path'>): boolean {
    return method === 'GET' && this.#streamPaths.has(path);
  }

  handle(raw: RawRequest): Promise<RawResponse> {
    return requestSpan(raw, (span) => this.#handle(raw, span));
  }

  async #handle(raw: RawRequest, span: OpenSpan): Promise<RawResponse> {
    const { secrets, clock } = this.#options;
    const requestFacts: Seen = {
      route: 'unmatched',
      caller: { kind: 'none' },
      started: clock.monotonic(),
      ...requestIds(raw.headers, secrets),
      network: this.networkOf(raw),
    };
    let response: RawResponse;
    try {
      response = await this.#respond(raw, requestFacts);
      const { body } = response;
      if (body !== null)
        checkAnswer(this.budgets, () => nameOf(requestFacts.caller, requestFacts.network), sizeOf(body));
    } catch (error) {
      response = this.#refusal(error, raw, requestFacts);
    }
    this.#finish.note(raw, requestFacts, response);
    noteRequest(span, raw.method, requestFacts, response);
    const isHosted = this.#familyOf(raw.path).errors === 'problem';
    const hasLimits = isHosted && response.status !== 429 && response.status < 500;
    const left = hasLimits ? await limitHeaders(requestFacts) : [];
    return this.#finish.withHeaders(raw, requestFacts, response, left);
  }

  /** @throws HubError at once, or later */
  #respond(raw: RawRequest, requestFacts: Seen): Promise<RawResponse> {
    if (raw.refused) throw raw.refused;
    const method = raw.method === 'HEAD' ? 'GET' : raw.method;
    if (method === 'OPTIONS') return this.#preflight(raw);
    if (method === 'GET' && raw.path === '/api/openapi.json') return this.#describe(raw, requestFacts);
    const outside = this.#answerOutside(raw, requestFacts);
    if (outside) return outside;
    const match = this.#router.match(method, raw.path);
    if (match === null) throw new HubError('not_found', 'Not Found');
    if (!('route' in match)) {
      throw new HubError('method_not_allowed', 'Method Not Allowed', { allow: match });
    }
    const { name, declaration } = match.route;
    requestFacts.route = this.#routeNames.get(match.route) ?? '';
    requestFacts.isProbe = declaration.limit === 'none';
    requestFacts.schemas = declaration;
    this.#options.callers.checkCsrf(declaration, raw.headers);
    const handler = this.#options.serve[name];
    return handler
      ? this.#routeAnswers.answer(raw, match, requestFacts, handler)
      : this.#answerStream(raw, declaration, requestFacts);
  }

  /** Answers of paths beside the APIs: metrics, the probe, downloads and the console; null for others. */
  #answerOutside(raw: RawRequest, requestFacts: Seen): Promise<RawResponse> | null {
    const { exposition, probe, downloads, files } = this.#options;
    for (const one of [exposition, probe]) {
      if (one?.path !== raw.path) continue;
      requestFacts.route = raw.path;
      requestFacts.isProbe = true;
      return one.answer(raw);
    }
    const download = downloads?.answer(raw) ?? null;
    const file = download ?? files?.answer(raw) ?? null;
    if (!file) return null;
    requestFacts.route = download ? downloadsPath : '/dashboard/';
    return raw.body().then(() => file);
  }

  async #describe(raw: RawRequest, requestFacts: Seen): Promise<RawResponse> {
    const { openApi, openApiPublic, callers } = this.#options;
    requestFacts.route = '/api/openapi.json';
    await raw.body();
    if (openApiPublic === false) {
      requestFacts.caller = (
        await callers.find({ auth: ['key', 'cookie'], role: 'viewer' }, raw.headers, requestFacts.network)
      ).caller;
    }
    return plain(200, [['Content-Type', 'application/json'], ...noStore], openApi());
  }

  /** Small, because a fleet that comes back at once waits here: each keeps what this function holds. */
  async #answerStream(
    raw: RawRequest,
    declaration: RouteDeclaration,
    requestFacts: Seen,
  ): Promise<RawResponse> {
    const { live, callers, rateLimits } = this.#options;
    const network = this.#streamNetworks.shared(requestFacts.network);
    const revocations = live.revocationSequence();
    const { caller } =
      callers.remembered(declaration, raw.headers, network) ??
      (await callers.find(declaration, raw.headers, network));
    requestFacts.caller = caller;
    const arrival = countArrival(rateLimits, limitsOf(declaration), caller, network);
    requestFacts.arrival = arrival instanceof Promise ? await arrival : arrival;
    const response = plain(200, [], null, streamHeaders[this.#familyOf(raw.path).errors]);
    if (raw.method === 'HEAD') return response;
    if (raw.upgrade || declaration.stream === 'events') this.#checkOrigin(caller, raw.headers);
    const counted = 'tenantId' in caller ? { tenantId: caller.tenantId } : {};
    const admission = this.admission.admit(counted, 'streamOpenings');
    const permit = admission instanceof Promise ? await admission : admission;
    try {
      return { ...response, live: await openStream(raw, declaration, caller, revocations, this.#options) };
    } finally {
      permit.release();
    }
  }

  async #preflight(raw: RawRequest): Promise<RawResponse> {
    const { cors } = this.#options;
    // Read although nothing is wanted of it: a body over the limit is refused all the same.
    await raw.body();
    const origin = raw.headers.get('origin');
    if (origin !== undefined && raw.headers.has('access-control-request-method')) {
      if (!cors.allows(origin)) throw originRefused();
      return plain(204, cors.preflight(origin), null);
    }
    const match = this.#router.match('OPTIONS', raw.path);
    if (match === null || 'route' in match) throw new HubError('not_found', 'Not Found');
    return plain(204, [['Allow', allowOf(match)]], null);
  }

  #checkOrigin(caller: Caller, headers: RawRequest['headers']): void {
    const { cors } = this.#options;
    const origin = headers.get('origin');
    // A browser sends cookies with any page's WebSocket, and always names the page. Between pages of one host there is
    // nothing cross-origin for CORS_ORIGINS to allow: the cookie itself is this host's.
    if (caller.kind !== 'user' || origin === undefined) return;
    if (cors.allows(origin) || cors.isOwn(origin, headers.get('host'))) return;
    throw originRefused();
  }

  /** @throws TransportGone */
  #refusal(error: unknown, raw: RawRequest, { id, route, schemas }: Seen): RawResponse {
    if (error instanceof TransportGone) throw error;
    if (!(error instanceof HubError) || error.code === 'internal') {
      this.#options.log.error({ err: error, request_id: id, route }, 'request failed');
    }
    const { status, headers, json } = errorReply(error, this.#familyOf(raw.path).errors, id, schemas);
    return { ...plain(status, [...headers, ...noStore], json), close: raw.refused !== null };
  }
}

const originRefused = (): HubError =>
  new HubError('origin_refused', 'The hub refuses this origin. Add it to CORS_ORIGINS.');

const isStream = (declaration: RouteDeclaration): boolean =>
  declaration.media === 'text/event-stream' && declaration.method === 'GET';

/** Limits of a stream's route. Default: the limit of streams. */
const limitsOf = ({ path, limit = 'stream' }: RouteDeclaration): LimitedRoute => ({ path, limit });

/** Headers of each API that forbid to keep anything of a stream. */
const streamHeaders: { readonly [errors in ApiFamily['errors']]: HeaderBlock } = {
  detail: commonHeaders([
    ['Content-Type', 'text/event-stream'],
    ['Cache-Control', 'no-cache'],
    ['X-Accel-Buffering', 'no'],
  ]),
  problem: commonHeaders([
    ['Content-Type', 'text/event-stream'],
    ['Cache-Control', 'no-store'],
    ['X-Accel-Buffering', 'no'],
  ]),
};
