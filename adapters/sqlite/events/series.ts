// Counts of events over time by one of their properties, from the summaries of segments: they change with each event
// that is stored or removed, so the counts equal a recount. Runs on the reader, in steps.
import type { RankedSeriesRequest, SeriesRequest } from '../../../src/event/port.ts';
import { type CountedAs, countedAs, type EventOutcome } from '../../../src/event/record.ts';
import type { EventFilter } from '../../../src/event/rules/filter.ts';
import {
  bucketsOf,
  type CallSeries,
  otherValues,
  ownValues,
  type RankedTotals,
  rankedTotals,
  type SeriesBy,
  SeriesSums,
  type SeriesTotal,
} from '../../../src/event/rules/series.ts';
import type { Database } from '../database.ts';
import type { Steps } from '../sync.ts';
import { entryOf } from '../usage/rows.ts';
import { countSegments } from './count.ts';
import { fittingCounts } from './fitting.ts';
import type { Telling } from './tallies.ts';

type SeriesScope = Omit<SeriesRequest, 'values' | 'withOthers' | 'bucketMs'>;

interface SeriesEvent {
  readonly agent: string;
  readonly tool: string;
  readonly name: string | null;
  readonly version: string;
}

/** The values of an event, each once. An empty text is none. */
function valuesOf(
  { agent, tool, name, version }: SeriesEvent,
  outcomes: readonly EventOutcome[],
  { by, entries }: Pick<SeriesScope, 'by' | 'entries'>,
): readonly string[] {
  if (by === 'total') return [''];
  const names = new Set<string>();
  if (by === 'agent') names.add(agent);
  else if (by === 'tool') names.add(tool);
  else if (by === 'version') names.add(version);
  else {
    for (const one of [name, ...outcomes.map(({ decisionName }) => decisionName)])
      if (one !== null) names.add(entries?.get(one) ?? one);
  }
  names.delete('');
  return [...names];
}

const columns: { readonly [B in SeriesBy]?: NonNullable<Telling['by']> } = {
  agent: 'agent',
  version: 'versions',
};

/** Hands over the events of the range, alike ones together. @param slotMs one slot for the whole range by default */
function* eachCount(
  db: Database,
  tenantId: string,
  scope: SeriesScope,
  slotMs: number,
  add: (value: string, ts: number, as: CountedAs, events: number) => void,
): Steps<void> {
  const { env, since, until, by } = scope;
  const filter: EventFilter = { env, since, until };
  const column = columns[by];
  const telling: Telling = { slotMs, outcomes: by === 'contract', ...(column ? { by: column } : {}) };
  yield* countSegments(db, tenantId, filter, telling, {
    alike({ segments, start, tallies, agent, version }) {
      for (const [tool, verdict, mode, events, name = null] of tallies) {
        const event = { agent: agent ?? '', tool, name, version: version ?? '' };
        for (const value of valuesOf(event, [], scope)) {
          add(value, start, countedAs(verdict, mode), events * segments);
        }
      }
    },
    single(segment) {
      for (const { event, outcomes } of fittingCounts(db, segment, filter)) {
        if (event.ts >= until) continue;
        const values = valuesOf({ ...event, agent: segment.agent }, outcomes, scope);
        for (const value of values) add(value, event.ts, countedAs(event.verdict, event.mode), 1);
      }
    },
  });
}

export function* series(
  db: Database,
  tenantId: string,
  request: SeriesRequest,
): Steps<readonly CallSeries[]> {
  const { values, bucketMs, withOthers = false, maxValues } = request;
  const { start, count } = bucketsOf(request, bucketMs);
  const sums = new SeriesSums(count);
  const others = new SeriesSums(count);
  const ranked = withOthers ? ownValues(yield* totalsOf(db, tenantId, request), maxValues) : [];
  const ownNames = new Set(ranked.map(({ value }) => value));
  const requested = new Set(values);
  yield* eachCount(db, tenantId, request, bucketMs, (value, ts, as, events) => {
    const bucket = Math.floor((ts - start) / bucketMs);
    if (requested.has(value)) sums.add(value, bucket, as, events);
    if (withOthers && !ownNames.has(value)) others.add(otherValues, bucket, as, events);
  });
  return [...sums.series(values), ...(withOthers ? others.series([otherValues]) : [])];
}

/** Longer than any range: all segments lie in one slot. */
const oneSlot = Number.MAX_SAFE_INTEGER;
/** Counts of values, buckets and classes that a ranking keeps beside its totals: about 8 MB. */
const maxCells = 100_000;

/** Totals of values, as they are counted. */
class Totals {
  readonly byValue = new Map<string, { value: string; events: number; refused: number }>();

  add(value: string, as: CountedAs, events: number): void {
    let total = this.byValue.get(value);
    if (!total) {
      total = { value, events: 0, refused: 0 };
      this.byValue.set(value, total);
    }
    total.events += events;
    if (as === 'denied' || as === 'observed') total.refused += events;
  }
}

function* totalsOf(
  db: Database,
  tenantId: string,
  scope: SeriesScope,
): Steps<ReadonlyMap<string, SeriesTotal>> {
  const totals = new Totals();
  yield* eachCount(db, tenantId, scope, oneSlot, (value, _ts, as, events) => totals.add(value, as, events));
  return totals.byValue;
}

interface Cell {
  readonly value: string;
  readonly bucket: number;
  readonly as: CountedAs;
  events: number;
}

/** In one scan, unless there are more than `maxCells` counts. */
export function* rankedSeries(
  db: Database,
  tenantId: string,
  request: RankedSeriesRequest,
  limit: number,
): Steps<readonly CallSeries[]> {
  const { bucketMs, maxValues } = request;
  const { start, count } = bucketsOf(request, bucketMs);
  const totals = new Totals();
  const cells = new Map<string, Cell>();
  yield* eachCount(db, tenantId, request, bucketMs, (value, ts, as, events) => {
    totals.add(value, as, events);
    if (cells.size > maxCells) return;
    const bucket = Math.floor((ts - start) / bucketMs);
    entryOf(cells, `${bucket} ${as} ${value}`, () => ({ value, bucket, as, events: 0 })).events += events;
  });
  const { top, hasOthers } = rankedTotals(totals.byValue, maxValues, limit);
  const values = top.map(({ value }) => value);
  if (values.length === 0) return [];
  if (cells.size > maxCells)
    return yield* series(db, tenantId, { ...request, values, withOthers: hasOthers });
  const own = new Set(ownValues(totals.byValue, maxValues).map(({ value }) => value));
  const sums = new SeriesSums(count);
  const others = new SeriesSums(count);
  const visible = new Set(values);
  for (const { value, bucket, as, events } of cells.values()) {
    if (visible.has(value)) sums.add(value, bucket, as, events);
    else if (!own.has(value)) others.add(otherValues, bucket, as, events);
  }
  return [...sums.series(values), ...(hasOthers ? others.series([otherValues]) : [])];
}

export function* seriesTotals(
  db: Database,
  tenantId: string,
  scope: SeriesScope,
  limit: number,
): Steps<RankedTotals> {
  return rankedTotals(yield* totalsOf(db, tenantId, scope), scope.maxValues, limit);
}
