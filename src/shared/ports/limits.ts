// Sliding-window limits. A name is `<class>:<whom>`; classes are few and fixed, so that one may be bounded apart from
// the others.
import type { Awaitable } from '../concurrency/awaitable.ts';

/** Counts what callers do. */
export interface Limits {
  /**
   * Counts `cost` against `name`, if it fits into `max` per `windowMs`: one atomic step over all nodes. A
   * refused call counts nothing. A cost of 0 only asks: it is refused while more than `max` is counted. Answers
   * without a promise where all is counted in this process.
   * @throws HubError('unavailable') when it cannot be counted: what it is asked for must not happen then
   */
  hit(name: string, max: number, windowMs: number, cost?: number): Awaitable<LimitAnswer>;
  /** Takes the newest hit of cost 1 back: what it was counted for turned out well. Harmless when nothing is counted. */
  takeBack(name: string): Promise<void>;
}

export type LimitAnswer =
  | {
      readonly ok: true;
      /** Amount that still fits now, a whole number. */
      readonly left: number;
    }
  | {
      readonly ok: false;
      /** Whole seconds until it may fit again, at least 1. */
      readonly retryAfter: number;
    };
