// Errors on their way between threads: a HubError stays one. Errors of SQLite and of the disk become a HubError; their
// original text goes to the log alone.
import { outageOf } from '../../src/admission/outages.ts';
import { type ErrorCode, type ErrorDetail, HubError } from '../../src/shared/error.ts';
import { isUncertain, type Trouble, troubleOf } from './trouble.ts';

export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly detail: ErrorDetail;
  /** Trouble of the file or its disk; null when the call alone is at fault. */
  readonly trouble: Trouble | null;
  /** Original error, for the log alone. */
  readonly cause: string | null;
}

export const unavailable = (): HubError => outageOf('embeddedStoreAway');

export const diskFull = (): HubError => outageOf('embeddedStoreFull');

const damaged = (): HubError => outageOf('embeddedStoreDamaged');

function errorOfTrouble(trouble: Trouble | null): HubError {
  if (trouble === 'full') return diskFull();
  return trouble === 'damaged' || trouble === 'foreign' ? damaged() : unavailable();
}

export function failureOf(error: unknown): Failure {
  if (error instanceof HubError) {
    const { code, message, detail } = error;
    return { code, message, detail, trouble: null, cause: null };
  }
  const trouble = troubleOf(error);
  const { code, message, detail } = isUncertain(error) ? unavailable() : errorOfTrouble(trouble);
  const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { code, message, detail, trouble, cause };
}

/** The error again; its `cause` is the original error. */
export function errorOf({ code, message, detail, cause }: Failure): HubError {
  const error = new HubError(code, message, detail);
  if (cause !== null) error.cause = cause;
  return error;
}
