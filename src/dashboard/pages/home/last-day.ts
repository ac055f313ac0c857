// The time of Home's chart: the same 24 hours, from a whole minute on, that the hub counts its figures in.
import { dayMs, minuteMs } from '../../../domain/duration.ts';

export const bucketMs = 30 * minuteMs;

export interface LastDay {
  /** Epoch milliseconds: the first moment that counts. */
  readonly since: number;
  /** Where its bucket begins: the chart's left end. */
  readonly from: number;
  readonly until: number;
}

export function lastDay(now: number): LastDay {
  const since = Math.floor((now - dayMs) / minuteMs) * minuteMs;
  return {
    since,
    from: Math.floor(since / bucketMs) * bucketMs,
    until: Math.ceil((now + 1) / bucketMs) * bucketMs,
  };
}
