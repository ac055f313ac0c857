// Declarations of routes. From the tables of declarations come: the router, authentication, validation, body limits,
// rate limits, metric labels, the OpenAPI document and the typed client. A route that lacks a declaration cannot be
// served. Browser-safe.
import type { z } from 'zod';
import type { Limit, LimitClass } from '../../admission/limit.ts';
import type { AuditAction } from '../../audit/record.ts';
import type { ErrorCode } from '../../shared/error.ts';
import { isOperatorRole, type OperatorRole } from '../../shared/principal.ts';
import type { FrameTable } from './frame-table.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * How a caller may prove who they are: `key` (an API key as bearer token), `cookie` (a login), or `hostedKey` (an API
 * key, of one environment or of all). `operatorToken` is the OPERATOR_TOKEN as bearer token; its routes answer 404 when
 * it is not set. `operatorJwt` is a JWT of a person who operates a workspace, from an identity provider or from the
 * hub.
 */
export type AuthScheme = 'key' | 'cookie' | 'operatorToken' | 'hostedKey' | 'operatorJwt';

/**
 * Callers that a route is for, in addition to `auth`: `nobody` (no sign-in needed), `agent` (API keys alone), `person`
 * (own things of a signed-in person), `installation` (the OPERATOR_TOKEN), else the role that a person needs. Keys have
 * no role.
 */
export type RouteRole = 'nobody' | 'agent' | 'person' | 'installation' | OperatorRole;

export const isPersonRole = (role: RouteRole): role is OperatorRole => isOperatorRole(role);

/**
 * How the environments of a request are found, in which a person needs the role: `query` and `body` (the field `env`,
 * absent: any), `record` (the use case knows them), `none` (the role in any environment suffices).
 */
export type EnvSource = 'query' | 'body' | 'record' | 'none';

const kib = 1024;
/** Bytes of a body that holds credentials and little else. */
export const smallBody = 4 * kib;
/** Bytes of a body where a route declares no limit of its own. */
export const defaultBody = kib * kib;
/** Bytes of a body that may hold a whole document of contracts. */
export const documentBody = 5 * kib * kib;

export interface RouteDeclaration {
  readonly method: Method;
  /** `/api/v1/keys/{key_id}`; a last segment `{key+}` takes the rest of the path, slashes included. */
  readonly path: string;
  /** The schemes that are taken, in the order they are looked for; none: anybody may call. */
  readonly auth: readonly AuthScheme[];
  readonly role: RouteRole;
  /** True where a service account is refused (403 person_required), as it is where `role` is `person`. */
  readonly peopleOnly?: true;
  /** Source of a request's environments. */
  readonly envs: EnvSource;
  /**
   * True where an API key may name its own environment only in the query's `env`; another answers 403 before the
   * handler.
   */
  readonly ownEnvironment?: boolean;
  readonly summary: string;
  /** OpenAPI tag: the noun. */
  readonly tag: string;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  /** Query parameters that may come several times: each is read as a list. Of others the last counts. */
  readonly repeated?: readonly string[];
  /** JSON body. Unknown fields are ignored. */
  readonly body?: z.ZodType;
  /** True when the body may be missing altogether (it is then validated as `{}`). */
  readonly optionalBody?: boolean;
  /** `json` (default), or `bytes`: the handler gets the raw bytes and validates with a compiled check (ingest only). */
  readonly parse?: 'json' | 'bytes';
  /**
   * A body of type application/x-yaml (or application/yaml, text/yaml), UTF-8, stands for `{[yamlField]: its exact
   * text}`.
   */
  readonly yamlField?: string;
  /** True where whole numbers of the body that a double cannot hold are kept as texts of their digits. */
  readonly exactNumbers?: true;
  /** The media type of a body that is read as bytes; default application/json. */
  readonly bodyMedia?: string;
  /** Bytes; default 1 MiB. */
  readonly bodyLimit?: number;
  readonly status: number;
  /** The body on success; absent for an empty one. */
  readonly reply?: z.ZodType;
  /** Default application/json. `text/event-stream` on a GET marks a stream route: also served over WebSocket. */
  readonly media?: string;
  /** Stream of the live edge that a stream route opens; default: the caller's own (an agent's, a dashboard's). */
  readonly stream?: 'events';
  /** The events of a stream route. */
  readonly frames?: FrameTable;
  /** True for a document of a tenant's own, which may be larger than the 4 MiB that other answers are held to. */
  readonly download?: boolean;
  /** True for a question whose answer may need much of what is stored to be read: few of a caller run at once. */
  readonly search?: boolean;
  /** True for a question that is asked with POST, because it is long. */
  readonly reads?: boolean;
  readonly errors: readonly ErrorCode[];
  /**
   * Entries that the audit chain receives about a request that changes something: its actions, or a sentence with the
   * reason for none. Absent where nothing is changed (`GET`, `reads`).
   */
  readonly audit?: readonly AuditAction[] | string;
  /** Default `stream` of a stream route, else `standard`: of a caller who is only known by an address none. */
  readonly limit?: LimitClass;
  /** Limits of its own, beside the class. On the hosted API each answer below 500 has what is left. */
  readonly limits?: readonly Limit[];
  /**
   * Takes an Idempotency-Key, for 24 hours: a repeat makes nothing new. `answer`: it is answered as the first request
   * was; `once`: it is refused, because the first answer held a secret.
   */
  readonly idempotent?: 'answer' | 'once';
  /**
   * The route takes an If-Match header: the write is refused (412 changed) unless one of its tags names the replaced
   * state. The text describes the tags.
   */
  readonly ifMatch?: string;
  /**
   * True where an agent-id header that cannot be an agent's id refuses nothing: one over 255 characters is shortened,
   * another one stays as sent.
   */
  readonly canRepairAgentId?: true;
  /**
   * True where a request over the limits reaches the handler. The handler answers a repeat of an earlier request, and
   * throws the refusal for any other one.
   */
  readonly canRepeatOverLimit?: true;
  /** Winner where body and header may both name the agent that a request is about. */
  readonly agent?: 'body' | 'header';
  /**
   * Proof with X-Requested-With that a browser's page may call. `header`, the default save for GET: the
   * page must send it. A request that carries an API key and no cookie need not. `none`: nobody needs it (login).
   */
  readonly csrf?: 'header' | 'none';
  /** Text of the refusal when X-Requested-With is missing. */
  readonly csrfMessage?: string;
}

/** Format of errors: `detail` is JSON of `{detail, code}`; `problem` a problem document (RFC 9457). */
export type ErrorFormat = 'detail' | 'problem';

/** One of the hub's APIs. */
export interface ApiFamily {
  /**
   * Where its paths begin, without a slash at the end. A path belongs to the family of the longest prefix, whether or
   * not it has a route.
   */
  readonly prefix: string;
  readonly errors: ErrorFormat;
  readonly routes: RouteTable;
}

/** A table of routes: operation name → declaration. Names are unique over all tables. */
export type RouteTable = { readonly [operation: string]: RouteDeclaration };

/** Keeps the literal types of a table. */
export const routes = <const T extends RouteTable>(table: T): T => table;

type Parsed<T> = T extends z.ZodType ? z.output<T> : Record<never, never>;

/** Validated input of a route's handler. */
export interface Input<R extends RouteDeclaration> {
  readonly params: Parsed<R['params']>;
  readonly query: Parsed<R['query']>;
  readonly body: R['parse'] extends 'bytes' ? Uint8Array : Parsed<R['body']>;
}

/** Return value of a route's handler, before encoding. */
export type ReplyBody<R extends RouteDeclaration> = R['media'] extends string
  ? Uint8Array | string
  : R['reply'] extends z.ZodType
    ? z.input<R['reply']>
    : null;
