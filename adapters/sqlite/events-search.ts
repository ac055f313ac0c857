// Pages of events, newest first: merges segments that overlap in time. Runs on the reader, in steps.
import { HubError } from '../../src/domain/error.ts';
import type { EventInput, Outcome, StoredEvent } from '../../src/domain/event.ts';
import type { EventFilter, EventPage } from '../../src/ports/events.ts';
import type { Database } from './database.ts';
import { walk } from './events-walk.ts';
import { bodyEvents, bodyText, eventId, outcomesOf, type Summary, storedEvent } from './segment.ts';
import type { Steps } from './sync.ts';

/** Bodies parsed before other reads are let in. */
const bodiesPerStep = 16;
/** Bodies one search looks into. A search that finds too little among them gives a short page and where to go on. */
const bodiesPerSearch = 40_000;

/** An event's place in the order of all: time, then batch, then place in the batch. */
interface Key {
  readonly ts: number;
  readonly batch: number;
  readonly place: number;
}

const compare = (a: Key, b: Key): number => a.ts - b.ts || a.batch - b.batch || a.place - b.place;

const cursorBytes = 16;

function writeCursor({ ts, batch, place }: Key): string {
  const bytes = Buffer.alloc(cursorBytes);
  bytes.writeDoubleBE(ts, 0);
  bytes.writeUIntBE(batch, 8, 6);
  bytes.writeUInt16BE(place, 14);
  return bytes.toString('base64url');
}

/** @throws HubError('bad_request') */
function readCursor(cursor: string): Key {
  const bytes = cursor.length <= 2 * cursorBytes ? Buffer.from(cursor, 'base64url') : Buffer.alloc(0);
  if (bytes.length === cursorBytes && bytes.toString('base64url') === cursor) {
    const ts = bytes.readDoubleBE(0);
    if (Number.isFinite(ts)) return { ts, batch: bytes.readUIntBE(8, 6), place: bytes.readUInt16BE(14) };
  }
  throw new HubError('bad_request', 'The cursor is not valid. Start again without one.');
}

/** True when the event, with its outcomes, fits. */
export function fits(event: EventInput, outcomes: readonly Outcome[], filter: EventFilter): boolean {
  const { toolName, verdict, mode, since, until, search } = filter;
  return (
    (toolName === undefined || event.tool_name === toolName) &&
    (verdict === undefined || event.verdict === verdict || outcomes.some((o) => o.verdict === verdict)) &&
    (mode === undefined || event.mode === mode) &&
    (since === undefined || event.timestamp >= since) &&
    (until === undefined || event.timestamp <= until) &&
    (search === undefined || mentions(event, search.toLowerCase()))
  );
}

function mentions(event: EventInput, needle: string): boolean {
  const name = event.payload?.decision_name;
  return [event.agent_id, event.tool_name, event.call_id, typeof name === 'string' ? name : ''].some((text) =>
    text.toLowerCase().includes(needle),
  );
}

/** The events of a segment that fit, with their outcomes and positions. */
export function* fitting(
  db: Database,
  segment: Summary,
  filter: EventFilter,
): Generator<{ event: EventInput; outcomes: readonly Outcome[]; position: number }, void, undefined> {
  const text = bodyText(db, segment.id);
  if (text === null) return;
  if (filter.search !== undefined) {
    // Cheaper than parsing, and never wrong: whatever holds the text holds its JSON form.
    const needle = JSON.stringify(filter.search).slice(1, -1).toLowerCase();
    if (!text.toLowerCase().includes(needle)) return;
  }
  const outcomes = segment.outcomes > 0 ? outcomesOf(db, segment.id) : null;
  for (const [position, event] of bodyEvents(text).entries()) {
    if (!event) continue;
    const said = outcomes?.get(position) ?? [];
    if (fits(event, said, filter)) yield { event, outcomes: said, position };
  }
}

export function eventSearch(db: Database) {
  const mark = () => String(db.get('SELECT mark FROM store')?.[0]);

  return function* search(
    tenantId: string,
    filter: EventFilter,
    limit: number,
    cursor: string | null,
  ): Steps<EventPage> {
    const storeMark = mark();
    const below = cursor === null ? null : readCursor(cursor);
    const hi = Math.min(filter.until ?? Number.MAX_VALUE, below?.ts ?? Number.MAX_VALUE);
    // In ascending order: the next one to give out is the last.
    const waiting: { readonly key: Key; readonly event: StoredEvent }[] = [];
    const events: StoredEvent[] = [];
    let last: Key | null = null;
    let bodies = 0;

    /** Moves out what nothing still to come can precede; true when the page is full. */
    function giveOut(frontier: Key | null): boolean {
      while (events.length < limit) {
        const next = waiting.at(-1);
        if (!next || (frontier && compare(next.key, frontier) < 0)) return false;
        waiting.pop();
        events.push(next.event);
        last = next.key;
      }
      return true;
    }
    const page = (next: Key | null): EventPage => ({ events, next: next && writeCursor(next) });

    for (const segment of walk(db, tenantId, filter, hi)) {
      if (segment === null) {
        yield;
        continue;
      }
      const frontier = { ts: segment.maxTs, batch: segment.batch + 1, place: 0 };
      if (giveOut(frontier)) return page(last);
      // Only past the cursor, so that each page gets further.
      if (bodies >= bodiesPerSearch && (!below || compare(frontier, below) < 0)) return page(frontier);
      const places = segment.places === null ? null : (JSON.parse(segment.places) as number[]);
      for (const { event, outcomes, position } of fitting(db, segment, filter)) {
        const key = { ts: event.timestamp, batch: segment.batch, place: places?.[position] ?? position };
        if (below && compare(key, below) >= 0) continue;
        waiting.push({
          key,
          event: storedEvent(event, eventId(storeMark, segment.id, position), segment, outcomes),
        });
      }
      waiting.sort((a, b) => compare(a.key, b.key));
      if (++bodies % bodiesPerStep === 0) yield;
    }
    return giveOut(null) && waiting.length > 0 ? page(last) : page(null);
  };
}
