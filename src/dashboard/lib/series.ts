// Series of calls as bars and sums.
import { dayMs } from '../../shared/duration.ts';
import type { Reply } from './api.ts';

/** The calls of a thing, by their first verdict. */
export interface Calls {
  readonly allowed: number;
  readonly denied: number;
  readonly would_deny: number;
  readonly asked: number;
}

/** The calls of a span of time. */
export interface VerdictCounts extends Calls {
  /** Start of the span, in epoch milliseconds. */
  readonly at: number;
}

export type Series = Reply<'statsSeries'>['series'][number];

/** The hub's limit. */
const maxPoints = 200;

/**
 * The points to request for a range: one bucket more, because the first one begins before the range, and enough for
 * the widest buckets, which are days.
 * @param least buckets of a short range
 */
export function pointsOf(
  { since, until }: { readonly since: string; readonly until: string },
  least: number,
): number {
  const days = Math.ceil((Date.parse(until) - Date.parse(since)) / dayMs);
  return Math.min(maxPoints, Math.max(least, days) + 1);
}

const sum = (counts: readonly number[]): number => counts.reduce((total, one) => total + one, 0);

export const callsOf = ({ allowed, denied, would_deny: would, asked: pending }: Series): Calls => ({
  allowed: sum(allowed),
  denied: sum(denied),
  would_deny: sum(would),
  asked: sum(pending),
});

/** All calls of each bucket, and the denied ones. */
export const barsOf = ({ allowed, denied, would_deny: would, asked: pending }: Series) => ({
  totals: allowed.map((one, at) => one + (denied[at] ?? 0) + (would[at] ?? 0) + (pending[at] ?? 0)),
  denied,
});

/** The bars of a series by total; undefined without one. */
export const totalsOf = ({ series: [total] }: Reply<'statsSeries'>) => total && barsOf(total);
