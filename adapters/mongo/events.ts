// Audit events in MongoDB: how they are found, read one by one, and removed. `event-ingest.ts` stores them.

import type { Collection } from 'mongodb';
import type { Admission } from '../../src/admission/admission.ts';
import type { AuditStore } from '../../src/audit/port.ts';
import { arrivalSlackMs, type EventOrder, type EventPage, type EventStore } from '../../src/event/port.ts';
import { maxSearchMs } from '../../src/event/record.ts';
import { countableEventOf } from '../../src/event/rules/countable.ts';
import type { EventFilter } from '../../src/event/rules/filter.ts';
import { queryTest } from '../../src/event/rules/query/match.ts';
import type { AgentsIn } from '../../src/shared/ids.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import { mongoEventFigures } from './event-figures.ts';
import { afterCursor, cursorAfter, type EventRow, eventQuery, toEvent } from './event-filter.ts';
import { EventIngest } from './event-ingest.ts';
import { mongoEventScan, patienceMs } from './event-scan.ts';
import { mongoEventSeries } from './event-series.ts';
import type { ExportLog } from './export-log.ts';
import type { ExportRemovals } from './export-removals.ts';
import { isOutOfTime } from './failure.ts';
import { fromBsonText, inEnvs, toBsonText } from './form.ts';
import { pageOf } from './page.ts';
import { idleSince, type RunRow, runId } from './run-projection.ts';
import { idAfter, type RisingIds, seqAt, seqBefore } from './uuidv7.ts';

/** The server itself ends what takes longer. */
const bounded = { maxTimeMS: maxSearchMs };

export interface ExportParts {
  readonly log: ExportLog;
  readonly removals: ExportRemovals;
}

async function removeEvents(
  events: Collection<EventRow>,
  runs: Collection<RunRow>,
  removals: ExportRemovals,
  tenantId: string,
  before: number,
  limit: number,
): Promise<number> {
  // Those of the previous slice, whose count is stored by now. The last slice is empty and leaves none.
  await removals.removeEmptyLinks(tenantId, 'events');
  const old = { tenantId, receivedAt: { $lt: before } };
  const rows = await events
    .find(old, { projection: { _id: 1, batch: 1, 'outcomes.by': 1, agentId: 1, session: 1 } })
    .sort({ receivedAt: 1 })
    .limit(limit)
    .toArray();
  if (rows.length === 0) return 0;
  // Before the events go: from then on nobody signs what is left of their runs.
  const runIds = rows.flatMap(({ agentId, session }) =>
    session === undefined ? [] : runId(tenantId, fromBsonText(agentId), fromBsonText(session)),
  );
  await runs.updateMany(
    { _id: { $in: [...new Set(runIds)] }, trimmed: { $exists: false } },
    { $set: { trimmed: true } },
  );
  await removals.note(tenantId, rows);
  const { deletedCount } = await events.deleteMany({ _id: { $in: rows.map((row) => row._id) } });
  return deletedCount;
}

async function removeIdleRuns(
  runs: Collection<RunRow>,
  tenantId: string,
  before: number,
  limit: number,
): Promise<number> {
  for (;;) {
    const isIdle = { tenantId, ...idleSince(before) };
    const rows = await runs.find(isIdle, { limit, projection: { _id: 1 } }).toArray();
    if (rows.length === 0) return 0;
    // A run that had something since it was found stays.
    const { deletedCount } = await runs.deleteMany({ _id: { $in: rows.map(({ _id }) => _id) }, ...isIdle });
    if (deletedCount > 0) return deletedCount;
  }
}

async function searchEvents(
  events: Collection<EventRow>,
  scan: ReturnType<typeof mongoEventScan>,
  tenantId: string,
  filter: EventFilter,
  limit: number,
  cursor: string | null,
  order: EventOrder = 'newest',
  budgetMs?: number,
): Promise<EventPage> {
  const { query: terms, search } = filter;
  const isScan = search || (terms && queryTest(terms).needsPayload);
  // One query has half of the time. If it gives nothing, the other half is for a search that knows how far it came.
  const half = budgetMs === undefined ? undefined : budgetMs / 2;
  try {
    return isScan
      ? await scan(tenantId, filter, limit, cursor, order, budgetMs)
      : await matchingEvents(events, tenantId, filter, limit, cursor, order, half);
  } catch (error) {
    if (!isOutOfTime(error)) throw error;
    return scan(tenantId, filter, limit, cursor, order, isScan ? budgetMs : half, true);
  }
}

/** A page by one query, which the server ends after the budget. */
async function matchingEvents(
  events: Collection<EventRow>,
  tenantId: string,
  filter: EventFilter,
  limit: number,
  cursor: string | null,
  order: EventOrder,
  budgetMs = patienceMs,
): Promise<EventPage> {
  const query = eventQuery(tenantId, filter);
  // Zero would be no bound.
  const maxTimeMS = Math.max(1, Math.ceil(budgetMs));
  const cursorRows = events
    .find(cursor === null ? query : { $and: [query, afterCursor(cursor, order)] }, { maxTimeMS })
    .sort(order === 'oldest' ? { ts: 1, _id: 1 } : { ts: -1, _id: -1 });
  const { items: rows, more } = await pageOf(cursorRows, { limit, offset: 0 }, (row) => row);
  const last = rows.at(-1);
  return { events: rows.map(toEvent), next: more && last ? cursorAfter(last) : null };
}

async function newestEvents(events: Collection<EventRow>, tenantId: string, { agentIds, env }: AgentsIn) {
  const newestEvents = await Promise.all(
    agentIds.map(async (agentId) => {
      const newest = await events.findOne(
        { tenantId: { $eq: tenantId }, agentId: { $eq: toBsonText(agentId) }, ...inEnvs(env) },
        { sort: { ts: -1, _id: -1 }, projection: { ts: 1 } },
      );
      return newest ? ([agentId, newest.ts] as const) : null;
    }),
  );
  return newestEvents.filter((one) => one !== null);
}

export function mongoEvents(
  events: Collection<EventRow>,
  runs: Collection<RunRow>,
  audit: Pick<AuditStore, 'append'>,
  nextId: RisingIds,
  clock: Clock,
  { log, removals, admission }: ExportParts & { readonly admission: Admission },
): EventStore {
  const eventIngest = new EventIngest(events, runs, audit, nextId, clock, log, admission);
  const scan = mongoEventScan(events);

  return {
    ingest: (batch) => eventIngest.store(batch),
    ...mongoEventFigures(events),
    ...mongoEventSeries(events),

    search: (tenantId, filter, limit, cursor, order, budgetMs) =>
      searchEvents(events, scan, tenantId, filter, limit, cursor, order, budgetMs),

    async listCountable(tenantId, filter, limit, cursor, budgetMs) {
      const page = await searchEvents(events, scan, tenantId, filter, limit, cursor, 'newest', budgetMs);
      return { ...page, events: page.events.filter(({ sample }) => !sample).map(countableEventOf) };
    },

    async get(tenantId, id) {
      const row = await events.findOne({ _id: id, tenantId });
      return row && toEvent(row);
    },

    async listArrivals(tenantId, after, limit) {
      const nextEvents = events.find({ _id: { $gt: idAfter(after) }, tenantId }, bounded).sort({ _id: 1 });
      const { items, more } = await pageOf(nextEvents, { limit, offset: 0 }, toEvent);
      return { events: items, more };
    },

    getNewestSeq: async () => seqAt(clock.now()),
    settledBy: async (seq) => seqBefore(seq, arrivalSlackMs),

    newestOf: (tenantId, agents) => newestEvents(events, tenantId, agents),

    async removeSample(tenantId) {
      await events.deleteMany({ tenantId, sample: true });
      await runs.deleteMany({ tenantId, sample: true });
    },

    countReceived: (tenantId, before) =>
      events.countDocuments({ tenantId, receivedAt: { $lt: before } }, bounded),

    removeBefore: (tenantId, before, limit) => removeEvents(events, runs, removals, tenantId, before, limit),
    removeIdleRuns: (tenantId, before, limit) => removeIdleRuns(runs, tenantId, before, limit),
    removeAll: (tenantId, limit) =>
      removeEvents(events, runs, removals, tenantId, Number.MAX_SAFE_INTEGER, limit),
  };
}
