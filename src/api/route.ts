// What a route declaration is. From the tables of declarations come: the router, authentication, validation, body limits, rate limits,
// metric labels, the OpenAPI document and the typed client. A route that lacks a declaration cannot be served. Browser-safe.
import type { z } from 'zod';
import type { ErrorCode } from '../domain/error.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * Who may call: `none`; `cookie` (a signed-in user); `admin` (a signed-in user with is_admin); `key` (an API key);
 * `either` (an API key or a user); `operator` (the OPERATOR_TOKEN; the route answers 404 when it is not set).
 */
export type Auth = 'none' | 'cookie' | 'admin' | 'key' | 'either' | 'operator';

/** Rate-limit classes. `none` for probes; `login` per client address; `ingest` counts events per tenant; `standard` per key or user. */
export type LimitClass = 'none' | 'login' | 'operator' | 'ingest' | 'standard' | 'stream';

export interface RouteDeclaration {
  readonly method: Method;
  /** `/api/v1/keys/{key_id}`; a last segment `{key+}` takes the rest of the path, slashes included. */
  readonly path: string;
  readonly auth: Auth;
  readonly summary: string;
  /** OpenAPI tag: the noun. */
  readonly tag: string;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  /** JSON body. Unknown fields are ignored. */
  readonly body?: z.ZodType;
  /** True when the body may be missing altogether (it is then validated as `{}`). */
  readonly optionalBody?: boolean;
  /** `json` (default), or `bytes`: the handler gets the raw bytes and validates with a compiled check (ingest only). */
  readonly parse?: 'json' | 'bytes';
  /** A body of type application/x-yaml (or application/yaml, text/yaml), UTF-8, stands for `{[yamlField]: its exact text}`. */
  readonly yamlField?: string;
  /** Bytes; default: by the specification's table (§1.3). */
  readonly bodyLimit?: number;
  readonly status: number;
  /** The body on success; absent for an empty one. */
  readonly reply?: z.ZodType;
  /** Default application/json. `text/event-stream` marks a stream route: also served over WebSocket. */
  readonly media?: string;
  /** True for a document of a tenant's own, which may be larger than the 4 MiB that other answers are held to. */
  readonly download?: boolean;
  readonly errors: readonly ErrorCode[];
  readonly limit?: LimitClass;
  /** True where a missing X-Requested-With header does not matter although the caller has no API key (login). */
  readonly csrfExempt?: boolean;
}

/** A table of routes: operation name → declaration. Names are unique over all tables. */
export type RouteTable = { readonly [operation: string]: RouteDeclaration };

/** Keeps the literal types of a table. */
export const routes = <const T extends RouteTable>(table: T): T => table;

type Parsed<T> = T extends z.ZodType ? z.output<T> : Record<never, never>;

/** What the handler of a route gets, validated. */
export interface Input<R extends RouteDeclaration> {
  readonly params: Parsed<R['params']>;
  readonly query: Parsed<R['query']>;
  readonly body: R['parse'] extends 'bytes' ? Uint8Array : Parsed<R['body']>;
}

/** What the handler of a route returns, before encoding. */
export type ReplyBody<R extends RouteDeclaration> = R['media'] extends string
  ? Uint8Array | string
  : R['reply'] extends z.ZodType
    ? z.input<R['reply']>
    : null;
