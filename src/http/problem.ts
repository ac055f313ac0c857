// Errors as replies: the one table from error code to HTTP status. Logs nothing.
import { maxProblems } from '../api/validation.ts';
import { type ErrorCode, HubError } from '../domain/error.ts';
import type { Finding } from '../domain/finding.ts';

/** Error code → status. */
export const statusOf: { readonly [C in ErrorCode]: number } = {
  bad_request: 400,
  invalid_json: 400,
  unauthenticated: 401,
  forbidden: 403,
  csrf_header_missing: 403,
  env_mismatch: 403,
  origin_refused: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  quota_exceeded: 409,
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

export interface Problem {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: {
    readonly detail: unknown;
    readonly code: ErrorCode;
    readonly problems?: readonly Finding[];
  };
}

/** The reply of an error. Errors that are not HubErrors say nothing of themselves. */
export function problemOf(error: unknown): Problem {
  if (!(error instanceof HubError)) {
    return { status: 500, headers: [], body: { detail: 'Internal server error.', code: 'internal' } };
  }
  const { code, detail, message } = error;
  const status = statusOf[code];
  const headers: (readonly [string, string])[] = [];
  const wait = detail.retryAfter ?? (status === 503 ? 1 : null);
  if (wait !== null && code !== 'too_busy')
    headers.push(['Retry-After', String(Math.max(1, Math.ceil(wait)))]);
  if (status === 401) headers.push(['WWW-Authenticate', 'Bearer']);
  if (status === 426) headers.push(['Upgrade', 'websocket'], ['Sec-WebSocket-Version', '13']);
  if (detail.allow) headers.push(['Allow', allowOf(detail.allow)]);
  const listed = code === 'validation_failed' && detail.problems && detail.problems.length > 0;
  const problems = detail.problems?.slice(0, maxProblems).map(({ loc, msg }) => ({ loc, msg }));
  const found = detail.findings ? { problems: detail.findings } : {};
  return { status, headers, body: { detail: listed ? problems : message, code, ...found } };
}

/** An Allow header: what the table names, and what follows from it. */
export const allowOf = (methods: readonly string[]): string =>
  [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
