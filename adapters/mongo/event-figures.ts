// Figures of events in MongoDB: facets, counts and histograms, each one aggregation that the server itself bounds.
import type { Collection } from 'mongodb';
import type { EventCounts, EventStore, Facets, HistogramBucket } from '../../src/event/port.ts';
import {
  type CountedAs,
  type FacetName,
  facetNames,
  maxSearchMs,
  verdictsOf,
} from '../../src/event/record.ts';
import { type Facet, facetOf } from '../../src/event/rules/facet.ts';
import { type ContractEntries, contractsOf } from '../../src/event/rules/query/contract-entries.ts';
import { verdictWords } from '../../src/event/rules/query/match.ts';
import { type EventRow, eventQuery } from './event-filter.ts';
import { fromBsonText, toBsonText } from './form.ts';

/** The server itself ends what takes longer. Zero would be no bound. */
const within = (budgetMs: number) => ({
  maxTimeMS: Math.min(maxSearchMs, Math.max(1, Math.ceil(budgetMs))),
});
const bounded = within(maxSearchMs);

const denied = { $in: ['$verdict', verdictsOf('denied')] };
const wouldDeny = { $in: ['$verdict', verdictsOf('would_deny')] };
const observing = { $eq: ['$mode', 'observe'] };
const observed = { $or: [wouldDeny, { $and: [denied, observing] }] };
const pending = { $in: ['$verdict', verdictsOf('pending')] };
const count = (condition: object) => ({ $sum: { $cond: [condition, 1, 0] } });
const and = (...conditions: object[]) => ({ $and: conditions });
const not = (condition: object) => ({ $not: [condition] });

/** A denial that was enforced. */
const enforcedDenial = and(denied, not(observing));

/** By the first verdict and the mode of each document: one of these words. */
export const countedAsOf = (words: { readonly [C in CountedAs]: string }) => ({
  $cond: [
    enforcedDenial,
    words.denied,
    { $cond: [observed, words.observed, { $cond: [pending, words.pending, words.allowed] }] },
  ],
});

const valueIn = (path: string | object) => [{ $project: { value: path } }];
const eachOf = (list: object | string) => [
  { $project: { value: list } },
  { $unwind: '$value' },
  { $match: { value: { $ne: null } } },
];

/** The names that an event gives contracts. Mapped: one server of this protocol finds nothing by a path into a list. */
export const contractNames = {
  $setUnion: [
    ['$decisionName'],
    { $map: { input: '$outcomes', as: 'outcome', in: '$$outcome.decision_name' } },
  ],
};

/** The contracts that stored names stand for, each once. */
export const contractsOfNames = (
  names: readonly (string | null)[],
  entries: ContractEntries | undefined,
): ReadonlySet<string> =>
  contractsOf(
    names.map((name) => (name === null ? null : fromBsonText(name))),
    entries,
  );

/** The values of a document that a facet counts, one after another. */
const valuesOf: { readonly [F in FacetName]: readonly object[] } = {
  agentId: valueIn('$agentId'),
  toolName: valueIn('$toolName'),
  verdict: eachOf('$verdicts'),
  firstVerdict: valueIn(countedAsOf(verdictWords)),
  mode: valueIn('$mode'),
  decisionName: eachOf(contractNames),
  env: valueIn('$env'),
};

/** The facets of the events that match. */
function facetReads(
  events: Collection<EventRow>,
  $match: object,
  limit: number,
  time: ReturnType<typeof within>,
) {
  const groups = <V>(values: readonly object[]): Promise<{ readonly _id: V; readonly n: number }[]> =>
    events
      .aggregate<{ readonly _id: V; readonly n: number }>(
        [{ $match }, ...values, { $group: { _id: '$value', n: { $sum: 1 } } }],
        time,
      )
      .toArray();
  return {
    async by(facet: FacetName): Promise<readonly [FacetName, Facet]> {
      const counts = (await groups<string>(valuesOf[facet])).map(
        ({ _id, n }) => [fromBsonText(_id), n] as const,
      );
      return [facet, facetOf(new Map(counts), limit)];
    },
    /** Of names, in which an event counts once for a contract. */
    async byContract(entries: ContractEntries): Promise<readonly [FacetName, Facet]> {
      const counts = new Map<string, number>();
      for (const { _id: names, n } of await groups<readonly (string | null)[]>(valueIn(contractNames)))
        for (const id of contractsOfNames(names, entries)) counts.set(id, (counts.get(id) ?? 0) + n);
      return ['decisionName', facetOf(counts, limit)];
    },
  };
}

export function mongoEventFigures(
  events: Collection<EventRow>,
): Pick<EventStore, 'facets' | 'count' | 'histogram' | 'counts'> {
  return {
    async facets(tenantId, filter, limit, entries, budgetMs = maxSearchMs) {
      const time = within(budgetMs);
      const $match = { ...eventQuery(tenantId, filter), sample: { $exists: false } };
      const hasEntries = entries !== undefined && entries.size > 0;
      const reads = facetReads(events, $match, limit, time);
      const [count, ...facets] = await Promise.all([
        events.aggregate<{ readonly n: number }>([{ $match }, { $count: 'n' }], time).toArray(),
        ...facetNames.map((facet) =>
          facet === 'decisionName' && hasEntries ? reads.byContract(entries) : reads.by(facet),
        ),
      ]);
      return { events: count[0]?.n ?? 0, by: Object.fromEntries(facets) as Facets['by'] };
    },

    count: (tenantId, filter) =>
      events.countDocuments({ ...eventQuery(tenantId, filter), sample: { $exists: false } }, bounded),

    async histogram(tenantId, filter, bucketMs, budgetMs = maxSearchMs) {
      const start = { $multiply: [{ $floor: { $divide: ['$ts', bucketMs] } }, bucketMs] };
      const buckets = await events
        .aggregate<Omit<HistogramBucket, 'start'> & { readonly _id: number }>(
          [
            { $match: { ...eventQuery(tenantId, filter, true), sample: { $exists: false } } },
            {
              $group: {
                _id: start,
                allowed: count(and(not(denied), not(wouldDeny), not(pending))),
                denied: count(enforcedDenial),
                pending: count(pending),
                observed: count(observed),
              },
            },
            { $sort: { _id: 1 } },
          ],
          within(budgetMs),
        )
        .toArray();
      return buckets.map(({ _id, ...counts }) => ({ start: _id, ...counts }));
    },

    counts: eventCounts(events),
  };
}

/** Makes the counts of a window: events, denials, findings, contracts that decided, agents that sent lately. */
function eventCounts(events: Collection<EventRow>): EventStore['counts'] {
  return async (tenantId, env, since, activeSince, entries): Promise<EventCounts> => {
    const $match = {
      ...eventQuery(tenantId, { env, since }),
      sample: { $exists: false },
    };
    const distinct = (values: readonly object[], match: object) =>
      events
        .aggregate<{ readonly n: number }>(
          [{ $match: { $and: [$match, match] } }, ...values, { $group: { _id: '$value' } }, { $count: 'n' }],
          bounded,
        )
        .toArray();
    // Names that may stand for the same contract: which of them there are.
    const shared = [...new Set([...(entries ?? [])].flat())];
    const [sums, contracts, agents, denialTimes] = await Promise.all([
      events
        .aggregate<{ readonly events: number; readonly denials: number; readonly observeFindings: number }>(
          [
            { $match },
            {
              $group: {
                _id: null,
                events: { $sum: 1 },
                denials: count(enforcedDenial),
                observeFindings: count(observed),
              },
            },
          ],
          bounded,
        )
        .toArray(),
      distinct(valuesOf.decisionName, {}),
      distinct(valuesOf.agentId, { ts: { $gt: activeSince } }),
      shared.length === 0
        ? []
        : events
            .aggregate<{ readonly _id: string }>(
              [
                { $match },
                ...valuesOf.decisionName,
                { $match: { value: { $in: shared.map(toBsonText) } } },
                { $group: { _id: '$value' } },
              ],
              bounded,
            )
            .toArray(),
    ]);
    const names = denialTimes.map(({ _id }) => fromBsonText(_id));
    const again = names.length - new Set(names.map((name) => entries?.get(name) ?? name)).size;
    return {
      events: sums[0]?.events ?? 0,
      denials: sums[0]?.denials ?? 0,
      observeFindings: sums[0]?.observeFindings ?? 0,
      contractsTriggered: (contracts[0]?.n ?? 0) - again,
      activeAgents: agents[0]?.n ?? 0,
    };
  };
}
