// Errors that the edge itself finds in a request: problems in the words of its API, and codes that only HTTP has.
import { type ErrorCode, type ErrorDetail, HubError } from '../../shared/error.ts';

/** One problem in a request: where it is (`body`, `query` or `path`, then the field path) and what is wrong. */
export interface Problem {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
}

/** A code that a reply may contain: those of the hub, and those of HTTP alone. */
export type WireCode = ErrorCode | 'csrf_header_missing'; // 403

export interface RequestErrorDetail extends ErrorDetail {
  readonly problems?: readonly Problem[];
  /** Default: the error's own code. */
  readonly wireCode?: WireCode;
}

export class RequestError extends HubError {
  declare readonly detail: RequestErrorDetail;

  constructor(code: ErrorCode, message: string, detail: RequestErrorDetail) {
    super(code, message, detail);
  }
}
