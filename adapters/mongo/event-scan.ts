// Searches for a text, and for queries that read payloads: the server narrows, and each document that passes is tested
// here.
import { BSON, type Collection, type Filter } from 'mongodb';
import type { EventOrder, EventPage } from '../../src/event/port.ts';
import { maxSearchMs, type StoredEvent } from '../../src/event/record.ts';
import type { EventFilter } from '../../src/event/rules/filter.ts';
import { queryTest } from '../../src/event/rules/query/match.ts';
import { maxPageBytes } from '../../src/shared/ports/page.ts';
import { afterCursor, cursorAfter, type EventRow, eventQuery, searchTest, toEvent } from './event-filter.ts';
import { needleTest } from './event-query.ts';

type RowFilter = Filter<EventRow>;

/** Documents of the first window; each is twice as large as the one before. */
const firstWindow = 1_000;
const largestWindow = 16_000;

/** Searches in windows of the order, so that it knows how far it came when its time ends. */
export function mongoEventScan(events: Collection<EventRow>) {
  return async (
    tenantId: string,
    filter: EventFilter,
    limit: number,
    cursor: string | null,
    order: EventOrder,
    budgetMs = maxSearchMs / 3,
  ): Promise<EventPage> => {
    const began = performance.now();
    const { search, ...narrowing } = filter;
    // Without the text: a window ends after so many documents, whatever the text finds.
    const base = eventQuery(tenantId, narrowing);
    const fits = filter.query === undefined ? () => true : queryTest(filter.query).fits;
    const needles = (filter.query?.terms ?? [])
      .map(needleTest)
      .filter((test) => test !== null) as RowFilter[];
    if (search) needles.push(searchTest(search));
    const sort = order === 'oldest' ? ({ ts: 1, _id: 1 } as const) : ({ ts: -1, _id: -1 } as const);
    const matching: StoredEvent[] = [];
    let bytes = 0;
    const bounded = { maxTimeMS: maxSearchMs };
    let from = cursor;
    for (let size = firstWindow; ; size = Math.min(size * 2, largestWindow)) {
      const rest: RowFilter = from === null ? base : { $and: [base, afterCursor(from, order)] };
      const [last] = await events
        .find(rest, { ...bounded, projection: { ts: 1 } })
        .sort(sort)
        .skip(size - 1)
        .limit(1)
        .toArray();
      const end = last ? cursorAfter(last) : null;
      const window: RowFilter = {
        $and: [rest, ...(end === null ? [] : [{ $nor: [afterCursor(end, order)] }]), ...needles],
      };
      for await (const row of events.find(window, bounded).sort(sort)) {
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
    }
  };
}
