// The closed list of errors. Every failure a caller can see is one of these codes; only the transport turns a code into
// a status. Codes that only HTTP has are in `src/http/contract/request-error.ts`.
import type { Finding } from '../bundle/rules/finding.ts';

/** Error codes, in the order of their status. Documented with cause and fix in docs/errors.md. */
export const errorCodes = [
  'bad_request', // 400
  'invalid_json', // 400
  'unauthenticated', // 401
  'forbidden', // 403: signed in, but not allowed (not an admin)
  'password_login_off', // 403: people sign in through the identity provider alone
  'tenant_suspended', // 403: the tenant of the caller is suspended, or being removed
  'role_required', // 403: the caller's roles do not allow this, or not in this environment
  'person_required', // 403: only people may do this, and the caller is a service account
  'environment_protected', // 403: only admins, and operators by a role that names it, change it
  'env_mismatch', // 403: the key belongs to another environment
  'origin_refused', // 403: a browser origin that CORS_ORIGINS does not name
  'not_found', // 404
  'method_not_allowed', // 405
  'conflict', // 409
  'managed_by_idp', // 409: the identity provider decides about it
  'quota_exceeded', // 409: what is kept fills its room already
  'cursor_expired', // 410: what followed the cursor of an export was removed
  'precondition_failed', // 412: what is stored is not what the request says it changes
  'changed', // 412: the same on the console API, where If-Match names a version or a hash
  'payload_too_large', // 413
  'response_too_large', // 413: what was asked for does not fit one answer
  'unsupported_media_type', // 415
  'validation_failed', // 422: the request does not fit its declaration; the reply lists its fields
  'unprocessable', // 422: it fits, but cannot be carried out; detail is a sentence
  'search_timeout', // 422: it took too long and was ended
  'upgrade_required', // 426: a WebSocket handshake of another version
  'rate_limited', // 429
  'too_busy', // 429 without Retry-After (concurrent evaluations)
  'headers_too_large', // 431
  'internal', // 500
  'disk_full', // 503 with Retry-After: the store's disk is full, or too full for what can wait
  'overloaded', // 503 with Retry-After: a mailbox or the ingest queue is full
  'unavailable', // 503 with Retry-After: the store, the bus or an actor's owner cannot be reached
  'shutting_down', // 503 with Retry-After
] as const;

export type ErrorCode = (typeof errorCodes)[number];

/** Reasons that refine a code, for callers of an API with words for them, each with its code. */
const reasons = [
  ['invalid_cursor', 'bad_request'],
  ['token_expired', 'unauthenticated'],
  ['key_revoked', 'unauthenticated'],
  ['operator_required', 'forbidden'],
  ['role_required', 'forbidden'],
  ['password_login_off', 'forbidden'],
  ['managed_by_idp', 'conflict'],
  ['tenant_suspended', 'forbidden'],
  ['workspace_required', 'forbidden'],
  ['approval_already_decided', 'conflict'],
  ['approval_timed_out', 'conflict'],
  ['idempotency_in_progress', 'conflict'],
  ['idempotency_replay_refused', 'conflict'],
  ['version_precondition_failed', 'precondition_failed'],
  ['run_too_large', 'response_too_large'],
  ['env_required', 'validation_failed'],
  ['invalid_ruleset', 'validation_failed'],
  ['name_mismatch', 'unprocessable'],
  ['idempotency_key_reused', 'unprocessable'],
  ['replay_busy', 'rate_limited'],
  ['signing_unavailable', 'unavailable'],
] as const satisfies readonly (readonly [reason: string, code: ErrorCode])[];

export type ErrorReason = (typeof reasons)[number][0];

export const reasonCodes: ReadonlyMap<ErrorReason, ErrorCode> = new Map(reasons);

/** One problem of a use case's input. The edge writes its place in the words of the API. */
export interface FieldProblem {
  /** The field's name in camelCase, then positions inside its value; empty: the whole input. */
  readonly field: readonly (string | number)[];
  /** Half a sentence, such as "must be in the future". */
  readonly message: string;
  /** The place inside a document that the input contains, in the document's words. */
  readonly path?: string;
}

export interface ErrorDetail {
  /** For `validation_failed`: every problem of the input (at most 50). */
  readonly fields?: readonly FieldProblem[];
  /** For a document that is not deployed: everything found in it. */
  readonly findings?: readonly Finding[];
  /** Seconds, for a `Retry-After` header. */
  readonly retryAfter?: number;
  /** For `rate_limited`: how many fit into the window. */
  readonly max?: number;
  /** For `method_not_allowed`: the methods the path has. */
  readonly allow?: readonly string[];
  /** Further members of the error's body. */
  readonly members?: { readonly [name: string]: unknown };
  /** The finer word for the code. */
  readonly reason?: ErrorReason;
  /** True if a part of the change may be stored, although its code stands for a refusal. */
  readonly mayBeStored?: true;
}

/** The one error type. `message` is shown to the caller: it contains what to do and never a secret. */
export class HubError extends Error {
  readonly code: ErrorCode;
  readonly detail: ErrorDetail;

  constructor(code: ErrorCode, message: string, detail: ErrorDetail = {}) {
    super(message);
    this.name = 'HubError';
    this.code = code;
    this.detail = detail;
  }
}

/** An error by its finer word. */
export const refused = (
  reason: ErrorReason,
  message: string,
  detail: Omit<ErrorDetail, 'reason'> = {},
): HubError => new HubError(reasonCodes.get(reason) ?? 'internal', message, { ...detail, reason });

/** An input with one problem that no declaration can express. */
export const fieldProblem = (field: FieldProblem['field'], message: string): HubError =>
  new HubError('validation_failed', 'A field of the request is not valid. Correct the listed field.', {
    fields: [{ field, message }],
  });

const failureCodes: ReadonlySet<ErrorCode> = new Set([
  'internal',
  'disk_full',
  'overloaded',
  'unavailable',
  'shutting_down',
]);

/** True for an error that the caller can correct, false for a failure of the hub. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof HubError && !failureCodes.has(error.code);

/** Shorthand for a 404 in the caller's words. */
export const notFound = (message: string): HubError => new HubError('not_found', message);

/** The error of an id that something else has. */
export const taken = (): HubError =>
  new HubError('conflict', 'An object with this id already exists. Choose another id.');
