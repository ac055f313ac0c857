// Events of the sample run on the events page: list, chart and filters contain them only while no reported event
// matches. The hub's counts leave them out, so the page counts them itself.
import { verdictWordOf } from '../../../event/rules/query/match.ts';
import type { Reply } from '../../lib/api.ts';
import type { VerdictCounts } from '../../lib/series.ts';
import { type EventRow, payloadField } from './event-row.ts';
import { type FacetName, facetNames } from './facet-names.ts';

/**
 * The rows to show, of those that the hub found.
 * @param maxRows maximum of rows to read, hidden ones included
 * @returns `isSample`: the rows are from the sample run; `isFull`: no more rows are read
 */
export function visibleEvents(
  loadedRows: readonly EventRow[],
  maxRows: number,
): {
  readonly rows: readonly EventRow[];
  readonly isSample: boolean;
  readonly isFull: boolean;
} {
  const rows = loadedRows.slice(0, maxRows);
  const isFull = loadedRows.length >= maxRows;
  const reported = rows.filter(({ sample }) => sample !== true);
  return reported.length > 0
    ? { rows: reported, isSample: false, isFull }
    : { rows, isSample: rows.length > 0, isFull };
}

/** The buckets of the hub's answer. */
export const bucketsOfReply = (reply: Reply<'eventHistogram'>): readonly VerdictCounts[] =>
  reply.map(({ bucket_start, observed, pending, ...counts }) => ({
    ...counts,
    at: Date.parse(bucket_start),
    would_deny: observed,
    asked: pending,
  }));

/** The buckets of the chart, in the order of time. @param from the start of the first, in epoch milliseconds */
export function bucketsOfRows(
  rows: readonly EventRow[],
  from: number,
  bucketMs: number,
): readonly VerdictCounts[] {
  const buckets = new Map<number, { -readonly [K in keyof VerdictCounts]: VerdictCounts[K] }>();
  for (const { timestamp, verdict, mode } of rows) {
    const at = from + Math.floor((Date.parse(timestamp) - from) / bucketMs) * bucketMs;
    const bucket = buckets.get(at) ?? { at, allowed: 0, denied: 0, would_deny: 0, asked: 0 };
    bucket[verdictWordOf(verdict, mode)]++;
    buckets.set(at, bucket);
  }
  return [...buckets.values()].sort((a, b) => a.at - b.at);
}

/** The value of a row that a facet counts it under; null: none. */
export function facetValue(row: EventRow, name: FacetName): string | null {
  if (name === 'first_verdict') return verdictWordOf(row.verdict, row.mode);
  const value = name === 'decision_name' ? payloadField(row, name) : row[name];
  return typeof value === 'string' ? value : null;
}

function countedValues(rows: readonly EventRow[], name: FacetName) {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const value = facetValue(row, name);
    if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  const top = [...counts].map(([value, count]) => ({ value, count })).sort((a, b) => b.count - a.count);
  return { top, rest: { values: 0, count: 0 } };
}

/** The filters' counts, as the hub returns them for other events. */
export const facetsOfRows = (
  rows: readonly EventRow[],
): { readonly total: number; readonly facets: Pick<Reply<'eventFacets'>['facets'], FacetName> } => ({
  total: rows.length,
  facets: Object.fromEntries(facetNames.map((name) => [name, countedValues(rows, name)])) as {
    readonly [name in FacetName]: ReturnType<typeof countedValues>;
  },
});
