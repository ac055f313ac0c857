// From a raw request to a raw response: match → caller → limit → parse → handle → encode. The only catch. Knows no
// socket and none of the routes.
import { type Caller, Reply, type Request, Streamed, WrittenJson } from '../api/call.ts';
import { type ApiFamily, defaultBody, type RouteDeclaration } from '../api/route.ts';
import type { StreamHandlers } from '../api/stream.ts';
import type { RateLimits } from '../app/rate-limit.ts';
import { createRouteLimits, type RouteLimits } from '../app/route-limits.ts';
import { turns } from '../concurrency/event-loop-budget.ts';
import { HubError } from '../domain/error.ts';
import { limitNames } from '../domain/limit-names.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Secrets } from '../ports/secrets.ts';
import { clientAddress, isLocal, networkOf } from './address.ts';
import { type Budgets, checkAnswer, checkRoom, createBudgets } from './budgets.ts';
import type { Callers } from './caller.ts';
import { createDownload } from './download.ts';
import { encode, noStore, plain } from './encode.ts';
import { type Cors, type HeaderList, securityHeaders } from './headers.ts';
import type { Idempotency } from './idempotency.ts';
import type { Live } from './live/live.ts';
import type { Metrics } from './metrics.ts';
import { createOpenings } from './openings.ts';
import { parse } from './parse.ts';
import { allowOf, errorReply, rateLimitHeaders } from './problem.ts';
import { type RawRequest, type RawResponse, TransportGone } from './raw.ts';
import { createReads } from './reads.ts';
import { roughBytes } from './rough-bytes.ts';
import { createRouter, families } from './router.ts';
import { createSearches } from './searches.ts';
import type { StaticFiles } from './static-files.ts';
import { openStream } from './streams.ts';
import { checkOwnEnvironment, validate } from './validate.ts';

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
  readonly openApi: string;
  /** Whether it is served without a login or key; default true. */
  readonly openApiPublic?: boolean;
  /** The web console; default: none. */
  readonly files?: StaticFiles;
  /** Shared with the live streams of the node; default: its own. */
  readonly budgets?: Budgets;
}

export interface Pipeline {
  readonly budgets: Budgets;
  /** Where a request comes from, as limits count it. */
  networkOf(raw: Pick<RawRequest, 'remote' | 'headers'>): string;
  /** The most bytes the body of this request may have. */
  bodyLimit(method: string, path: string): number;
  /** Never rejects, but with TransportGone when the client left before its body was read. */
  handle(raw: RawRequest): Promise<RawResponse>;
}

/** Bytes of an answer that is written at once. */
const smallBytes = 16 * 1024;

/** @throws Error when a route has no handler, or the tables or proxies are malformed: a server must not start then */
export function createPipeline(options: PipelineOptions): Pipeline {
  const { serve, callers, live, cors, metrics, secrets, clock, log } = options;
  const budgets = options.budgets ?? createBudgets();
  const router = createRouter(options.families.map(({ routes }) => routes));
  const familyOf = families(options.families);
  const searches = createSearches(clock);
  const reads = createReads(clock);
  const openings = createOpenings(clock);
  const behindProxies = clientAddress(options.trustedProxies);
  const networkFrom = ({ remote, headers }: Pick<RawRequest, 'remote' | 'headers'>): string =>
    networkOf(behindProxies(remote, headers.get('x-forwarded-for') ?? ''));
  // Encoded once: every answer sends these bytes.
  const openApi = Buffer.from(options.openApi);
  for (const { name, declaration } of router.routes) {
    if (!serve[name] && !isStream(declaration)) throw new Error(`the route ${name} has no handler`);
  }

  async function respond(raw: RawRequest, network: string, id: string, seen: Seen): Promise<RawResponse> {
    if (raw.refused) throw raw.refused;
    const origin = raw.headers.get('origin');
    if (raw.method === 'OPTIONS') {
      // Read although nothing is wanted of it: a body over the limit is refused all the same.
      await raw.body();
      return preflight(raw, origin);
    }
    const head = raw.method === 'HEAD';
    const method = head ? 'GET' : raw.method;
    if (method === 'GET' && raw.path === '/api/openapi.json') {
      seen.route = '/api/openapi.json';
      await raw.body();
      if (options.openApiPublic === false) {
        seen.caller = (await callers.find({ auth: ['key', 'cookie'] }, raw.headers, network)).caller;
      }
      return plain(200, [['Content-Type', 'application/json'], ...noStore], openApi);
    }
    const file = options.files?.answer(raw) ?? null;
    if (file) {
      seen.route = '/dashboard/';
      await raw.body();
      return file;
    }
    const match = router.match(method, raw.path);
    if (match === null) throw new HubError('not_found', 'Not Found');
    if (!('route' in match)) {
      throw new HubError('method_not_allowed', 'Method Not Allowed', { allow: match });
    }
    const { name, declaration } = match.route;
    seen.route = `${declaration.method} ${declaration.path}`;
    callers.checkCsrf(declaration, raw.headers);
    const revocationSequence = live.revocationSequence();
    const { caller, cookie } = await callers.find(declaration, raw.headers, network);
    seen.caller = caller;
    const limits = createRouteLimits(options.rateLimits, limitsOf(declaration), caller, network);
    seen.limits = limits;
    await limits.arrived();
    const handler = serve[name];
    if (!handler) {
      const headers = streamHeaders(familyOf(raw.path).errors === 'problem');
      if (head) return plain(200, headers, null);
      if (raw.upgrade || declaration.stream === 'events')
        checkOrigin(caller, origin, raw.headers.get('host'));
      const session = await openings(caller, () =>
        openStream(raw, declaration, caller, revocationSequence, options),
      );
      return { ...plain(200, headers, null), live: session };
    }
    const input = validate(declaration, await parse(raw, match));
    checkOwnEnvironment(declaration, caller, input.query);
    const sent = { operation: name, declaration, caller, headers: raw.headers };
    const key = options.idempotency.keyOf(sent);
    await limits.before(input);
    const request = {
      id,
      network,
      local: isLocal(raw.remote, raw.headers),
      header: (field: string) => raw.headers.get(field) ?? null,
      limits: limits.own,
    };
    const answer = async (): Promise<RawResponse> => {
      checkRoom(budgets, () => nameOf(caller, network));
      const result = await options.idempotency.run(sent, key, input, (newId) =>
        handler(input, caller, { ...request, newId }),
      );
      if (result instanceof Streamed) return download(declaration, result, cookie, raw);
      const body: unknown = result instanceof Reply ? result.body : result;
      const bytes = body instanceof WrittenJson ? 0 : roughBytes(result);
      // The store hands over many answers in one turn of the event loop: they are written one after the other.
      if (bytes > smallBytes) await turns.next(bytes);
      return encode(declaration, result, cookie, raw);
    };
    if (declaration.search === true) return searches(caller, answer);
    return declaration.method === 'GET' || declaration.reads === true ? reads(caller, answer) : answer();
  }

  /** The head of a body that is sent piece by piece; a HEAD request gets no more than that. */
  function download(
    declaration: RouteDeclaration,
    streamed: Streamed,
    cookie: string | null,
    raw: RawRequest,
  ): RawResponse {
    const session = createDownload(streamed, { clock, log });
    if (raw.method === 'HEAD' || raw.upgrade) session.gone();
    if (raw.upgrade)
      throw new HubError('bad_request', 'This download is no stream: ask for it without an upgrade.');
    const head = encode(declaration, new Reply('', { headers: streamed.headers }), cookie, raw);
    return { ...head, body: null, live: raw.method === 'HEAD' ? null : session };
  }

  function preflight(raw: RawRequest, origin: string | undefined): RawResponse {
    if (origin !== undefined && raw.headers.has('access-control-request-method')) {
      if (!cors.allows(origin))
        throw new HubError('origin_refused', 'This origin is not among CORS_ORIGINS.');
      return plain(204, cors.preflight(origin), null);
    }
    const match = router.match('OPTIONS', raw.path);
    if (match === null || 'route' in match) throw new HubError('not_found', 'Not Found');
    return plain(204, [['Allow', allowOf(match)]], null);
  }

  function checkOrigin(caller: Caller, origin: string | undefined, host: string | undefined): void {
    // A browser sends cookies with any page's WebSocket, and always names the page. Between pages of one host there is
    // nothing cross-origin for CORS_ORIGINS to allow: the cookie itself is this host's.
    if (caller.kind !== 'user' || origin === undefined) return;
    if (cors.allows(origin) || cors.isOwn(origin, host)) return;
    throw new HubError('origin_refused', 'This origin is not among CORS_ORIGINS.');
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

    async handle(raw) {
      const started = clock.monotonic();
      // The last group of a UUID: twelve random digits.
      const id = secrets.uuid().slice(24);
      const network = networkFrom(raw);
      const seen: Seen = { route: 'unmatched', caller: { kind: 'none' } };
      let response: RawResponse;
      try {
        response = await respond(raw, network, id, seen);
        checkAnswer(budgets, () => nameOf(seen.caller, network), sizeOf(response.body));
      } catch (error) {
        if (error instanceof TransportGone) throw error;
        if (!(error instanceof HubError) || error.code === 'internal') {
          log.error({ err: error, request_id: id, route: seen.route }, 'request failed');
        }
        const { status, headers, json } = errorReply(error, familyOf(raw.path).errors, id);
        response = {
          ...plain(status, [...headers, ...noStore], json),
          close: raw.refused !== null,
        };
      }
      const ms = clock.monotonic() - started;
      const bytes = raw.method === 'HEAD' ? 0 : sizeOf(response.body);
      metrics.count(seen.route, response.status, ms, bytes);
      log.info(
        {
          method: raw.method,
          route: seen.route,
          status: response.status,
          ms: Math.round(ms * 100) / 100,
          bytes,
          request_id: id,
          ...callerFields(seen.caller),
        },
        'request',
      );
      const isHosted = familyOf(raw.path).errors === 'problem';
      const left = isHosted && response.status !== 429 ? await limitHeaders(seen) : [];
      const shared: HeaderList = [['X-Request-Id', id], ...securityHeaders];
      // A browser's clock may be wrong, and what a page counts down was timed by this one.
      const time: HeaderList =
        seen.caller.kind === 'user' ? [['X-Server-Time', new Date(clock.now()).toISOString()]] : [];
      const fromCors = raw.method === 'OPTIONS' ? [] : cors.reply(raw.headers.get('origin'));
      return {
        ...response,
        headers: [...response.headers, ...left, ...shared, ...time, ...fromCors],
        caller: response.body === null ? '' : nameOf(seen.caller, network),
      };
    },
  };
}

/** What became known of a request, for its log line and metrics. */
interface Seen {
  route: string;
  caller: Caller;
  limits?: RouteLimits;
}

/** What an answer says of limits: of the one that the caller comes up against first. */
async function limitHeaders({ limits }: Seen): Promise<HeaderList> {
  const states = [...((await limits?.left()) ?? [])];
  const [tightest] = states.sort((a, b) => a.left - b.left);
  return tightest ? rateLimitHeaders(tightest) : [];
}

const isStream = (declaration: RouteDeclaration): boolean =>
  declaration.media === 'text/event-stream' && declaration.method === 'GET';

/** What the route says of limits: a stream is limited as streams are, where it says nothing. */
const limitsOf = (declaration: RouteDeclaration): RouteDeclaration =>
  isStream(declaration) ? { limit: 'stream', ...declaration } : declaration;

/** Each API says in its own words that nothing of a stream is kept. */
const streamHeaders = (isHosted: boolean): HeaderList => [
  ['Content-Type', 'text/event-stream'],
  ['Cache-Control', isHosted ? 'no-store' : 'no-cache'],
  ['X-Accel-Buffering', 'no'],
];

/** Who waits for an answer. */
const nameOf = (caller: Caller, network: string): string =>
  limitNames.requestsOf(caller) ?? limitNames.requestsOfNetwork(network);

/** Keys and ids only: never a hash, an address of a mailbox or a credential. */
function callerFields(caller: Caller): object {
  if (caller.kind === 'key' || caller.kind === 'hostedKey') return { caller: 'key', caller_id: caller.keyId };
  if (caller.kind === 'user') return { caller: 'user', caller_id: caller.userId };
  if (caller.kind === 'hostedOperator') return { caller: 'operator_token', caller_id: caller.subject };
  return { caller: caller.kind };
}

function sizeOf(body: RawResponse['body']): number {
  if (typeof body === 'string') return Buffer.byteLength(body);
  return body instanceof Uint8Array ? body.length : 0;
}
