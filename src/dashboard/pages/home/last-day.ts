// The period of Home's chart: the same 24 hours as the hub's figures, from a whole minute on.
import { dayMs, minuteMs } from '../../../shared/duration.ts';

export const bucketMs = 30 * minuteMs;

export interface LastDay {
  /** Start of the period, in epoch milliseconds. */
  readonly since: number;
  /** Start of its bucket, at the left end of the chart. */
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
