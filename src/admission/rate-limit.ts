// The refusal of what comes too often, in one place: it counts the limits of admission/limit.ts.

import { type Awaitable, chain } from '../shared/concurrency/awaitable.ts';
import { HubError } from '../shared/error.ts';
import type { Meters } from '../shared/meters.ts';
import type { LimitAnswer, Limits } from '../shared/ports/limits.ts';
import { type Limit, type LimitSettings, type LimitSubject, limitName, maxOf, windowOf } from './limit.ts';

/** Use of a limit so far. */
export interface LimitState {
  readonly max: number;
  readonly left: number;
  /** Until all of it is free again. */
  readonly seconds: number;
}

/** A subject without the field that a limit counts by is not counted, and never refused. */
export interface RateLimits {
  /**
   * Counts `cost`, default 1, if there is room for 1. Costs that exceed the limit delay later requests. Null when the
   * subject lacks the field that the limit counts by. Answers at once where all is counted in this process.
   * @throws HubError rate_limited, with the seconds until it may fit: at once, or later
   */
  count(limit: Limit, subject: LimitSubject, cost?: number): Awaitable<LimitState | null>;
  /** Checks a limit without counting. @throws HubError rate_limited */
  check(limit: Limit, subject: LimitSubject): Promise<void>;
  /** Takes the newest of cost 1 back. Harmless when nothing is counted. */
  takeBack(limit: Limit, subject: LimitSubject): Promise<void>;
  /** The rest of a limit, without counting. Null if the subject lacks the necessary fields. */
  look(limit: Limit, subject: LimitSubject): Promise<LimitState | null>;
}

export function createRateLimits(ports: {
  readonly limits: Limits;
  readonly requestLimits: Limits;
  readonly settings: LimitSettings;
  readonly meters: Pick<Meters, 'limited'>;
}): RateLimits {
  function requireRoom(
    answer: LimitAnswer,
    { name, message = 'Too many requests. Please slow down.' }: Limit,
    max: number,
  ): asserts answer is Extract<LimitAnswer, { ok: true }> {
    if (answer.ok) return;
    ports.meters.limited.add([name]);
    throw new HubError('rate_limited', message, { retryAfter: answer.retryAfter, max });
  }

  /** The port's input for a limit; null if the subject lacks the necessary fields. */
  function askedOf(limit: Limit, subject: LimitSubject) {
    const name = limitName(limit, subject);
    if (name === null) return null;
    const counter = limit.perNode ? ports.requestLimits : ports.limits;
    return { name, counter, max: maxOf(limit, ports.settings), windowMs: windowOf(limit, ports.settings) };
  }

  return {
    count(limit, subject, cost = 1) {
      const counted = askedOf(limit, subject);
      if (counted === null) return null;
      const { name, counter, max, windowMs } = counted;
      // One more than fits may pass, and counts in full: others would fill the room that a large request waits for.
      const excess = Math.max(0, cost - 1);
      return chain(counter.hit(name, max + excess, windowMs, cost), (answer) => {
        requireRoom(answer, limit, max);
        return { max, left: Math.max(0, answer.left - excess), seconds: windowMs / 1000 };
      });
    },

    async check(limit, subject) {
      const counted = askedOf(limit, subject);
      if (counted === null) return;
      const { name, counter, max, windowMs } = counted;
      requireRoom(await counter.hit(name, max - 1, windowMs, 0), limit, max);
    },

    async takeBack(limit, subject) {
      const counted = askedOf(limit, subject);
      await counted?.counter.takeBack(counted.name);
    },

    async look(limit, subject) {
      const counted = askedOf(limit, subject);
      if (counted === null) return null;
      const { name, counter, max, windowMs } = counted;
      const answer = await counter.hit(name, max, windowMs, 0);
      const seconds = answer.ok ? windowMs / 1000 : answer.retryAfter;
      return { max, left: answer.ok ? answer.left : 0, seconds };
    },
  };
}
