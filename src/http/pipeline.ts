// From a raw request to a raw response: match → caller → limit → parse → handle → encode. The only catch. Knows no
// socket and none of the routes.

import { Admission } from '../admission/admission.ts';
import { type Budgets, checkAnswer, checkRoom, createBudgets } from '../admission/byte-budgets.ts';
import { estimateJsonBytes } from '../admission/estimate-bytes.ts';
import type { RateLimits } from '../admission/rate-limit.ts';
import { countArrival, createRouteLimits, type LimitedRoute } from '../admission/route-limits.ts';
import { admissionTable } from '../admission/table.ts';
import { turns } from '../shared/concurrency/event-loop-budget.ts';
import { HubError } from '../shared/error.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { Log } from '../shared/ports/log.ts';
import type { Secrets } from '../shared/ports/secrets.ts';
import type { RequestOrigin } from '../shared/principal.ts';
import type { OpenSpan } from '../shared/tracing.ts';
import { clientAddress, isLocal, networkOf } from './address.ts';
import type { Callers } from './caller.ts';
import { type Caller, Reply, type Request, Streamed, WrittenJson } from './contract/call.ts';
import { type ApiFamily, defaultBody, type RouteDeclaration } from './contract/route.ts';
import type { StreamHandlers } from './contract/stream.ts';
import { createDownload } from './download.ts';
import { downloadsPath } from './downloads.ts';
import { encode, noStore, plain } from './encode.ts';
import { createFinish, limitHeaders, nameOf, requestIds, type Seen, sizeOf } from './finish.ts';
import { type Cors, commonHeaders, type HeaderBlock } from './headers.ts';
import type { Idempotency } from './idempotency.ts';
import type { Live } from './live/live.ts';
import type { Metrics } from './metrics.ts';
import { parse } from './parse.ts';
import { allowOf, errorReply } from './problem.ts';
import { type RawRequest, type RawResponse, TransportGone } from './raw.ts';
import { noteRequest, requestSpan } from './request-span.ts';
import { createRouter, families, type Match, type Route } from './router.ts';
import type { StaticFiles } from './static-files.ts';
import { openStream } from './streams.ts';
import { checkNamedEnvironment, checkOwnEnvironment, validate } from './validate.ts';

/** A handler as the pipeline calls it, bound to its hub. */
export type BoundHandler = (
  input: { readonly params: unknown; readonly query: unknown; readonly body: unknown },
  caller: Caller,
  request: Request,
) => Promise<unknown>;

export type Serve = { readonly [operation: string]: BoundHandler };

/** Binds a table of handlers to what they work with. */
export function bind<Hub>(
  hub: Hub,
  handlers: {
    readonly [operation: string]: (
      hub: Hub,
      input: never,
      caller: never,
      request: Request,
    ) => Promise<unknown>;
  },
): Serve {
  return Object.fromEntries(
    Object.entries(handlers).map(([name, handler]) => [
      name,
      // The declaration's schemas made the input and its auth chose the caller, so both are what the handler's type
      // says.
      (input, caller, request) => handler(hub, input as never, caller as never, request),
    ]),
  );
}

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
}

export interface Pipeline {
  readonly budgets: Budgets;
  /** Where a request comes from, as limits count it. */
  networkOf(raw: Pick<RawRequest, 'remote' | 'headers'>): string;
  /** The most bytes the body of this request may have. */
  bodyLimit(method: string, path: string): number;
  /** True for a request for a live stream: thousands of them can arrive at once. */
  isOpening(raw: Pick<RawRequest, 'method' | 'path'>): boolean;
  /** Never rejects, but with TransportGone when the client disconnected before its body was read. */
  handle(raw: RawRequest): Promise<RawResponse>;
}

/** Bytes of an answer that is written at once. */
const smallBytes = 16 * 1024;

/** @throws Error when a route has no handler, or the tables or proxies are malformed: a server must not start then */
export function createPipeline(options: PipelineOptions): Pipeline {
  const { serve, callers, live, cors, secrets, clock, log } = options;
  const budgets = options.budgets ?? createBudgets();
  const router = createRouter(options.families.map(({ routes }) => routes));
  const familyOf = families(options.families);
  const admission = new Admission(clock);
  const finish = createFinish(options);
  const behindProxies = clientAddress(options.trustedProxies);
  const networkFrom = ({ remote, headers }: Pick<RawRequest, 'remote' | 'headers'>): string =>
    networkOf(behindProxies(remote, headers.get('x-forwarded-for') ?? ''));
  const routeNames = new Map<Route, string>();
  const streamPaths = new Set<string>();
  for (const route of router.routes) {
    const { name, declaration } = route;
    routeNames.set(route, `${declaration.method} ${declaration.path}`);
    if (serve[name]) continue;
    if (!isStream(declaration)) throw new Error(`the route ${name} has no handler`);
    streamPaths.add(declaration.path);
  }

  /** @throws HubError at once, or later */
  function respond(raw: RawRequest, requestFacts: Seen): Promise<RawResponse> {
    if (raw.refused) throw raw.refused;
    const method = raw.method === 'HEAD' ? 'GET' : raw.method;
    if (method === 'OPTIONS') return preflight(raw);
    if (method === 'GET' && raw.path === '/api/openapi.json') return describe(raw, requestFacts);
    for (const exposition of [options.exposition, options.probe]) {
      if (exposition?.path !== raw.path) continue;
      requestFacts.route = raw.path;
      requestFacts.isProbe = true;
      return exposition.answer(raw);
    }
    const download = options.downloads?.answer(raw) ?? null;
    const file = download ?? options.files?.answer(raw) ?? null;
    if (file) {
      requestFacts.route = download ? downloadsPath : '/dashboard/';
      return raw.body().then(() => file);
    }
    const match = router.match(method, raw.path);
    if (match === null) throw new HubError('not_found', 'Not Found');
    if (!('route' in match)) {
      throw new HubError('method_not_allowed', 'Method Not Allowed', { allow: match });
    }
    const { name, declaration } = match.route;
    requestFacts.route = routeNames.get(match.route) ?? '';
    requestFacts.isProbe = declaration.limit === 'none';
    callers.checkCsrf(declaration, raw.headers);
    const handler = serve[name];
    return handler
      ? answerRoute(raw, match, requestFacts, handler)
      : answerStream(raw, declaration, requestFacts);
  }

  async function describe(raw: RawRequest, requestFacts: Seen): Promise<RawResponse> {
    requestFacts.route = '/api/openapi.json';
    await raw.body();
    if (options.openApiPublic === false) {
      requestFacts.caller = (
        await callers.find({ auth: ['key', 'cookie'], role: 'viewer' }, raw.headers, requestFacts.network)
      ).caller;
    }
    return plain(200, [['Content-Type', 'application/json'], ...noStore], options.openApi());
  }

  /** Small, because a fleet that comes back at once waits here: each keeps what this function holds. */
  async function answerStream(
    raw: RawRequest,
    declaration: RouteDeclaration,
    requestFacts: Seen,
  ): Promise<RawResponse> {
    const revocations = live.revocationSequence();
    const { caller } =
      callers.remembered(declaration, raw.headers, requestFacts.network) ??
      (await callers.find(declaration, raw.headers, requestFacts.network));
    requestFacts.caller = caller;
    const arrival = countArrival(options.rateLimits, limitsOf(declaration), caller, requestFacts.network);
    requestFacts.arrival = arrival instanceof Promise ? await arrival : arrival;
    const response = plain(200, [], null, streamHeaders[familyOf(raw.path).errors]);
    if (raw.method === 'HEAD') return response;
    if (raw.upgrade || declaration.stream === 'events') checkOrigin(caller, raw.headers);
    const open = () => openStream(raw, declaration, caller, revocations, options);
    const session = await admission.runFor(caller, 'streamOpenings', open);
    return { ...response, live: session };
  }

  async function answerRoute(
    raw: RawRequest,
    match: Match,
    requestFacts: Seen,
    handler: BoundHandler,
  ): Promise<RawResponse> {
    const { id, network } = requestFacts;
    const { name, declaration } = match.route;
    const { caller, cookie } =
      callers.remembered(declaration, raw.headers, network) ??
      (await callers.find(declaration, raw.headers, network));
    requestFacts.caller = caller;
    const limits = createRouteLimits(options.rateLimits, declaration, caller, network);
    requestFacts.limits = limits;
    await limits.arrived();
    const input = validate(declaration, await parse(raw, match));
    checkOwnEnvironment(declaration, caller, input.query);
    checkNamedEnvironment(declaration, caller, input);
    const sent = { operation: name, declaration, caller, headers: raw.headers };
    const key = options.idempotency.keyOf(sent);
    try {
      await limits.before(input);
    } catch (error) {
      const isFull = error instanceof HubError && error.code === 'rate_limited';
      const repeat = isFull ? await options.idempotency.answered(sent, key, input) : null;
      if (repeat === null) throw error;
      return encode(declaration, repeat, cookie, raw);
    }
    const request = {
      id,
      network,
      local: isLocal(raw.remote, raw.headers),
      header: (field: string) => raw.headers.get(field) ?? null,
      limits: limits.own,
    };
    const answer = async (): Promise<RawResponse> => {
      checkRoom(budgets, () => nameOf(caller, network));
      let isCarriedOut = false;
      const result = await options.idempotency
        .run(sent, key, input, (newId) => {
          isCarriedOut = true;
          return handler(input, withOrigin(declaration, caller, request), { ...request, newId });
        })
        .finally(() => (isCarriedOut ? undefined : limits.giveBack()));
      if (result instanceof Streamed)
        return download(declaration, result, cookie, raw, nameOf(caller, network));
      const body: unknown = result instanceof Reply ? result.body : result;
      const bytes = body instanceof WrittenJson ? 0 : estimateJsonBytes(result);
      // The store hands over many answers in one turn of the event loop: they are written one after the other.
      if (bytes > smallBytes) await turns.next(bytes);
      return encode(declaration, result, cookie, raw);
    };
    if (declaration.search === true) return admission.runFor(caller, 'searches', answer);
    if (declaration.method === 'GET' || declaration.reads === true)
      return admission.runFor(caller, 'reads', answer);
    const { body } = input;
    const bytes = body instanceof Uint8Array ? body.byteLength : 0;
    return bytes > admissionTable.largeBatches.freeBytes
      ? admission.runFor(caller, 'largeBatches', answer)
      : answer();
  }

  /** The head of a body that is sent piece by piece; a HEAD request gets no more than that. */
  function download(
    declaration: RouteDeclaration,
    streamed: Streamed,
    cookie: string | null,
    raw: RawRequest,
    caller: string,
  ): RawResponse {
    let held = 0;
    const ended = (): void => {
      budgets.unsent.give(caller, held);
      streamed.ended();
    };
    const session = createDownload({ pieces: streamed.pieces, ended }, { clock, log });
    try {
      checkAnswer(budgets, () => caller, streamed.held);
    } catch (error) {
      session.gone();
      throw error;
    }
    held = streamed.held;
    budgets.unsent.take(caller, held);
    if (raw.method === 'HEAD' || raw.upgrade) session.gone();
    if (raw.upgrade)
      throw new HubError('bad_request', 'This download is not a stream. Request it without an upgrade.');
    const head = encode(declaration, new Reply('', { headers: streamed.headers }), cookie, raw);
    return { ...head, body: null, live: raw.method === 'HEAD' ? null : session };
  }

  async function preflight(raw: RawRequest): Promise<RawResponse> {
    // Read although nothing is wanted of it: a body over the limit is refused all the same.
    await raw.body();
    const origin = raw.headers.get('origin');
    if (origin !== undefined && raw.headers.has('access-control-request-method')) {
      if (!cors.allows(origin))
        throw new HubError('origin_refused', 'The hub refuses this origin. Add it to CORS_ORIGINS.');
      return plain(204, cors.preflight(origin), null);
    }
    const match = router.match('OPTIONS', raw.path);
    if (match === null || 'route' in match) throw new HubError('not_found', 'Not Found');
    return plain(204, [['Allow', allowOf(match)]], null);
  }

  function checkOrigin(caller: Caller, headers: RawRequest['headers']): void {
    const origin = headers.get('origin');
    // A browser sends cookies with any page's WebSocket, and always names the page. Between pages of one host there is
    // nothing cross-origin for CORS_ORIGINS to allow: the cookie itself is this host's.
    if (caller.kind !== 'user' || origin === undefined) return;
    if (cors.allows(origin) || cors.isOwn(origin, headers.get('host'))) return;
    throw new HubError('origin_refused', 'The hub refuses this origin. Add it to CORS_ORIGINS.');
  }

  return {
    budgets,
    networkOf: networkFrom,
    bodyLimit(method, path) {
      try {
        const match = router.match(method, path);
        if (match && 'route' in match && match.route.declaration.bodyLimit !== undefined) {
          return match.route.declaration.bodyLimit;
        }
      } catch {
        // A path that cannot be read is refused when the request is handled.
      }
      return defaultBody;
    },

    isOpening: ({ method, path }) => method === 'GET' && streamPaths.has(path),

    handle: (raw) => requestSpan(raw, (span) => handle(raw, span)),
  };

  async function handle(raw: RawRequest, span: OpenSpan): Promise<RawResponse> {
    const requestFacts: Seen = {
      route: 'unmatched',
      caller: { kind: 'none' },
      started: clock.monotonic(),
      ...requestIds(raw.headers, secrets),
      network: networkFrom(raw),
    };
    let response: RawResponse;
    try {
      response = await respond(raw, requestFacts);
      if (response.body !== null)
        checkAnswer(budgets, () => nameOf(requestFacts.caller, requestFacts.network), sizeOf(response.body));
    } catch (error) {
      response = refusal(error, raw, requestFacts);
    }
    finish.note(raw, requestFacts, response);
    noteRequest(span, raw.method, requestFacts, response);
    const isHosted = familyOf(raw.path).errors === 'problem';
    const left = isHosted && response.status !== 429 ? await limitHeaders(requestFacts) : [];
    return finish.withHeaders(raw, requestFacts, response, left);
  }

  /** @throws TransportGone */
  function refusal(error: unknown, raw: RawRequest, { id, route }: Seen): RawResponse {
    if (error instanceof TransportGone) throw error;
    if (!(error instanceof HubError) || error.code === 'internal') {
      log.error({ err: error, request_id: id, route }, 'request failed');
    }
    const { status, headers, json } = errorReply(error, familyOf(raw.path).errors, id);
    return { ...plain(status, [...headers, ...noStore], json), close: raw.refused !== null };
  }
}

/** The caller with the request that it makes, where what it changes is recorded. */
function withOrigin({ audit }: RouteDeclaration, caller: Caller, { id, network }: RequestOrigin): Caller {
  if (audit === undefined || (caller.kind !== 'user' && caller.kind !== 'hostedOperator')) return caller;
  return { ...caller, request: { id, network } };
}

const isStream = (declaration: RouteDeclaration): boolean =>
  declaration.media === 'text/event-stream' && declaration.method === 'GET';

/** Limits of a stream's route. Default: the limit of streams. */
const limitsOf = ({ path, limit = 'stream' }: RouteDeclaration): LimitedRoute => ({ path, limit });

/** Each API says in its own words that nothing of a stream is kept. */
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
