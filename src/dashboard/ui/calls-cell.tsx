// Calls of the range in a row of a list: by verdict, and over time. Rows that come into view together share a request.
import { useQuery } from '@tanstack/react-query';
import type { JSX } from 'react';
import { call, type Input } from '../lib/api.ts';
import { after } from '../lib/browser.ts';
import { rangeOf } from '../lib/moving-range.ts';
import { type Env, useEnv, useFilters } from '../lib/search.ts';
import { barsOf, callsOf, pointsOf, type Series } from '../lib/series.ts';
import { createStore, useStore } from '../lib/store.ts';
import { Ribbon, Sparkline, sumOf } from './ribbon.tsx';
import type { Column } from './table.tsx';

type By = 'agent' | 'contract' | 'version';

/** Buckets of the range; agents are counted by the hour. */
const points = { agent: 24, contract: 48, version: 48 } as const;
/** Values of a request. */
const maxValues = 100;
/** Rows that come into view within this time share a request. Milliseconds. */
const gatherMs = 30;

type Answer = ReadonlyMap<string, Series>;

/** Values for the next request, by column. */
const gathered = new Map<string, { readonly values: Set<string>; readonly answer: Promise<Answer> }>();
/** The greatest bar of each column: its sparklines have one scale. */
const scales = createStore<ReadonlyMap<string, number>>(new Map());

/** A column in an environment and a range. */
interface Place {
  readonly by: By;
  readonly env: Env | undefined;
  readonly moving: ReturnType<typeof rangeOf>;
}

const columnKey = ({ by, env, moving }: Place): string => `${by} ${env ?? ''} ${moving.name}`;

async function read(place: Place, values: readonly string[]): Promise<Answer> {
  const { by, env, moving } = place;
  const seriesByValue = new Map<string, Series>();
  for (let at = 0; at < values.length; at += maxValues) {
    const range = moving.query();
    const query = { by, values: values.slice(at, at + maxValues), points: pointsOf(range, points[by]) };
    const { series } = await call('statsSeries', {
      query: { ...query, ...range, ...(env ? { env } : {}) },
    } as Input<'statsSeries'>);
    for (const one of series) seriesByValue.set(one.value ?? '', one);
  }
  return seriesByValue;
}

/** Raises the scale of a column to this series. */
function raiseScale(key: string, series: Series): void {
  const max = Math.max(1, ...barsOf(series).totals);
  if (max > (scales.get().get(key) ?? 0)) scales.set((before) => new Map(before).set(key, max));
}

async function seriesOf(place: Place, value: string): Promise<Series | null> {
  const key = columnKey(place);
  let next = gathered.get(key);
  if (!next) {
    const values = new Set<string>();
    const answer = new Promise<void>((resolve) => after(gatherMs, resolve)).then(() => {
      gathered.delete(key);
      return read(place, [...values]);
    });
    next = { values, answer };
    gathered.set(key, next);
  }
  next.values.add(value);
  return (await next.answer).get(value) ?? null;
}

const added = (some: readonly number[], others: readonly number[]): readonly number[] =>
  some.map((one, at) => one + (others[at] ?? 0));

/** Series of one range as one; null if there are none. */
const joined = (all: readonly (Series | null)[]): Series | null =>
  all.reduce(
    (sum, one) =>
      sum && one
        ? {
            value: null,
            total: sum.total + one.total,
            allowed: [...added(sum.allowed, one.allowed)],
            denied: [...added(sum.denied, one.denied)],
            would_deny: [...added(sum.would_deny, one.would_deny)],
            asked: [...added(sum.asked, one.asked)],
          }
        : (sum ?? one),
    null,
  );

function Calls({ by, values }: { readonly by: By; readonly values: readonly string[] }): JSX.Element | null {
  const [search] = useFilters();
  const place = { by, env: useEnv(), moving: rangeOf(search) };
  const key = columnKey(place);
  const { data, isError } = useQuery({
    queryKey: ['statsSeries', 'cell', key, ...values],
    queryFn: async () => {
      const series = joined(await Promise.all(values.map((value) => seriesOf(place, value))));
      if (series) raiseScale(key, series);
      return series;
    },
    enabled: values.length > 0,
  });
  const scale = useStore(scales).get(key) ?? 1;
  if (values.length === 0) return <span className="muted">none</span>;
  if (!data) return isError ? <span className="muted">unavailable</span> : null;
  const calls = callsOf(data);
  if (sumOf(calls) === 0) return <span className="muted">none</span>;
  return (
    <span className="calls-cell row">
      <Ribbon calls={calls} />
      <Sparkline {...barsOf(data)} max={scale} />
    </span>
  );
}

/** @param of the names that the calls are counted by */
export const callsColumn = <R,>(by: By, of: (row: R) => string | readonly string[]): Column<R> => ({
  key: 'calls',
  label: 'Calls',
  width: 2,
  cell: (row) => <Calls by={by} values={[of(row)].flat()} />,
});
