// Audit events in MongoDB: a document per call id under a unique (tenant, call id). A batch is one unordered insert;
// what the index refuses are repeats, whose outcome is added, when it is not known yet, by an update that does nothing
// the second time. The insert of a batch is not one step: when it fails half-way it throws and part of the batch may be
// stored, and sending the batch again completes it and counts that part as duplicates. A process that dies between the
// insert and an outcome was not acknowledged either, and the repeat adds the outcome.
import { hash, randomUUID } from 'node:crypto';
import type { Collection } from 'mongodb';
import { createSemaphore } from '../../src/concurrency/semaphore.ts';
import { sessionOf } from '../../src/domain/decision-event.ts';
import { HubError } from '../../src/domain/error.ts';
import { type EventInput, maxSearchMs, verdictsOf } from '../../src/domain/event.ts';
import { type Facet, facetOf } from '../../src/domain/facet.ts';
import { factsBySession, type RunKey } from '../../src/domain/run.ts';
import { runNote } from '../../src/domain/run-report.ts';
import type { AuditStore } from '../../src/ports/audit.ts';
import type { Clock } from '../../src/ports/clock.ts';
import {
  arrivalSlackMs,
  type EventBatch,
  type EventCounts,
  type EventStore,
  type FacetName,
  type Facets,
  facetNames,
  type HistogramBucket,
} from '../../src/ports/events.ts';
import { afterCursor, cursorAfter, type EventRow, eventQuery, toEvent, toEventRow } from './event-filter.ts';
import { addOutcomes } from './event-outcomes.ts';
import { takenAmong } from './failure.ts';
import { fromBsonText, toBsonText } from './form.ts';
import { pageOf } from './page.ts';
import { type RunPart, type RunRow, runProjection } from './run-projection.ts';
import { idAfter, type RisingIds, seqAt, seqBefore, seqOf } from './uuidv7.ts';

const atOnce = 16;
const waiting = 256;
/** The server itself ends what takes longer. */
const bounded = { maxTimeMS: maxSearchMs };

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
  // Mapped, because one server of this protocol finds nothing by a path through a list.
  decisionName: eachOf({
    $setUnion: [
      ['$decisionName'],
      { $map: { input: '$outcomes', as: 'outcome', in: '$$outcome.decision_name' } },
    ],
  }),
  env: valueIn('$env'),
};

/** A run, and the places of its events in a batch. */
interface PlacesOfRun extends RunKey {
  readonly places: number[];
}

/** The runs that events belong to, each once. */
function runsIn(events: readonly EventInput[]): readonly PlacesOfRun[] {
  const found = new Map<string, PlacesOfRun>();
  for (const [place, event] of events.entries()) {
    const sessionId = sessionOf(event);
    if (sessionId === null) continue;
    const key = JSON.stringify([event.agent_id, sessionId]);
    const run = found.get(key) ?? { agentId: event.agent_id, sessionId, places: [] };
    run.places.push(place);
    found.set(key, run);
  }
  return [...found.values()];
}

/**
 * What a batch says of its runs.
 * @param stored the place of the event that each of the batch's events is stored as, or added an outcome to; absent: it
 *   added nothing
 */
function partsOf(
  batch: EventBatch,
  runs: readonly PlacesOfRun[],
  stored: ReadonlyMap<number, string>,
  isFresh: (place: number) => boolean,
): readonly RunPart[] {
  return runs.map(({ agentId, sessionId, places }) => {
    const said = places.filter((place) => stored.has(place));
    const of = said.map((place) => batch.events[place] ?? null);
    const facts = factsBySession(of, batch, (i) => {
      const id = stored.get(said[i] ?? -1) ?? '';
      return { seq: seqOf(id), id };
    }).get(sessionId);
    return { agentId, sessionId, facts: facts ?? null, hasDuplicates: !places.every(isFresh) };
  });
}

const sha256 = (text: string): string => hash('sha256', text, 'hex');

export function mongoEvents(
  events: Collection<EventRow>,
  runs: Collection<RunRow>,
  audit: Pick<AuditStore, 'append'>,
  nextId: RisingIds,
  clock: Clock,
): EventStore {
  const projection = runProjection(runs, events, audit);

  /**
   * Records the decisions of a batch; what is recorded already is known by its id. Before the batch takes its tokens
   * out of the runs: one that stays tells of entries that may be missing, too.
   */
  async function recordRuns(batch: EventBatch): Promise<void> {
    if (batch.sample) return;
    await audit.append(batch.events.flatMap((event) => runNote(event, batch, sha256) ?? []));
  }
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

  return {
    ingest: (batch) =>
      enter(async () => {
        const firsts = new Map<string, number>();
        const repeats = new Map<number, EventInput>();
        for (const [place, event] of batch.events.entries()) {
          if (firsts.has(event.call_id)) repeats.set(place, event);
          else firsts.set(event.call_id, place);
        }
        const fresh = [...firsts.values()].flatMap((place) => {
          const event = batch.events[place];
          return event ? [{ place, event, id: nextId(batch.receivedAt) }] : [];
        });
        if (fresh.length === 0) return { accepted: 0, duplicates: 0 };
        const touched = runsIn(batch.events);
        const open = touched.length > 0 ? await projection.begin(batch, touched) : null;
        const rows = fresh.map(({ event, id }) => toEventRow(event, batch, id));
        const taken = new Set(await takenAmong(events.insertMany(rows, { ordered: false })));
        for (const [i, { place, event }] of fresh.entries()) if (taken.has(i)) repeats.set(place, event);
        const inserted = fresh.filter((_, i) => !taken.has(i));
        // In the order of the batch, whichever were stored before.
        const inOrder = new Map([...repeats].sort(([a], [b]) => a - b));
        const said = await addOutcomes(events, batch, inOrder, open?.token ?? randomUUID());
        for (const { place, id } of inserted) said.set(place, id);
        await recordRuns(batch);
        const isInserted = new Set(inserted.map(({ place }) => place));
        if (open)
          await projection.finish(
            open,
            partsOf(batch, touched, said, (place) => isInserted.has(place)),
          );
        return { accepted: inserted.length, duplicates: batch.events.length - inserted.length };
      }),

    async search(tenantId, filter, limit, cursor, order = 'newest') {
      const query = eventQuery(tenantId, filter);
      const found = events
        .find(cursor === null ? query : { $and: [query, afterCursor(cursor, order)] }, bounded)
        .sort(order === 'oldest' ? { ts: 1, _id: 1 } : { ts: -1, _id: -1 });
      const { items: rows, more } = await pageOf(found, { limit, offset: 0 }, (row) => row);
      const last = rows.at(-1);
      return { events: rows.map(toEvent), next: more && last ? cursorAfter(last) : null };
    },

    async get(tenantId, id) {
      const row = await events.findOne({ _id: id, tenantId });
      return row && toEvent(row);
    },

    async arrivals(tenantId, after, limit) {
      const found = events.find({ _id: { $gt: idAfter(after) }, tenantId }, bounded).sort({ _id: 1 });
      const { items, more } = await pageOf(found, { limit, offset: 0 }, toEvent);
      return { events: items, more };
    },

    newestSeq: async () => seqAt(clock.now()),
    settledBy: async (seq) => seqBefore(seq, arrivalSlackMs),

    async newestOf(tenantId, agentIds) {
      const found = await Promise.all(
        agentIds.map(async (agentId) => {
          const newest = await events.findOne(
            { tenantId: { $eq: tenantId }, agentId: { $eq: toBsonText(agentId) } },
            { sort: { ts: -1, _id: -1 }, projection: { ts: 1 } },
          );
          return newest ? ([agentId, newest.ts] as const) : null;
        }),
      );
      return found.filter((one) => one !== null);
    },

    async removeSample(tenantId) {
      await events.deleteMany({ tenantId, sample: true });
      await runs.deleteMany({ tenantId, sample: true });
    },

    async facets(tenantId, filter, limit) {
      const $match = { ...eventQuery(tenantId, filter), sample: { $exists: false } };
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

    count: (tenantId, filter) =>
      events.countDocuments({ ...eventQuery(tenantId, filter), sample: { $exists: false } }, bounded),

    async histogram(tenantId, filter, bucketMs) {
      const start = { $multiply: [{ $floor: { $divide: ['$ts', bucketMs] } }, bucketMs] };
      const buckets = await events
        .aggregate<Omit<HistogramBucket, 'start'> & { readonly _id: number }>(
          [
            { $match: { ...eventQuery(tenantId, filter, true), sample: { $exists: false } } },
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

    async counts(tenantId, env, since, activeSince, entries): Promise<EventCounts> {
      const $match = {
        ...eventQuery(tenantId, { env, since, until: clock.now() }),
        sample: { $exists: false },
      };
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
      // Names that may stand for the same contract: which of them there are.
      const shared = [...new Set([...(entries ?? [])].flat())];
      const [sums, contracts, agents, found] = await Promise.all([
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
      const given = found.map(({ _id }) => fromBsonText(_id));
      const again = given.length - new Set(given.map((name) => entries?.get(name) ?? name)).size;
      return {
        events: sums[0]?.events ?? 0,
        denials: sums[0]?.denials ?? 0,
        observeFindings: sums[0]?.observeFindings ?? 0,
        contractsTriggered: (contracts[0]?.n ?? 0) - again,
        activeAgents: agents[0]?.n ?? 0,
      };
    },

    countReceived: (tenantId, before) =>
      events.countDocuments({ tenantId, receivedAt: { $lt: before } }, bounded),

    async purge(tenantId, before, limit) {
      const old = { tenantId, receivedAt: { $lt: before } };
      const rows = await events
        .find(old, { projection: { _id: 1 } })
        .sort({ receivedAt: 1 })
        .limit(limit)
        .toArray();
      if (rows.length === 0) {
        await runs.deleteMany({ tenantId, receivedAt: { $lt: before } });
        return 0;
      }
      const { deletedCount } = await events.deleteMany({ _id: { $in: rows.map((row) => row._id) } });
      return deletedCount;
    },
  };
}
