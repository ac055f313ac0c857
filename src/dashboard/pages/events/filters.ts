// The filter of the events page, from the address to the hub's query. Times are whole minutes, so that answers can be
// cached.
import { minuteMs } from '../../../shared/duration.ts';
import type { Input } from '../../lib/api.ts';
import type { Search } from '../../lib/search.ts';
import { envs } from '../../lib/search.ts';

export const ranges = [
  ['15m', 'Last 15 minutes', 15],
  ['1h', 'Last hour', 60],
  ['6h', 'Last 6 hours', 360],
  ['24h', 'Last 24 hours', 1_440],
  ['7d', 'Last 7 days', 10_080],
  ['30d', 'Last 30 days', 43_200],
] as const;

/** The range without a selection. */
export const defaultRange = '24h';

const texts = ['verdict', 'tool_name', 'agent_id', 'decision_name', 'run_id', 'call_id', 'search'] as const;

export interface Span {
  readonly from: number;
  readonly until: number;
  /** The span ends now and moves with the time. */
  readonly open: boolean;
  /** Name of the range before now; null for a fixed start. */
  readonly range: string | null;
}

/** The span of time: absolute if the address contains its ends. */
export function spanOf({ since, until, range }: Search, now: number): Span {
  const [from, to] = [Date.parse(since ?? ''), Date.parse(until ?? '')];
  const end = Math.ceil(now / minuteMs) * minuteMs;
  if (!Number.isNaN(from)) {
    return { from, until: Number.isNaN(to) ? end : to, open: Number.isNaN(to), range: null };
  }
  const minutesOf = (wanted: string | undefined) => ranges.find(([key]) => key === wanted)?.[2];
  const key = minutesOf(range) === undefined ? defaultRange : (range ?? defaultRange);
  return { from: end - (minutesOf(key) ?? 1_440) * minuteMs, until: end, open: true, range: key };
}

/** A span as parameters of the address. */
export const instantsOf = ({ from, until }: Pick<Span, 'from' | 'until'>) => ({
  since: new Date(from).toISOString(),
  until: new Date(until).toISOString(),
});

type Filters = NonNullable<Input<'eventFacets'>['query']>;

export function filterOf(search: Search, span: Span): Filters {
  const filters: { [name: string]: string } = { since: new Date(span.from).toISOString() };
  if (!span.open) filters.until = new Date(span.until).toISOString();
  for (const name of texts) {
    const value = search[name];
    if (value) filters[name] = value;
  }
  if (search.mode === 'enforce' || search.mode === 'observe') filters.mode = search.mode;
  const env = envs.find((one) => one === search.env);
  if (env) filters.env = env;
  return filters;
}

/** Identifies a filter, whatever the current time. */
export function questionOf(filter: Filters, { range }: Span): string {
  const { since, ...still } = filter;
  return JSON.stringify([range, range === null ? filter : still]);
}

/** A round length for the bars, which gives about a hundred at most. */
export function bucketMsOf({ from, until }: Span): number {
  const round = [1, 2, 5, 10, 15, 30, 60, 120, 240, 360, 720, 1_440];
  const minutes = (until - from) / minuteMs / 96;
  return (round.find((one) => one >= minutes) ?? 1_440) * minuteMs;
}
