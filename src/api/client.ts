// A client of the API whose calls, replies and events are typed by the route tables. Browser-safe; brings no fetch, no retries and no connection.
import type { z } from 'zod';
import type { EventOf, FrameTable } from './frames.ts';
import type { RouteDeclaration, RouteTable } from './route.ts';

/** What a request came back with when it was not a success. */
export class ApiError extends Error {
  readonly status: number;
  /** An error code of the hub; `unknown` when the reply was not the hub's. */
  readonly code: string;
  /** A sentence, or for validation_failed a list of {loc, msg}. */
  readonly detail: unknown;
  /** Seconds, when the reply said when to try again. */
  readonly retryAfter: number | null;

  constructor(status: number, code: string, detail: unknown, retryAfter: number | null) {
    super(typeof detail === 'string' ? detail : `${status} ${code}`);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.retryAfter = retryAfter;
  }
}

type Part<K extends string, T> = T extends z.ZodType
  ? Record<never, never> extends z.input<T>
    ? { readonly [P in K]?: z.input<T> }
    : { readonly [P in K]: z.input<T> }
  : unknown;

type BodyPart<R extends RouteDeclaration> = R['parse'] extends 'bytes'
  ? { readonly body: unknown }
  : R['optionalBody'] extends true
    ? R['body'] extends z.ZodType
      ? { readonly body?: z.input<R['body']> }
      : unknown
    : Part<'body', R['body']>;

export type CallInput<R extends RouteDeclaration> = Part<'params', R['params']> &
  Part<'query', R['query']> &
  BodyPart<R>;

export type CallReply<R extends RouteDeclaration> = R['media'] extends string
  ? string
  : R['reply'] extends z.ZodType
    ? z.output<R['reply']>
    : null;

/** One function per route that is not a stream. */
export type Api<T extends RouteTable> = {
  readonly [N in keyof T as T[N]['media'] extends 'text/event-stream' ? never : N]: Record<
    never,
    never
  > extends CallInput<T[N]>
    ? (input?: CallInput<T[N]>) => Promise<CallReply<T[N]>>
    : (input: CallInput<T[N]>) => Promise<CallReply<T[N]>>;
};

/** What a stream route sends: a union that `type` tells apart. */
export type StreamEvent<R extends RouteDeclaration> = R['frames'] extends FrameTable
  ? EventOf<R['frames']>
  : never;

/**
 * The event in a message of a stream: the data of a server-sent event, or the text of a WebSocket message, which has the event's id beside
 * its fields. Null for one that the route does not declare: a newer hub may send more, and clients pass it over.
 * @throws SyntaxError for anything but JSON
 */
export function readEvent<R extends RouteDeclaration>(route: R, message: string): StreamEvent<R> | null {
  const event: unknown = JSON.parse(message);
  const type = typeof event === 'object' && event !== null && 'type' in event ? String(event.type) : '';
  return Object.hasOwn(route.frames ?? {}, type) ? (event as StreamEvent<R>) : null;
}

/** The parts of fetch that are used. */
export type Fetch = (
  url: string,
  init: {
    readonly method: string;
    readonly headers: { readonly [name: string]: string };
    readonly body?: string;
    readonly credentials: 'same-origin';
  },
) => Promise<{
  readonly ok: boolean;
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}>;

export interface ApiOptions {
  /** Without a trailing slash; empty for the page's own origin. */
  readonly baseUrl: string;
  readonly fetch: Fetch;
  /** Sent with every request, for example Authorization. */
  readonly headers?: { readonly [name: string]: string };
}

type LooseInput = {
  readonly params?: { readonly [name: string]: unknown };
  readonly query?: { readonly [name: string]: unknown };
  readonly body?: unknown;
};

/** A client for the routes of a table (spread several into one). Every call rejects with ApiError, or with what fetch rejects with. */
export function createApi<const T extends RouteTable>(table: T, options: ApiOptions): Api<T> {
  const calls = Object.entries(table).map(([name, route]) => [
    name,
    (input: LooseInput = {}) => call(route, input, options),
  ]);
  return Object.fromEntries(calls) as Api<T>;
}

async function call(route: RouteDeclaration, input: LooseInput, options: ApiOptions): Promise<unknown> {
  const query = Object.entries(input.query ?? {})
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
    .join('&');
  const hasBody = input.body !== undefined;
  const response = await options.fetch(
    `${options.baseUrl}${pathOf(route.path, input.params ?? {})}${query === '' ? '' : `?${query}`}`,
    {
      method: route.method,
      headers: {
        'X-Requested-With': 'fetch',
        ...(hasBody ? { 'Content-Type': 'application/json' } : {}),
        ...options.headers,
      },
      ...(hasBody ? { body: JSON.stringify(input.body) } : {}),
      credentials: 'same-origin',
    },
  );
  const text = await response.text();
  if (!response.ok) throw errorOf(response.status, text, response.headers.get('retry-after'));
  if (route.media !== undefined) return text;
  return text === '' ? null : JSON.parse(text);
}

/** Fills a path; the slashes of a tail `{key+}` stay. */
function pathOf(path: string, params: { readonly [name: string]: unknown }): string {
  return path.replaceAll(/\{([a-z_]+)(\+?)\}/g, (_, name: string, tail: string) => {
    const encoded = encodeURIComponent(String(params[name]));
    return tail === '' ? encoded : encoded.replaceAll('%2F', '/');
  });
}

function errorOf(status: number, text: string, retryAfter: string | null): ApiError {
  const wait = retryAfter === null || Number.isNaN(Number(retryAfter)) ? null : Number(retryAfter);
  let body: unknown = null;
  try {
    body = JSON.parse(text);
  } catch {
    // Not the hub's reply: its text is the detail.
  }
  const fields =
    typeof body === 'object' && body !== null ? (body as { detail?: unknown; code?: unknown }) : {};
  const code = typeof fields.code === 'string' ? fields.code : 'unknown';
  return new ApiError(status, code, fields.detail ?? text, wait);
}
