// Errors as replies: the one table from error code to HTTP status, and the two forms that the hub's APIs write errors
// in. Names fields in the words of the APIs. Logs nothing.

import { usualRetryAfter } from '../admission/admission-class.ts';
import type { Finding } from '../bundle/rules/finding.ts';
import { type ErrorReason, type FieldProblem, HubError } from '../shared/error.ts';
import { snake } from '../shared/snake-keys.ts';
import { type Problem, RequestError, type WireCode } from './contract/request-error.ts';
import type { ErrorFormat, RouteDeclaration } from './contract/route.ts';
import { maxProblems } from './contract/validation.ts';
import type { HeaderList } from './headers.ts';
import { statusTexts } from './raw.ts';

/** Code → status. */
export const statusOf: { readonly [C in WireCode]: number } = {
  bad_request: 400,
  invalid_json: 400,
  unauthenticated: 401,
  forbidden: 403,
  csrf_header_missing: 403,
  password_login_off: 403,
  tenant_suspended: 403,
  role_required: 403,
  person_required: 403,
  environment_protected: 403,
  env_mismatch: 403,
  origin_refused: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  managed_by_idp: 409,
  quota_exceeded: 409,
  cursor_expired: 410,
  precondition_failed: 412,
  changed: 412,
  payload_too_large: 413,
  response_too_large: 413,
  unsupported_media_type: 415,
  validation_failed: 422,
  unprocessable: 422,
  search_timeout: 422,
  upgrade_required: 426,
  rate_limited: 429,
  too_busy: 429,
  headers_too_large: 431,
  internal: 500,
  disk_full: 503,
  overloaded: 503,
  unavailable: 503,
  shutting_down: 503,
};

/** Every code of a reply, in the order of their status. */
export const wireCodes = Object.keys(statusOf) as readonly WireCode[];

/** Parts of a request, by which the place of a field is named. */
export type RequestSchemas = Pick<RouteDeclaration, 'query' | 'params'>;

function partOf({ query, params }: RequestSchemas, name: string): 'query' | 'path' | 'body' {
  if (query && name in query.shape) return 'query';
  return params && name in params.shape ? 'path' : 'body';
}

/** A problem of a use case's input in the words of the route. */
function problemAt({ field, message, path }: FieldProblem, schemas: RequestSchemas): Problem {
  const names = field.map((name) => (typeof name === 'number' ? name : snake(name)));
  const part = partOf(schemas, String(names[0] ?? ''));
  return { loc: [part, ...names, ...(path ? [path] : [])], msg: message };
}

/** All problems of a request that an error knows; undefined: it knows none. */
function problemsIn(error: HubError, schemas: RequestSchemas): readonly Problem[] | undefined {
  const problems = error instanceof RequestError ? error.detail.problems : undefined;
  const all = problems ?? error.detail.fields?.map((one) => problemAt(one, schemas));
  return all?.slice(0, maxProblems).map(({ loc, msg }) => ({ loc, msg }));
}

export interface ProblemAnswer {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: {
    readonly detail: unknown;
    readonly code: WireCode;
    readonly problems?: readonly Finding[];
    readonly [member: string]: unknown;
  };
}

/**
 * A problem document (RFC 9457). Its `type` is about:blank: `title` is the meaning of the status, `code` identifies the
 * problem.
 */
export interface ProblemDocument {
  readonly type: 'about:blank';
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: WireCode | ErrorReason;
  readonly errors?: readonly Problem[];
  /** All findings in a document that was not deployed. */
  readonly problems?: readonly Finding[];
  readonly request_id: string;
}

/**
 * The reply of an error. Errors that are not HubErrors show nothing of themselves.
 * @param schemas of the route that was asked; default: every field is one of the body
 */
export function problemOf(error: unknown, schemas: RequestSchemas = {}): ProblemAnswer {
  if (!(error instanceof HubError)) {
    return { status: 500, headers: [], body: { detail: 'Internal server error.', code: 'internal' } };
  }
  const { detail, message } = error;
  const code = (error instanceof RequestError ? error.detail.wireCode : null) ?? error.code;
  const status = statusOf[code];
  const headers: (readonly [string, string])[] = [];
  const wait = detail.retryAfter ?? (status === 503 ? usualRetryAfter : null);
  if (wait !== null && code !== 'too_busy')
    headers.push(['Retry-After', String(Math.max(1, Math.ceil(wait)))]);
  if (status === 401) headers.push(['WWW-Authenticate', 'Bearer']);
  if (status === 426) headers.push(['Upgrade', 'websocket'], ['Sec-WebSocket-Version', '13']);
  if (detail.allow) headers.push(['Allow', allowOf(detail.allow)]);
  const problems = problemsIn(error, schemas) ?? [];
  const listed = code === 'validation_failed' && problems.length > 0;
  const members = detail.findings ? { problems: detail.findings } : {};
  return {
    status,
    headers,
    body: { detail: listed ? problems : message, code, ...members, ...detail.members },
  };
}

/** The media type of errors of each form. */
export const errorMedia: { readonly [F in ErrorFormat]: string } = {
  detail: 'application/json',
  problem: 'application/problem+json',
};

/** The same reply as a problem document. `errors` lists what is wrong and where, for every error that knows it. */
function documentOf(error: unknown, requestId: string, schemas: RequestSchemas): ProblemDocument {
  const { status, body } = problemOf(error, schemas);
  const hubError = error instanceof HubError ? error : null;
  const errors = hubError ? problemsIn(hubError, schemas) : undefined;
  return {
    type: 'about:blank',
    title: statusTexts[status] ?? 'Error',
    status,
    detail: hubError?.message ?? String(body.detail),
    code: hubError?.detail.reason ?? body.code,
    ...hubError?.detail.members,
    ...(errors && errors.length > 0 ? { errors } : {}),
    ...(body.problems ? { problems: body.problems } : {}),
    request_id: requestId,
  };
}

/**
 * The hosted API's headers about a limit: requests in a minute, the rest, and the seconds until all of it is free
 * again.
 */
export const rateLimitHeaders = (limit: {
  readonly max: number;
  readonly left: number;
  readonly seconds: number;
}): HeaderList => [
  ['RateLimit-Limit', String(limit.max)],
  ['RateLimit-Remaining', String(Math.max(0, limit.left))],
  ['RateLimit-Reset', String(Math.ceil(limit.seconds))],
];

/** The reply of an error in the form that the API of its path writes. */
export function errorReply(
  error: unknown,
  format: ErrorFormat,
  requestId: string,
  schemas: RequestSchemas = {},
): { readonly status: number; readonly headers: HeaderList; readonly json: string } {
  const { status, headers, body } = problemOf(error, schemas);
  const { max, retryAfter } = error instanceof HubError ? error.detail : {};
  const limits: HeaderList =
    format === 'problem' && status === 429 && max !== undefined
      ? rateLimitHeaders({ max, left: 0, seconds: retryAfter ?? 1 })
      : [];
  return {
    status,
    headers: [...headers, ...limits, ['Content-Type', errorMedia[format]]],
    json: JSON.stringify(format === 'problem' ? documentOf(error, requestId, schemas) : body),
  };
}

/** An Allow header: what the table names, and what follows from it. */
export const allowOf = (methods: readonly string[]): string =>
  [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
