// Searches for a text, for queries that read payloads, and for fields that few events match: the server narrows, and
// each document that passes is tested here.
import { BSON, type Collection, type Filter } from 'mongodb';
import type { EventOrder, EventPage } from '../../src/event/port.ts';
import { maxSearchMs, type StoredEvent, searchTimeout } from '../../src/event/record.ts';
import type { EventFilter } from '../../src/event/rules/filter.ts';
import { queryTest } from '../../src/event/rules/query/match.ts';
import { omitUndefined } from '../../src/shared/omit-undefined.ts';
import { maxPageBytes } from '../../src/shared/ports/page.ts';
import { afterCursor, cursorAfter, type EventRow, eventQuery, searchTest, toEvent } from './event-filter.ts';
import { needleTest } from './event-query.ts';
import { isOutOfTime } from './failure.ts';

type RowFilter = Filter<EventRow>;

/** Documents of the first window; each is twice as large as the one before. */
const firstWindow = 1_000;
const largestWindow = 16_000;
/** Time of a search, in milliseconds, if the caller chooses none. */
export const patienceMs = maxSearchMs / 3;

/** Least time for the end of a window, in milliseconds. */
const leastMs = 50;

/** The part of a filter whose events an index contains in their order. */
const orderedPart = ({ agentId, sessionId, runId, since, until }: EventFilter): EventFilter => ({
  env: null,
  ...omitUndefined({ agentId, sessionId, runId, since, until }),
});

const sortOf = (order: EventOrder) =>
  order === 'oldest' ? ({ ts: 1, _id: 1 } as const) : ({ ts: -1, _id: -1 } as const);

type WindowEnd = Pick<EventRow, 'ts' | '_id'>;

/** The last event of a window of `size` events; undefined if there are fewer. */
async function endOf(
  events: Collection<EventRow>,
  rest: RowFilter,
  size: number,
  order: EventOrder,
  maxTimeMS: number,
): Promise<WindowEnd | undefined | 'late'> {
  try {
    const [last] = await events
      .find(rest, { maxTimeMS: Math.min(maxSearchMs, maxTimeMS), projection: { ts: 1 } })
      .sort(sortOf(order))
      .skip(size - 1)
      .limit(1)
      .toArray();
    return last;
  } catch (error) {
    if (!isOutOfTime(error)) throw error;
    return 'late';
  }
}

/** Conditions that matching documents meet, of the terms and the text that only a scan decides. */
function needlesOf({ query, search }: EventFilter): RowFilter[] {
  const needles = (query?.terms ?? []).map(needleTest).filter((test) => test !== null) as RowFilter[];
  return search ? [...needles, searchTest(search)] : needles;
}

/**
 * Searches in windows of the order, so that it knows how far it came when its time ends. A window contains so many
 * events that match the filter without its text. If few match (`isSparse`), the server reaches no end of a window in
 * time: the search begins again, and a window then contains so many events of an index.
 */
export function mongoEventScan(events: Collection<EventRow>) {
  async function scan(
    tenantId: string,
    filter: EventFilter,
    limit: number,
    cursor: string | null,
    order: EventOrder,
    budgetMs = patienceMs,
    isSparse = false,
  ): Promise<EventPage> {
    const began = performance.now();
    const { search: _text, ...narrowing } = filter;
    const base = eventQuery(tenantId, isSparse ? orderedPart(filter) : narrowing);
    const fits = filter.query === undefined ? () => true : queryTest(filter.query).fits;
    const needles = needlesOf(filter);
    if (isSparse) needles.push(eventQuery(tenantId, narrowing));
    const matching: StoredEvent[] = [];
    let bytes = 0;
    const bounded = { maxTimeMS: maxSearchMs };
    let from = cursor;
    let searchedTo: number | null = null;
    // A sparse search has no other way to get further.
    const timeLeft = (): number =>
      isSparse ? maxSearchMs : Math.max(leastMs, Math.ceil(budgetMs - (performance.now() - began)));
    for (let size = firstWindow; ; size = Math.min(size * 2, largestWindow)) {
      const rest: RowFilter = from === null ? base : { $and: [base, afterCursor(from, order)] };
      const last = await endOf(events, rest, size, order, timeLeft());
      if (last === 'late') {
        if (searchedTo !== null) return { events: matching, next: from, searchedTo };
        if (isSparse) throw searchTimeout();
        return scan(tenantId, filter, limit, cursor, order, budgetMs, true);
      }
      const end = last ? cursorAfter(last) : null;
      const window: RowFilter = {
        $and: [rest, ...(end === null ? [] : [{ $nor: [afterCursor(end, order)] }]), ...needles],
      };
      for await (const row of events.find(window, bounded).sort(sortOf(order))) {
        const event = toEvent(row);
        const isMatch = fits({
          event,
          env: event.env,
          sample: event.sample ?? false,
          outcomes: event.outcomes,
        });
        if (!isMatch) continue;
        matching.push(event);
        bytes += BSON.calculateObjectSize(row);
        if (matching.length === limit || bytes >= maxPageBytes)
          return { events: matching, next: cursorAfter(row) };
      }
      if (last === undefined) return { events: matching, next: null };
      if (performance.now() - began > budgetMs) return { events: matching, next: end, searchedTo: last.ts };
      from = end;
      searchedTo = last.ts;
    }
  }
  return scan;
}
