// The refusal of what comes too often, in one place for all use cases.
import { HubError } from '../domain/error.ts';
import type { LimitAnswer, Limits } from '../ports/limits.ts';

export interface RateLimit {
  /** What is counted: see domain/limit-names. */
  readonly name: string;
  readonly max: number;
  readonly windowMs: number;
  /** How much the request counts; default 1. */
  readonly cost?: number;
  /** What the caller is told. */
  readonly message?: string;
}

/** Counts one request. @throws HubError rate_limited, with the seconds until the next is taken */
export async function enforceLimit(
  limits: Limits,
  { name, max, windowMs, cost, message }: RateLimit,
): Promise<void> {
  requireRoom(await limits.hit(name, max, windowMs, cost), message, max);
}

/** @throws HubError rate_limited when the limit refused, with the seconds to wait */
export function requireRoom(
  answer: LimitAnswer,
  message = 'Too many requests. Please slow down.',
  max?: number,
): asserts answer is Extract<LimitAnswer, { ok: true }> {
  if (answer.ok) return;
  const { retryAfter } = answer;
  throw new HubError('rate_limited', message, { retryAfter, ...(max === undefined ? {} : { max }) });
}
