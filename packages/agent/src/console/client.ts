// A client of the console API, typed by the hub's own declarations (generated/): one function per route, one async
// iteration per stream. Keeps the session of who signs in. Repeats nothing by itself.
import { bodyParts } from '../body.ts';
import { HubConnectionError } from '../failure.ts';
import { addressOf, rootOf } from '../http.ts';
import {
  aFlag,
  aFunction,
  anObject,
  aPattern,
  aText,
  type Checks,
  checkOptions,
  milliseconds,
} from '../options.ts';
import { SseParser } from '../stream/sse.ts';
import { type ConsoleOperations, consoleRoutes } from './generated/operations.ts';

export interface ConsoleOptions {
  /** Base address of the hub, without `/api/v1`. Plain http only to loopback. */
  readonly url: string;
  /** For the routes that take an API key. Without it, sign in: `await hub.login({ body: { email, password } })`. */
  readonly apiKey?: string;
  /** For the operator's routes. */
  readonly operatorToken?: string;
  /** The agent that calls, with an API key; default `default`. */
  readonly agentId?: string;
  /** Default `X-Service-Agent-Id`. */
  readonly agentIdHeader?: string;
  /** Sent with every request, such as `X-Setup-Token`. */
  readonly headers?: { readonly [name: string]: string };
  /** Milliseconds for one call, its answer's body included; default 30,000. Streams have none. */
  readonly timeout?: number;
  /** Allows plain http to other hosts than loopback: what is sent then travels readable. Default false. */
  readonly allowInsecure?: boolean;
  readonly fetch?: typeof globalThis.fetch;
}

const checks: Checks<ConsoleOptions> = {
  url: aText,
  apiKey: aPattern(/^[\x21-\x7e]+$/, 'an API key: printable characters without blanks'),
  operatorToken: aPattern(/^[\x21-\x7e]+$/, 'a token: printable characters without blanks'),
  agentId: aText,
  agentIdHeader: aPattern(/^[A-Za-z0-9-]{1,128}$/, "a header's name"),
  headers: anObject,
  timeout: milliseconds,
  allowInsecure: aFlag,
  fetch: aFunction,
};

/** The hub answered, but not with success. */
export class ConsoleError extends Error {
  readonly status: number;
  /** One of the hub's error codes (docs/errors.md); `unknown` when the answer was not the hub's. */
  readonly code: string;
  /** A sentence; for `validation_failed` a list of `{loc, msg}`. */
  readonly detail: unknown;
  /** Seconds until the next attempt; null when the answer contains no such time. */
  readonly retryAfter: number | null;

  constructor(status: number, code: string, detail: unknown, retryAfter: number | null) {
    super(typeof detail === 'string' ? detail : `${status} ${code}: ${JSON.stringify(detail)}`);
    this.name = 'ConsoleError';
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.retryAfter = retryAfter;
  }
}

/** For one call. */
export interface CallOptions {
  /** The state that the call replaces, for routes that take If-Match: a version or a hash, `0` for nothing. */
  readonly ifMatch?: string;
  readonly signal?: AbortSignal;
}

/** For one stream. */
export interface StreamOptions extends Pick<CallOptions, 'signal'> {
  /** The id of the last received event: the stream continues after that event, or sends `resync` if it cannot. */
  readonly lastEventId?: string;
}

/** An event of a stream, with the id to go on from. */
export interface StreamEvent<E> {
  readonly id: string | null;
  readonly event: E;
}

type Call<I, R> =
  Record<never, never> extends I
    ? (input?: I, options?: CallOptions) => Promise<R>
    : (input: I, options?: CallOptions) => Promise<R>;
type Stream<I, E> =
  Record<never, never> extends I
    ? (input?: I, options?: StreamOptions) => AsyncGenerator<StreamEvent<E>, void, void>
    : (input: I, options?: StreamOptions) => AsyncGenerator<StreamEvent<E>, void, void>;

/** One function for each route of the console API. Calls reject with ConsoleError or HubConnectionError. */
export type ConsoleClient = {
  readonly [N in keyof ConsoleOperations]: ConsoleOperations[N] extends { input: infer I; event: infer E }
    ? Stream<I, E>
    : ConsoleOperations[N] extends { input: infer I; reply: infer R }
      ? Call<I, R>
      : never;
};

interface Route {
  readonly method: string;
  readonly path: string;
  readonly media?: string;
}

interface Input {
  readonly params?: { readonly [name: string]: unknown };
  readonly query?: { readonly [name: string]: unknown };
  readonly body?: unknown;
}

const streamType = 'text/event-stream';
const maxAnswer = 64 * 1024 * 1024;

/**
 * A client of the whole console API. After `login`, the client stays signed in until `logout`; in browsers the browser
 * keeps the session.
 * @throws TypeError naming an option that cannot be
 */
export function consoleClient(options: ConsoleOptions): ConsoleClient {
  checkOptions<ConsoleOptions>(options, checks, { required: ['url'] });
  const connection = new Connection(options);
  const functions = Object.entries<Route>(consoleRoutes).map(([name, route]) => [
    name,
    route.media === streamType && route.method === 'GET'
      ? (input: Input = {}, own: StreamOptions = {}) => connection.stream(route, input, own)
      : (input: Input = {}, own: CallOptions = {}) => connection.call(route, input, own),
  ]);
  return Object.fromEntries(functions) as ConsoleClient;
}

class Connection {
  readonly #options: ConsoleOptions;
  readonly #base: string;
  readonly #fetch: typeof globalThis.fetch;
  /** By name, where the runtime lets us see cookies. */
  readonly #cookies = new Map<string, string>();

  constructor(options: ConsoleOptions) {
    this.#options = options;
    this.#base = addressOf(options.url, options.allowInsecure ?? false);
    this.#fetch = options.fetch ?? globalThis.fetch;
  }

  async call(route: Route, input: Input, { signal, ifMatch }: CallOptions): Promise<unknown> {
    const late = AbortSignal.timeout(this.#options.timeout ?? 30_000);
    const stop = signal ? AbortSignal.any([late, signal]) : late;
    const condition = ifMatch === undefined ? {} : { 'If-Match': `"${ifMatch}"` };
    const response = await this.#send(route, input, condition, stop);
    const text = await textOf(response, stop);
    if (!response.ok) throw errorOf(response, text);
    if (route.media !== undefined) return text;
    return text === '' ? null : JSON.parse(text);
  }

  async *stream(
    route: Route,
    input: Input,
    { signal = new AbortController().signal, lastEventId }: StreamOptions,
  ): AsyncGenerator<StreamEvent<unknown>, void, void> {
    const from = lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId };
    const response = await this.#send(route, input, { Accept: streamType, ...from }, signal);
    if (!response.ok || !response.body) throw errorOf(response, await textOf(response, signal));
    const parser = new SseParser();
    for await (const bytes of bodyParts(response.body, signal)) {
      for (const { id, data } of parser.push(bytes)) {
        if (data !== '') yield { id, event: JSON.parse(data) };
      }
    }
  }

  async #send(
    route: Route,
    { params = {}, query = {}, body }: Input,
    headers: { readonly [name: string]: string },
    signal: AbortSignal,
  ): Promise<Response> {
    const {
      apiKey,
      operatorToken,
      agentId = 'default',
      agentIdHeader = 'X-Service-Agent-Id',
    } = this.#options;
    const token = route.path.startsWith('/api/v1/operator/') ? operatorToken : (apiKey ?? operatorToken);
    const what = `${route.method} ${route.path}`;
    let response: Response;
    try {
      response = await this.#fetch(this.#base + pathOf(route.path, params) + queryOf(query), {
        method: route.method,
        headers: {
          'X-Requested-With': 'reeve-agent',
          ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
          ...(apiKey === undefined ? {} : { [agentIdHeader]: agentId }),
          ...(this.#cookies.size === 0 ? {} : { Cookie: [...this.#cookies.values()].join('; ') }),
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...this.#options.headers,
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        credentials: 'include',
        // A redirect could carry credentials to another host.
        redirect: 'error',
        signal,
      });
    } catch (failure) {
      throw new HubConnectionError(what, signal.aborted ? signal.reason : rootOf(failure));
    }
    for (const cookie of response.headers.getSetCookie?.() ?? []) this.#keep(cookie);
    return response;
  }

  #keep(cookie: string): void {
    const [pair = ''] = cookie.split(';');
    const name = pair.slice(0, pair.indexOf('='));
    if (/;\s*max-age=0\s*(?:;|$)/i.test(cookie) || pair.endsWith('=')) this.#cookies.delete(name);
    else this.#cookies.set(name, pair);
  }
}

/** Fills a path; the slashes of a tail `{key+}` stay. */
const pathOf = (path: string, params: { readonly [name: string]: unknown }): string =>
  path.replaceAll(/\{([a-z_]+)(\+?)\}/g, (_, name: string, tail: string) => {
    const value = params[name];
    if (value === undefined || value === null || value === '')
      throw new TypeError(`params.${name} is not set`);
    const encoded = encodeURIComponent(String(value));
    return tail === '' ? encoded : encoded.replaceAll('%2F', '/');
  });

function queryOf(query: { readonly [name: string]: unknown }): string {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  if (entries.length === 0) return '';
  return `?${entries.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`).join('&')}`;
}

async function textOf(response: Response, signal: AbortSignal): Promise<string> {
  if (!response.body) return '';
  const decoder = new TextDecoder();
  let text = '';
  for await (const part of bodyParts(response.body, signal)) {
    text += decoder.decode(part, { stream: true });
    if (text.length > maxAnswer) throw new RangeError(`the answer is longer than ${maxAnswer} characters`);
  }
  return text + decoder.decode();
}

function errorOf(response: Response, text: string): ConsoleError {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  let body: { readonly detail?: unknown; readonly code?: unknown } | null = null;
  try {
    body = JSON.parse(text);
  } catch {
    // Not the hub's answer: its text is the detail.
  }
  const code = typeof body?.code === 'string' ? body.code : 'unknown';
  return new ConsoleError(
    response.status,
    code,
    body?.detail ?? text,
    Number.isFinite(seconds) ? seconds : null,
  );
}
