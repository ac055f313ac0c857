// The filter of Explore, from the address to the hub's parameters. Times are whole minutes, so that answers can be
// cached.
import { minuteMs } from '../../../shared/duration.ts';
import type { Input } from '../../lib/api.ts';
import { instantsOf, type Span } from '../../lib/range.ts';
import type { Search } from '../../lib/search.ts';
import { envs } from '../../lib/search.ts';

export type EventFilters = NonNullable<Input<'eventFacets'>['query']>;

/** @param q the text of a query; with a mistake, nothing sends the filter */
export function filterOf({ env }: Search, q: string, span: Span): EventFilters {
  const filters: { [name: string]: string } = { since: new Date(span.from).toISOString() };
  if (!span.open) filters.until = new Date(span.until).toISOString();
  if (q !== '') filters.q = q;
  const one = envs.find((name) => name === env);
  if (one) filters.env = one;
  return filters as EventFilters;
}

/** Identifies a filter, whatever the current time. */
export function questionOf(filter: EventFilters, { range }: Span): string {
  const { since, ...still } = filter;
  return JSON.stringify([range, range === null ? filter : still]);
}

/** A round length for the bars, which gives about a hundred at most. */
export function bucketMsOf({ from, until }: Span): number {
  const round = [1, 2, 5, 10, 15, 30, 60, 120, 240, 360, 720, 1_440];
  const minutes = (until - from) / minuteMs / 96;
  return (round.find((one) => one >= minutes) ?? 1_440) * minuteMs;
}

/** The start of the bucket that a range begins in, in epoch milliseconds. */
export const firstBucket = (from: number, bucketMs: number): number => Math.floor(from / bucketMs) * bucketMs;

/** The ends of a chart of the span, rounded to its buckets. */
export function chartAxisOf(span: Span) {
  const bucketMs = bucketMsOf(span);
  const until = Math.ceil(span.until / bucketMs) * bucketMs;
  return { from: firstBucket(span.from, bucketMs), until, bucketMs };
}

/**
 * The calls of the span by bucket, the same as in its counts. The buckets of a span that ends now are whole, so that
 * answers can be cached.
 */
export function chartQueryOf(filter: EventFilters, span: Span) {
  const { until, bucketMs } = chartAxisOf(span);
  const ends = instantsOf({ from: span.from, until: span.open ? until : span.until });
  return { ...filter, ...ends, bucket_seconds: bucketMs / 1000 };
}
