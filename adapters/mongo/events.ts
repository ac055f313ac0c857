// Audit events in MongoDB: a document per call id under a unique (tenant, call id). A batch is one unordered insert; what the index refuses
// are repeats, whose outcome is added, when it is not known yet, by an update that does nothing the second time. The insert of a batch is not
// one step: when it fails half-way it throws and part of the batch may be stored, and sending the batch again completes it and counts that part
// as duplicates. A process that dies between the insert and an outcome was not acknowledged either, and the repeat adds the outcome.
import type { Collection } from 'mongodb';
import { createSemaphore } from '../../src/concurrency/semaphore.ts';
import { HubError } from '../../src/domain/error.ts';
import {
  type EventInput,
  keyAsOutcome,
  maxOutcomes,
  maxSearchMs,
  outcomeKey,
  outcomeOf,
  outcomeText,
  verdictsOf,
} from '../../src/domain/event.ts';
import { type Facet, facetOf } from '../../src/domain/facet.ts';
import type { Clock } from '../../src/ports/clock.ts';
import {
  type EventCounts,
  type EventStore,
  type FacetName,
  type Facets,
  facetNames,
  type HistogramBucket,
} from '../../src/ports/events.ts';
import {
  afterCursor,
  cursorAfter,
  type EventRow,
  eventQuery,
  mapTexts,
  toEvent,
  toEventRow,
} from './event-filter.ts';
import { takenAmong } from './failure.ts';
import { fromBsonText, toBsonText } from './form.ts';
import { pageOf } from './page.ts';
import type { Arrivals } from './uuidv7.ts';

const atOnce = 16;
const waiting = 256;
/** The server itself ends what takes longer. */
const bounded = { maxTimeMS: maxSearchMs };
/** There when a call has as many outcomes as it may have. */
const lastOutcome = `outcomes.${maxOutcomes - 1}`;

const denied = { $in: ['$verdict', verdictsOf('denied')] };
const wouldDeny = { $in: ['$verdict', verdictsOf('would_deny')] };
const observing = { $eq: ['$mode', 'observe'] };
const observed = { $or: [wouldDeny, { $and: [denied, observing] }] };
const asked = { $in: ['$verdict', verdictsOf('pending')] };
const count = (condition: object) => ({ $sum: { $cond: [condition, 1, 0] } });
const and = (...conditions: object[]) => ({ $and: conditions });
const not = (condition: object) => ({ $not: [condition] });

const valueIn = (path: string) => [{ $project: { value: path } }];
const eachOf = (list: object | string) => [
  { $project: { value: list } },
  { $unwind: '$value' },
  { $match: { value: { $ne: null } } },
];

/** The values of a document that a facet counts, one after another. */
const valuesOf: { readonly [F in FacetName]: readonly object[] } = {
  agentId: valueIn('$agentId'),
  toolName: valueIn('$toolName'),
  verdict: eachOf('$verdicts'),
  mode: valueIn('$mode'),
  decisionName: eachOf({ $setUnion: [['$decisionName'], '$outcomes.decision_name'] }),
  env: valueIn('$env'),
};

/** What a stored call says already. */
const keysOf = ({
  verdict,
  decisionName,
  outcomes,
}: Pick<EventRow, 'verdict' | 'decisionName' | 'outcomes'>) => [
  outcomeKey(fromBsonText(verdict), outcomeText(decisionName === null ? null : fromBsonText(decisionName))),
  ...outcomes
    .map((outcome) => mapTexts(outcome, fromBsonText))
    .map((outcome) => outcomeKey(outcome.verdict, outcome.decision_name)),
];

export function mongoEvents(events: Collection<EventRow>, arrival: Arrivals, clock: Clock): EventStore {
  // A burst of ingest must neither take every connection nor pile up in memory.
  const enter = createSemaphore({
    max: atOnce,
    maxWaiting: waiting,
    maxWait: { ms: 5_000, clock },
    refusal: () =>
      new HubError('overloaded', 'Too many events are being written. Try again in a moment.', {
        retryAfter: 1,
      }),
  });

  /** Reads first: most repeats have nothing to add, and a read takes no turn from the inserts. */
  async function addOutcomes(tenantId: string, repeats: readonly EventInput[]): Promise<void> {
    if (repeats.length === 0) return;
    const callIds = [...new Set(repeats.map((repeat) => toBsonText(repeat.call_id)))];
    const projection = { callId: 1, verdict: 1, decisionName: 1, outcomes: 1 };
    const rows = await events.find({ tenantId, callId: { $in: callIds } }, { projection }).toArray();
    const stored = new Map(rows.map((row) => [fromBsonText(row.callId), row]));
    const told = new Set<string>();
    const writes = repeats.flatMap((repeat) => {
      const row = stored.get(repeat.call_id);
      const key = keyAsOutcome(repeat);
      const word = JSON.stringify([repeat.call_id, key]);
      if ((row && keysOf(row).includes(key)) || told.has(word)) return [];
      told.add(word);
      const outcome = mapTexts(outcomeOf(repeat), toBsonText);
      const { verdict, decision_name: decisionName } = outcome;
      // One that the read does not see is not yet on a majority: the write waits for that.
      const which = row ? { _id: row._id } : { tenantId, callId: toBsonText(repeat.call_id) };
      const filter = {
        ...which,
        $nor: [
          { verdict, decisionName },
          { outcomes: { $elemMatch: { verdict, decision_name: decisionName } } },
        ],
        [lastOutcome]: { $exists: false },
      };
      const update = { $push: { outcomes: outcome }, $addToSet: { verdicts: verdict } };
      return [{ updateOne: { filter, update } }];
    });
    // In order: the outcomes of one call stay in the order they were told.
    if (writes.length > 0) await events.bulkWrite(writes, { ordered: true });
  }

  return {
    ingest: (batch) =>
      enter(async () => {
        const firsts = new Map<string, EventInput>();
        const repeats: EventInput[] = [];
        for (const event of batch.events) {
          if (firsts.has(event.call_id)) repeats.push(event);
          else firsts.set(event.call_id, event);
        }
        const fresh = [...firsts.values()];
        if (fresh.length === 0) return { accepted: 0, duplicates: 0 };
        const rows = fresh.map((event) => toEventRow(event, batch, arrival(batch.receivedAt)));
        const taken = await takenAmong(events.insertMany(rows, { ordered: false }));
        const known = taken.flatMap((index) => fresh[index] ?? []);
        await addOutcomes(batch.tenantId, [...known, ...repeats]);
        return {
          accepted: fresh.length - known.length,
          duplicates: batch.events.length - fresh.length + known.length,
        };
      }),

    async search(tenantId, filter, limit, cursor) {
      const query = eventQuery(tenantId, filter);
      const found = events
        .find(cursor === null ? query : { $and: [query, afterCursor(cursor)] }, bounded)
        .sort({ ts: -1, _id: -1 });
      const { items: rows, more } = await pageOf(found, { limit, offset: 0 }, (row) => row);
      const last = rows.at(-1);
      return { events: rows.map(toEvent), next: more && last ? cursorAfter(last) : null };
    },

    async get(tenantId, id) {
      const row = await events.findOne({ _id: id, tenantId });
      return row && toEvent(row);
    },

    async facets(tenantId, filter, limit) {
      const $match = eventQuery(tenantId, filter);
      const by = async (facet: FacetName): Promise<readonly [FacetName, Facet]> => {
        const groups = await events
          .aggregate<{ readonly _id: string; readonly n: number }>(
            [{ $match }, ...valuesOf[facet], { $group: { _id: '$value', n: { $sum: 1 } } }],
            bounded,
          )
          .toArray();
        const counts = new Map(groups.map(({ _id, n }) => [fromBsonText(_id), n]));
        return [facet, facetOf(counts, limit)];
      };
      const [count, ...found] = await Promise.all([
        events.aggregate<{ readonly n: number }>([{ $match }, { $count: 'n' }], bounded).toArray(),
        ...facetNames.map(by),
      ]);
      return { events: count[0]?.n ?? 0, by: Object.fromEntries(found) as Facets['by'] };
    },

    async histogram(tenantId, filter, bucketMs) {
      const start = { $multiply: [{ $floor: { $divide: ['$ts', bucketMs] } }, bucketMs] };
      const buckets = await events
        .aggregate<Omit<HistogramBucket, 'start'> & { readonly _id: number }>(
          [
            { $match: eventQuery(tenantId, filter, true) },
            {
              $group: {
                _id: start,
                allowed: count(and(not(denied), not(wouldDeny), not(asked))),
                denied: count(and(denied, not(observing))),
                pending: count(asked),
                observed: count(observed),
              },
            },
            { $sort: { _id: 1 } },
          ],
          bounded,
        )
        .toArray();
      return buckets.map(({ _id, ...counts }) => ({ start: _id, ...counts }));
    },

    async counts(tenantId, env, since, activeSince): Promise<EventCounts> {
      const $match = eventQuery(tenantId, { env, since, until: clock.now() });
      const distinct = (values: readonly object[], match: object) =>
        events
          .aggregate<{ readonly n: number }>(
            [
              { $match: { $and: [$match, match] } },
              ...values,
              { $group: { _id: '$value' } },
              { $count: 'n' },
            ],
            bounded,
          )
          .toArray();
      const [sums, contracts, agents] = await Promise.all([
        events
          .aggregate<{ readonly events: number; readonly denials: number; readonly observeFindings: number }>(
            [
              { $match },
              {
                $group: {
                  _id: null,
                  events: { $sum: 1 },
                  denials: count(and(denied, not(observing))),
                  observeFindings: count(observed),
                },
              },
            ],
            bounded,
          )
          .toArray(),
        distinct(valuesOf.decisionName, {}),
        distinct(valuesOf.agentId, { ts: { $gt: activeSince } }),
      ]);
      return {
        events: sums[0]?.events ?? 0,
        denials: sums[0]?.denials ?? 0,
        observeFindings: sums[0]?.observeFindings ?? 0,
        contractsTriggered: contracts[0]?.n ?? 0,
        activeAgents: agents[0]?.n ?? 0,
      };
    },

    async purge(tenantId, before, limit) {
      const old = { tenantId, receivedAt: { $lt: before } };
      const rows = await events
        .find(old, { projection: { _id: 1 } })
        .sort({ receivedAt: 1 })
        .limit(limit)
        .toArray();
      if (rows.length === 0) return 0;
      const { deletedCount } = await events.deleteMany({ _id: { $in: rows.map((row) => row._id) } });
      return deletedCount;
    },
  };
}
