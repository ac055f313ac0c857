// The filter of the events page, from the address to the hub's query. Times are whole minutes, so that answers can be
// cached.
import { minuteMs } from '../../../shared/duration.ts';
import type { Input } from '../../lib/api.ts';
import type { Span } from '../../lib/range.ts';
import type { Search } from '../../lib/search.ts';
import { envs } from '../../lib/search.ts';

const texts = ['verdict', 'tool_name', 'agent_id', 'decision_name', 'run_id', 'call_id', 'search'] as const;

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
