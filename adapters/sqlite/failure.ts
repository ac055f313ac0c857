// Errors on their way between threads: a HubError stays one, anything else becomes `unavailable` and is told to the log.
import { type ErrorCode, type ErrorDetail, HubError } from '../../src/domain/error.ts';

export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly detail: ErrorDetail;
  /** What really happened, for the log alone. */
  readonly cause: string | null;
}

export const unavailable = (): HubError =>
  new HubError('unavailable', 'The store cannot be reached. Try again shortly.', { retryAfter: 1 });

export function failureOf(error: unknown): Failure {
  if (error instanceof HubError) {
    return { code: error.code, message: error.message, detail: error.detail, cause: null };
  }
  const { code, message, detail } = unavailable();
  return {
    code,
    message,
    detail,
    cause: error instanceof Error ? (error.stack ?? error.message) : String(error),
  };
}

/** The error again; what really happened is its `cause`. */
export function errorOf({ code, message, detail, cause }: Failure): HubError {
  const error = new HubError(code, message, detail);
  if (cause !== null) error.cause = cause;
  return error;
}
