// Counts of events over time by one of their properties in MongoDB: an aggregation over the range.
import type { Collection } from 'mongodb';
import type { EventStore, SeriesRequest } from '../../src/event/port.ts';
import { type CountedAs, maxSearchMs } from '../../src/event/record.ts';
import {
  bucketsOf,
  otherValues,
  ownValues,
  rankedTotals,
  type SeriesBy,
  SeriesSums,
  type SeriesTotal,
} from '../../src/event/rules/series.ts';
import { contractNames, contractsOfNames, countedAsOf } from './event-figures.ts';
import { type EventRow, eventQuery } from './event-filter.ts';
import { fromBsonText, toBsonText } from './form.ts';

/** The server itself ends what takes longer. */
const bounded = { maxTimeMS: maxSearchMs };

const fields: { readonly [B in Exclude<SeriesBy, 'contract'>]: unknown } = {
  total: { $literal: '' },
  agent: '$agentId',
  tool: '$toolName',
  version: '$policyVersion',
};

/** As `countedAs` names them. */
const stored = { allowed: 'allowed', denied: 'denied', pending: 'pending', observed: 'observed' } as const;

type SeriesScope = Omit<SeriesRequest, 'values' | 'withOthers' | 'bucketMs'>;

/** The values of each event: one document for each, or all of them in one. */
function valueStages(
  { by, env, since, until }: SeriesScope,
  tenantId: string,
  bucket: unknown,
  inOne: boolean,
): object[] {
  const $match = { ...eventQuery(tenantId, { env, since, until }, true), sample: { $exists: false } };
  const rest = { bucket, as: countedAsOf(stored) };
  if (by !== 'contract') return [{ $match }, { $project: { value: fields[by], ...rest } }];
  const stages = [{ $match }, { $project: { value: contractNames, ...rest } }];
  return inOne ? stages : [...stages, { $unwind: '$value' }];
}

interface Group<V> {
  readonly _id: { readonly value: V; readonly bucket?: number; readonly as: CountedAs };
  readonly n: number;
}

/** Events of one value, bucket and kind. */
interface Row {
  readonly value: string;
  readonly bucket: number;
  readonly as: CountedAs;
  readonly n: number;
}

/** Those of the values alone, or all others. */
interface ValueChoice {
  readonly values: readonly string[];
  readonly isIn: boolean;
}

export function mongoEventSeries(
  events: Collection<EventRow>,
): Pick<EventStore, 'series' | 'seriesTotals' | 'rankedSeries'> {
  const reads = seriesReads(events);
  return {
    ...reads,
    async rankedSeries(tenantId, request, limit) {
      const { top, hasOthers } = await reads.seriesTotals(tenantId, request, limit);
      const values = top.map(({ value }) => value);
      return values.length === 0 ? [] : reads.series(tenantId, { ...request, values, withOthers: hasOthers });
    },
  };
}

/** Reads the sums of events by value, bucket and kind. */
function rowReads(events: Collection<EventRow>) {
  const groups = <V>(stages: readonly object[]): Promise<Group<V>[]> =>
    events
      .aggregate<Group<V>>(
        [...stages, { $group: { _id: { value: '$value', bucket: '$bucket', as: '$as' }, n: { $sum: 1 } } }],
        bounded,
      )
      .toArray();

  /**
   * Each event once for each of its values: names that stand for one contract are one value, and an empty text is none.
   */
  return async function rowsOf(
    tenantId: string,
    scope: SeriesScope,
    bucket: unknown,
    choice: ValueChoice | null,
  ): Promise<readonly Row[]> {
    const { by, entries } = scope;
    const isMerged = by === 'contract' && entries !== undefined && entries.size > 0;
    const stages = valueStages(scope, tenantId, bucket, isMerged);
    const isValue = (value: string): boolean => value !== '' || by === 'total';
    if (!isMerged) {
      const list = choice?.values.map(toBsonText);
      const match = choice ? [{ $match: { value: choice.isIn ? { $in: list } : { $nin: list } } }] : [];
      // Absent where the field is: servers differ.
      return (await groups<string | null | undefined>([...stages, ...match])).flatMap(({ _id, n }) =>
        typeof _id.value !== 'string' || !isValue(_id.value)
          ? []
          : [{ value: fromBsonText(_id.value), bucket: _id.bucket ?? 0, as: _id.as, n }],
      );
    }
    const own = choice && new Set(choice.values);
    return (await groups<readonly (string | null)[]>(stages)).flatMap(({ _id, n }) =>
      [...contractsOfNames(_id.value, entries)]
        .filter((value) => isValue(value) && (own === null || own.has(value) === choice?.isIn))
        .map((value) => ({ value, bucket: _id.bucket ?? 0, as: _id.as, n })),
    );
  };
}

function seriesReads(events: Collection<EventRow>): Pick<EventStore, 'series' | 'seriesTotals'> {
  const rowsOf = rowReads(events);

  async function totalsOf(tenantId: string, scope: SeriesScope): Promise<ReadonlyMap<string, SeriesTotal>> {
    const totals = new Map<string, { value: string; events: number; refused: number }>();
    for (const { value, as, n } of await rowsOf(tenantId, scope, { $literal: 0 }, null)) {
      const total = totals.get(value) ?? { value, events: 0, refused: 0 };
      total.events += n;
      if (as === 'denied' || as === 'observed') total.refused += n;
      totals.set(value, total);
    }
    return totals;
  }

  return {
    async series(tenantId, request) {
      const { values, bucketMs, withOthers = false, maxValues } = request;
      const { start, count } = bucketsOf(request, bucketMs);
      const bucket = { $floor: { $divide: [{ $subtract: ['$ts', start] }, bucketMs] } };
      const sums = new SeriesSums(count);
      for (const row of await rowsOf(tenantId, request, bucket, { values, isIn: true }))
        sums.add(row.value, row.bucket, row.as, row.n);
      if (!withOthers) return sums.series(values);
      const totals = await totalsOf(tenantId, request);
      const own = new Set(ownValues(totals, maxValues).map(({ value }) => value));
      const rest = [...totals.keys()].filter((value) => !own.has(value));
      // The shorter list is the cheaper test.
      const choice =
        rest.length < own.size ? { values: rest, isIn: true } : { values: [...own], isIn: false };
      const others = new SeriesSums(count);
      for (const row of await rowsOf(tenantId, request, bucket, choice))
        others.add(otherValues, row.bucket, row.as, row.n);
      return [...sums.series(values), ...others.series([otherValues])];
    },

    async seriesTotals(tenantId, scope, limit) {
      return rankedTotals(await totalsOf(tenantId, scope), scope.maxValues, limit);
    },
  };
}
