// The refusal of what comes too often, in one place: limits that routes declare (domain/limit.ts), and those of use
// cases that count something else than calls.
import { HubError } from '../domain/error.ts';
import {
  type Limit,
  type LimitSettings,
  type LimitSubject,
  limitName,
  maxOf,
  minuteMs,
} from '../domain/limit.ts';
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

/** How far a limit is used up. */
export interface LimitState {
  readonly max: number;
  readonly left: number;
  /** Until all of it is free again. */
  readonly seconds: number;
}

/** Counts the limits that routes declare, whichever way a request comes. */
export interface RateLimits {
  /**
   * Counts `cost`, default 1. A subject that does not say for whom is not counted: null.
   * @throws HubError rate_limited
   */
  count(limit: Limit, subject: LimitSubject, cost?: number): Promise<LimitState | null>;
  /** What is left; counts nothing. Null when the subject does not say for whom. */
  look(limit: Limit, subject: LimitSubject): Promise<LimitState | null>;
}

export function createRateLimits(ports: {
  readonly limits: Limits;
  readonly requestLimits: Limits;
  readonly settings: LimitSettings;
}): RateLimits {
  const counterOf = ({ perNode }: Limit): Limits => (perNode ? ports.requestLimits : ports.limits);
  const seconds = minuteMs / 1000;
  return {
    async count(limit, subject, cost) {
      const name = limitName(limit, subject);
      if (name === null) return null;
      const max = maxOf(limit, ports.settings);
      const answer = await counterOf(limit).hit(name, max, minuteMs, cost);
      requireRoom(answer, limit.message, max);
      return { max, left: answer.left, seconds };
    },

    async look(limit, subject) {
      const name = limitName(limit, subject);
      if (name === null) return null;
      const max = maxOf(limit, ports.settings);
      const answer = await counterOf(limit).hit(name, max, minuteMs, 0);
      return answer.ok ? { max, left: answer.left, seconds } : { max, left: 0, seconds: answer.retryAfter };
    },
  };
}
