// How an attempt ended, read from an HTTP answer or from what failed. Nothing that the other side wrote gets further
// than this.

import type { AttemptFailure } from '../../src/notification/record.ts';
import type { AttemptOutcome } from '../../src/notification/rules/delivery.ts';
import { OutboundError, type OutboundFailure } from '../../src/shared/outbound.ts';
import type { OutboundHead } from '../../src/shared/ports/outbound.ts';

/** Of an attempt. */
export const attemptMs = 10_000;

const failures: { readonly [F in Exclude<OutboundFailure, 'aborted'>]: AttemptFailure } = {
  refused: 'refused_address',
  unresolved: 'unresolved',
  connection: 'connection',
  timeout: 'timeout',
  too_large: 'too_large',
};

/** @throws OutboundError('aborted'), and errors of any other class */
export function outcomeOfError(error: unknown): AttemptOutcome {
  if (!(error instanceof OutboundError) || error.failure === 'aborted') throw error;
  const failure = failures[error.failure];
  return { kind: 'failed', status: null, failure, mayRetry: failure !== 'refused_address' };
}

/** Milliseconds of a `Retry-After` header (seconds, or a date); 0 without a valid one. */
export function retryAfterMs(header: string | undefined, now: number): number {
  if (header === undefined) return 0;
  if (/^\d{1,9}(\.\d+)?$/.test(header)) return Math.ceil(Number(header) * 1000);
  const at = Date.parse(header);
  return Number.isNaN(at) ? 0 : Math.max(0, at - now);
}

/** True if a later attempt may end otherwise. */
export const mayRetryStatus = (status: number): boolean => status === 408 || status === 429 || status >= 500;

export const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** Meaning of the status code alone. */
export function outcomeOfStatus({ status, headers }: OutboundHead, now: number): AttemptOutcome {
  if (isSuccess(status)) return { kind: 'delivered', status, messageId: null };
  if (status === 410) return { kind: 'failed', status, failure: 'channel_gone', mayRetry: false };
  return {
    kind: 'failed',
    status,
    failure: status === 429 ? 'rate_limited' : 'status',
    mayRetry: mayRetryStatus(status),
    retryAfterMs: retryAfterMs(headers.get('retry-after'), now),
  };
}
