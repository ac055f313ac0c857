// Requests to the hub: address, headers, timeouts and retries. Knows no route.
import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { bodyParts } from './body.ts';
import { type Clock, sleep, systemClock } from './clock.ts';
import { HubConnectionError, HubResponseError } from './failure.ts';
import { aFlag, aFunction, aPattern, aText, type Checks, having, milliseconds } from './options.ts';
import { activeTraceparent } from './telemetry.ts';

export interface HttpOptions {
  /** Base address, with a path prefix if there is one: `https://hub.example.com`. Plain http only to loopback. */
  readonly url: string;
  readonly apiKey: string;
  /** Default `default`. */
  readonly agentId?: string;
  /** The environment of the key, which is not read from it; default `production`. */
  readonly env?: string;
  /** Default `X-Service-Agent-Id`. */
  readonly agentIdHeader?: string;
  /** Before every path; default `/api/v1`. */
  readonly pathPrefix?: string;
  /** Milliseconds for one attempt, its answer's body included; default 30,000. */
  readonly timeout?: number;
  /** Allows plain http to other hosts than loopback: key and contracts then travel readable. Default false. */
  readonly allowInsecure?: boolean;
  readonly fetch?: typeof globalThis.fetch;
  readonly clock?: Clock;
}

export interface RequestOptions {
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** False: the body of a 2xx is not looked at. `leniently`: a body that is not JSON is null. Default true. */
  readonly parse?: boolean | 'leniently';
  /** Headers in addition to those of every request; the same at every attempt. */
  readonly headers?: { readonly [name: string]: string };
}

export interface HttpAnswer {
  /** The JSON value; null for an empty body. */
  readonly body: unknown;
  readonly headers: Headers;
}

/** Agent ids, environments and bundle names as every client accepts them. */
export const identifierPattern = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,127}$/;

export const httpChecks: Checks<HttpOptions> = {
  url: aText,
  apiKey: aPattern(/^[\x21-\x7e]+$/, 'an API key: printable characters without blanks'),
  agentId: aPattern(identifierPattern, 'a name of letters, digits, dots, _ and -'),
  env: aPattern(identifierPattern, 'the environment of the key'),
  agentIdHeader: aPattern(/^[A-Za-z0-9-]{1,128}$/, "a header's name"),
  pathPrefix: aPattern(/^(?:\/[^\s?#]*)?$/, 'a path'),
  timeout: milliseconds,
  allowInsecure: aFlag,
  fetch: aFunction,
  clock: having('now', 'after'),
};

const retryWaits = [500, 1000];
const maxAnswer = 8 * 1024 * 1024;
const maxErrorText = 64 * 1024;

/** The trace that the request belongs to. */
const traceHeader = (): { readonly [name: string]: string } => {
  const traceparent = activeTraceparent();
  return traceparent === null ? {} : { traceparent };
};

const isLoopback = (host: string): boolean =>
  host === 'localhost' ||
  host.endsWith('.localhost') ||
  host === '[::1]' ||
  (isIP(host) === 4 && host.startsWith('127.'));

export class HttpConnection {
  readonly agentId: string;
  readonly env: string;
  readonly clock: Clock;
  readonly fetch: typeof globalThis.fetch;
  /** On every request, streams too. */
  readonly headers: { readonly [name: string]: string };
  /** Prefix of this hub's API keys, up to the first `_`; null for a key without one. */
  readonly keyPrefix: string | null;
  /** Names the API key without telling it: the start of its SHA-256. */
  readonly account: string;
  readonly #prefix: string;
  readonly #timeout: number;

  /** @param options checked already; the address is checked here @throws TypeError naming `url` */
  constructor(options: HttpOptions) {
    const { agentId = 'default', env = 'production', apiKey, agentIdHeader = 'X-Service-Agent-Id' } = options;
    this.agentId = agentId;
    this.env = env;
    this.keyPrefix = /^[A-Za-z][A-Za-z0-9-]{1,15}_/.exec(apiKey)?.[0] ?? null;
    this.account = createHash('sha256').update(apiKey).digest('hex').slice(0, 16);
    this.clock = options.clock ?? systemClock;
    this.fetch = options.fetch ?? globalThis.fetch;
    this.headers = {
      Authorization: `Bearer ${apiKey}`,
      [agentIdHeader]: agentId,
      'Content-Type': 'application/json',
    };
    this.#prefix = addressOf(options.url, options.allowInsecure ?? false) + (options.pathPrefix ?? '/api/v1');
    this.#timeout = options.timeout ?? 30_000;
  }

  /** The whole address of a path below the prefix. */
  address(path: string): string {
    return this.#prefix + path;
  }

  /**
   * Sends a request and gives its JSON answer (null when it is empty). At most 3 attempts, with waits of 0.5 s and 1 s,
   * after a 5xx or when no answer came: a request may so be carried out twice.
   * @throws HubResponseError for a 4xx at once, or the last 5xx; HubConnectionError
   */
  async request(method: string, path: string, options: RequestOptions = {}): Promise<unknown> {
    return (await this.exchange(method, path, options)).body;
  }

  /** As `request`, with the headers of the answer. */
  async exchange(method: string, path: string, options: RequestOptions = {}): Promise<HttpAnswer> {
    const body = options.body === undefined ? null : JSON.stringify(options.body);
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#attempt(method, path, body, options);
      } catch (failure) {
        if (options.signal?.aborted) throw options.signal.reason;
        const wait = retryWaits[attempt];
        const again =
          failure instanceof HubConnectionError ||
          (failure instanceof HubResponseError && failure.status >= 500);
        if (!again || wait === undefined) throw failure;
        await sleep(this.clock, wait, options.signal);
      }
    }
  }

  async #attempt(
    method: string,
    path: string,
    body: string | null,
    options: RequestOptions,
  ): Promise<HttpAnswer> {
    const what = `${method} ${path}`;
    const abort = new AbortController();
    const timer = this.clock.after(this.#timeout, () =>
      abort.abort(new Error(`no answer within ${this.#timeout} ms`)),
    );
    const signal = options.signal ? AbortSignal.any([abort.signal, options.signal]) : abort.signal;
    try {
      let response: Response;
      let text: string;
      try {
        // A redirect could carry the key to another host.
        response = await this.fetch(this.address(path), {
          method,
          headers: { ...this.headers, ...traceHeader(), ...options.headers },
          body,
          signal,
          redirect: 'error',
        });
        text = await textOf(response, response.ok ? maxAnswer : maxErrorText, signal);
      } catch (failure) {
        throw new HubConnectionError(what, abort.signal.aborted ? abort.signal.reason : rootOf(failure));
      }
      if (!response.ok) throw new HubResponseError(response.status, text, what, retryAfterOf(response));
      const { headers } = response;
      if (options.parse === false || text === '') return { body: null, headers };
      try {
        return { body: JSON.parse(text), headers };
      } catch {
        if (options.parse === 'leniently') return { body: null, headers };
        throw new HubResponseError(response.status, text.slice(0, maxErrorText), `${what} (not JSON)`);
      }
    } finally {
      timer.cancel();
    }
  }
}

/** The address without a slash at its end. @throws TypeError naming `url` */
export function addressOf(text: string, allowInsecure: boolean): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch (failure) {
    throw new TypeError('option url must be a URL', { cause: failure });
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new TypeError('option url must start with https:// or http://');
  }
  if (url.protocol === 'http:' && !allowInsecure && !isLoopback(url.hostname)) {
    throw new TypeError(
      'option url: plain http is allowed only to loopback; use https, or set allowInsecure',
    );
  }
  if (url.username !== '' || url.search !== '' || url.hash !== '') {
    throw new TypeError('option url must have no user, query or fragment');
  }
  return url.origin + url.pathname.replace(/(?<!\/)\/+$/, '');
}

/** Reads at most `limit` bytes. @throws Error when an answer is longer and would be parsed */
async function textOf(response: Response, limit: number, signal: AbortSignal): Promise<string> {
  if (!response.body) return '';
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of bodyParts(response.body, signal)) {
    size += part.byteLength;
    parts.push(part);
    if (size > limit) {
      if (response.ok) throw new Error(`the answer is longer than ${limit} bytes`);
      break;
    }
  }
  return Buffer.concat(parts).subarray(0, limit).toString('utf8');
}

/** Seconds of a Retry-After header in its numeric form. */
export function retryAfterOf(response: Response): number | null {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : null;
}

/** The message from fetch is only "fetch failed"; its cause contains the reason. */
export const rootOf = (failure: unknown): unknown =>
  failure instanceof Error && failure.cause instanceof Error ? failure.cause : failure;
