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
import { countedAsOf } from './event-figures.ts';
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

/** The values of each event, one document for each. */
function valueStages({ by, env, since, until }: SeriesScope, tenantId: string, bucket: unknown): object[] {
  const $match = { ...eventQuery(tenantId, { env, since, until }, true), sample: { $exists: false } };
  const rest = { bucket, as: countedAsOf(stored) };
  if (by !== 'contract') return [{ $match }, { $project: { value: fields[by], ...rest } }];
  // Mapped, because one server of this protocol finds nothing by a path through a list.
  const names = {
    $setUnion: [
      ['$decisionName'],
      { $map: { input: '$outcomes', as: 'outcome', in: '$$outcome.decision_name' } },
    ],
  };
  return [{ $match }, { $project: { value: names, ...rest } }, { $unwind: '$value' }];
}

interface Group {
  readonly _id: { readonly value: string | null; readonly bucket?: number; readonly as: CountedAs };
  readonly n: number;
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

function seriesReads(events: Collection<EventRow>): Pick<EventStore, 'series' | 'seriesTotals'> {
  const groups = (stages: readonly object[], id: object): Promise<Group[]> =>
    events.aggregate<Group>([...stages, { $group: { _id: id, n: { $sum: 1 } } }], bounded).toArray();
  /** The names that stand for the values, and the value of a name. */
  const namesOf = ({ by, entries }: SeriesScope, values: readonly string[]): readonly string[] =>
    by !== 'contract' || !entries
      ? values
      : [...values, ...[...entries].filter(([, name]) => values.includes(name)).map(([entry]) => entry)];
  const contractOf = ({ by, entries }: SeriesScope, name: string): string =>
    by === 'contract' ? (entries?.get(name) ?? name) : name;

  async function totalsOf(tenantId: string, scope: SeriesScope): Promise<ReadonlyMap<string, SeriesTotal>> {
    const stages = valueStages(scope, tenantId, { $literal: 0 });
    const totals = new Map<string, { value: string; events: number; refused: number }>();
    for (const { _id, n } of await groups(stages, { value: '$value', as: '$as' })) {
      if (typeof _id.value !== 'string' || (_id.value === '' && scope.by !== 'total')) continue;
      const value = contractOf(scope, fromBsonText(_id.value));
      const total = totals.get(value) ?? { value, events: 0, refused: 0 };
      total.events += n;
      if (_id.as === 'denied' || _id.as === 'observed') total.refused += n;
      totals.set(value, total);
    }
    return totals;
  }

  return {
    async series(tenantId, request) {
      const { values, bucketMs, withOthers = false, maxValues } = request;
      const { start, count } = bucketsOf(request, bucketMs);
      const bucket = { $floor: { $divide: [{ $subtract: ['$ts', start] }, bucketMs] } };
      const $in = namesOf(request, values).map(toBsonText);
      const counts = async (
        test: object,
        add: (value: string, at: number, as: CountedAs, n: number) => void,
      ) => {
        const stages = [...valueStages(request, tenantId, bucket), { $match: { value: test } }];
        for (const { _id, n } of await groups(stages, { value: '$value', bucket: '$bucket', as: '$as' })) {
          const { value, bucket: at = 0, as } = _id;
          if (value !== null) add(contractOf(request, fromBsonText(value)), at, as, n);
        }
      };
      const sums = new SeriesSums(count);
      await counts({ $in }, (value, at, as, n) => sums.add(value, at, as, n));
      if (!withOthers) return sums.series(values);
      const totals = await totalsOf(tenantId, request);
      const own = new Set(ownValues(totals, maxValues).map(({ value }) => value));
      const rest = [...totals.keys()].filter((value) => !own.has(value));
      // The shorter list is the cheaper test.
      const test =
        rest.length < own.size ? { $in: rest.map(toBsonText) } : { $nin: [...own].map(toBsonText) };
      const others = new SeriesSums(count);
      await counts(test, (_value, at, as, n) => others.add(otherValues, at, as, n));
      return [...sums.series(values), ...others.series([otherValues])];
    },

    async seriesTotals(tenantId, scope, limit) {
      return rankedTotals(await totalsOf(tenantId, scope), scope.maxValues, limit);
    },
  };
}
