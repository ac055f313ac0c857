// Pages of events, newest or oldest first: merges segments that overlap in time. Runs on the reader, in steps.
import { callIdOf, isWanted, parentSessionOf, sessionOf } from '../../src/domain/decision-event.ts';
import { HubError } from '../../src/domain/error.ts';
import { type EventInput, type EventOutcome, maxSearchMs, type StoredEvent } from '../../src/domain/event.ts';
import type { EventFilter, EventOrder, EventPage } from '../../src/ports/events.ts';
import { maxPageBytes } from '../../src/ports/page.ts';
import type { Database } from './database.ts';
import { walk, walkUp } from './events-walk.ts';
import {
  bodyEvents,
  bodyText,
  type Counted,
  countedIn,
  countedOf,
  decisionName,
  outcomesOf,
  placeOf,
  placeOfId,
  readSummary,
  type Summary,
  segmentSpanMs,
  storedEvent,
  summaryColumns,
  tenantNumber,
} from './segment.ts';
import type { Steps } from './sync.ts';

/** Bodies parsed before other reads are let in. */
const bodiesPerStep = 16;
/** A search that has not filled its page by then gives a short one and where to go on. Milliseconds. */
const patienceMs = maxSearchMs / 3;

/** An event's place in the order of all: time, then batch, then place in the batch. */
interface Key {
  readonly ts: number;
  readonly batch: number;
  readonly place: number;
}

const compare = (a: Key, b: Key): number => a.ts - b.ts || a.batch - b.batch || a.place - b.place;

const cursorBytes = 16;
/** Six bytes: higher than that of any batch. */
const maxBatch = 2 ** 48 - 1;

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

/** True when what is counted of an event, with its outcomes, fits. */
function countsFit(event: Counted, outcomes: readonly EventOutcome[], filter: EventFilter): boolean {
  const { toolName, verdict, verdicts, mode, since, until, decisionName: name } = filter;
  return (
    (toolName === undefined || event.tool === toolName) &&
    (verdict === undefined || event.verdict === verdict || outcomes.some((o) => o.verdict === verdict)) &&
    (verdicts === undefined ||
      isWanted(verdicts, event.verdict) ||
      outcomes.some((o) => isWanted(verdicts, o.verdict))) &&
    (mode === undefined || event.mode === mode) &&
    (since === undefined || event.ts >= since) &&
    (until === undefined || event.ts <= until) &&
    (name === undefined || event.name === name || outcomes.some((o) => o.decision_name === name))
  );
}

/** True for a filter that the tallies and marks of a segment cannot tell about. */
export const needsBodies = (filter: EventFilter): boolean => {
  const { search, runId, callId, sessionId, parentSessionId, fromSeq, toSeq } = filter;
  return [search, runId, callId, sessionId, parentSessionId, fromSeq, toSeq].some(
    (asked) => asked !== undefined,
  );
};

/** True when the event, with its outcomes, fits. @param seq its place in the order of arrival */
export function fits(
  event: EventInput,
  outcomes: readonly EventOutcome[],
  filter: EventFilter,
  seq: number,
): boolean {
  const { runId, callId, search, sessionId, parentSessionId, fromSeq, toSeq } = filter;
  return (
    (callId === undefined || (callIdOf(event) ?? event.call_id) === callId) &&
    (runId === undefined || event.payload?.run_id === runId) &&
    (sessionId === undefined || sessionOf(event) === sessionId) &&
    (parentSessionId === undefined || parentSessionOf(event) === parentSessionId) &&
    (fromSeq === undefined || seq >= fromSeq) &&
    (toSeq === undefined || seq <= toSeq) &&
    (search === undefined || mentions(event, search.toLowerCase())) &&
    countsFit(countedOf(event), outcomes, filter)
  );
}

const mentions = (event: EventInput, needle: string): boolean =>
  [event.agent_id, event.tool_name, callIdOf(event) ?? event.call_id, decisionName(event) ?? ''].some(
    (text) => text.toLowerCase().includes(needle),
  );

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);

/**
 * False when the body cannot hold an event that fits. Cheaper than parsing it: whatever holds a text holds its JSON
 * form.
 */
function mayHold(body: string, filter: EventFilter): boolean {
  const { search, runId, callId, sessionId, parentSessionId } = filter;
  if (search !== undefined && !body.toLowerCase().includes(inJson(search).toLowerCase())) return false;
  return [runId, callId, sessionId, parentSessionId].every(
    (text) => text === undefined || body.includes(inJson(text)),
  );
}

/** The events of a segment that fit, with their outcomes and positions. */
export function* fitting(
  db: Database,
  segment: Summary,
  filter: EventFilter,
): Generator<{ event: EventInput; outcomes: readonly EventOutcome[]; position: number }, void, undefined> {
  const text = bodyText(db, segment.id);
  if (text === null || !mayHold(text, filter)) return;
  const outcomes = segment.outcomes > 0 ? outcomesOf(db, segment.id) : null;
  for (const [position, event] of bodyEvents(text).entries()) {
    if (!event) continue;
    const said = outcomes?.get(position) ?? [];
    if (fits(event, said, filter, placeOf(segment.id, position))) yield { event, outcomes: said, position };
  }
}

/** The same with what is counted of the events alone; reads no body where it need not. */
export function* fittingCounts(
  db: Database,
  segment: Summary,
  filter: EventFilter,
): Generator<{ event: Counted; outcomes: readonly EventOutcome[] }, void, undefined> {
  if (needsBodies(filter)) {
    for (const { event, outcomes } of fitting(db, segment, filter)) {
      yield { event: countedOf(event), outcomes };
    }
    return;
  }
  const counted = countedIn(db, segment);
  const outcomes = segment.outcomes > 0 ? outcomesOf(db, segment.id) : null;
  for (const [position, event] of counted.entries()) {
    const said = outcomes?.get(position) ?? [];
    if (event && countsFit(event, said, filter)) yield { event, outcomes: said };
  }
}

/** The store's own mark, which the ids of its events hold. */
export const markOf = (db: Database): string => String(db.get('SELECT mark FROM store')?.[0]);

/** The event of this id. */
export function eventOf(db: Database, tenantId: string, id: string): StoredEvent | null {
  const mark = markOf(db);
  const place = placeOfId(mark, id);
  const tenant = tenantNumber(db, tenantId);
  if (!place || tenant === null) return null;
  const row = db.get(`SELECT ${summaryColumns} FROM segments WHERE id = ? AND tenant = ?`, [
    place.segment,
    tenant,
  ]);
  const event = row && bodyEvents(bodyText(db, place.segment) ?? '[]')[place.position];
  if (!event) return null;
  const outcomes = outcomesOf(db, place.segment).get(place.position) ?? [];
  return storedEvent(event, mark, place.position, readSummary(row), outcomes);
}

/** @param now milliseconds of a clock that never jumps */
export function eventSearch(db: Database, now = () => performance.now()) {
  const newest = newestFirst(db, now);
  const oldest = oldestFirst(db, now);
  return (
    tenantId: string,
    filter: EventFilter,
    limit: number,
    cursor: string | null,
    order: EventOrder = 'newest',
  ): Steps<EventPage> => (order === 'oldest' ? oldest : newest)(tenantId, filter, limit, cursor);
}

/** The same from the other end: a segment may begin up to its span before its newest event. */
function oldestFirst(db: Database, now: () => number) {
  return function* search(
    tenantId: string,
    filter: EventFilter,
    limit: number,
    cursor: string | null,
  ): Steps<EventPage> {
    const mark = markOf(db);
    const above = cursor === null ? null : readCursor(cursor);
    const lo = Math.max(filter.since ?? -Number.MAX_VALUE, above?.ts ?? -Number.MAX_VALUE);
    // In descending order: the next one to give out is the last.
    const waiting: { readonly key: Key; readonly event: StoredEvent }[] = [];
    const events: StoredEvent[] = [];
    const began = now();
    let last: Key | null = null;
    let bodies = 0;
    let bytes = 0;
    let dropped = false;

    /** Moves out what nothing still to come can precede; true when the page is full. */
    function giveOut(frontier: Key | null): boolean {
      while (events.length < limit && bytes < maxPageBytes) {
        const next = waiting.at(-1);
        if (!next || (frontier && compare(next.key, frontier) >= 0)) return false;
        waiting.pop();
        events.push(next.event);
        bytes += Buffer.byteLength(JSON.stringify(next.event));
        last = next.key;
      }
      return true;
    }
    const page = (next: Key | null): EventPage => ({ events, next: next && writeCursor(next) });

    let wanted = filter.until ?? Number.MAX_VALUE;
    for (const segment of walkUp(db, tenantId, filter, lo, () => wanted)) {
      const maxTs = typeof segment === 'number' ? segment : segment.maxTs;
      const frontier = { ts: maxTs - segmentSpanMs, batch: 0, place: 0 };
      if (giveOut(frontier)) return page(last);
      // Only past the cursor, so that each page gets further.
      const isPast = !above || compare(frontier, above) > 0;
      if (isPast && now() - began > patienceMs) return page(frontier);
      if (typeof segment === 'number') {
        yield;
        continue;
      }
      // A segment that begins after all that this page has place for is read for a later one.
      if (segment.minTs > wanted) continue;
      const places = segment.places === null ? null : (JSON.parse(segment.places) as number[]);
      for (const { event, outcomes, position } of fitting(db, segment, filter)) {
        const key = { ts: event.timestamp, batch: segment.batch, place: places?.[position] ?? position };
        if (above && compare(key, above) <= 0) continue;
        waiting.push({ key, event: storedEvent(event, mark, position, segment, outcomes) });
      }
      waiting.sort((a, b) => compare(b.key, a.key));
      // What this page has no place for is read again for the next.
      const left = waiting.splice(0, waiting.length - (limit - events.length));
      dropped ||= left.length > 0;
      const [newestKept] = waiting;
      if (dropped && newestKept && waiting.length >= limit - events.length) wanted = newestKept.key.ts;
      if (++bodies % bodiesPerStep === 0) yield;
    }
    giveOut(null);
    return page(waiting.length > 0 || dropped ? last : null);
  };
}

function newestFirst(db: Database, now: () => number) {
  return function* search(
    tenantId: string,
    filter: EventFilter,
    limit: number,
    cursor: string | null,
  ): Steps<EventPage> {
    const mark = markOf(db);
    const below = cursor === null ? null : readCursor(cursor);
    const hi = Math.min(filter.until ?? Number.MAX_VALUE, below?.ts ?? Number.MAX_VALUE);
    // In ascending order: the next one to give out is the last.
    const waiting: { readonly key: Key; readonly event: StoredEvent }[] = [];
    const events: StoredEvent[] = [];
    const began = now();
    let last: Key | null = null;
    let bodies = 0;
    let bytes = 0;
    let dropped = false;

    /** Moves out what nothing still to come can precede; true when the page is full. */
    function giveOut(frontier: Key | null): boolean {
      while (events.length < limit && bytes < maxPageBytes) {
        const next = waiting.at(-1);
        if (!next || (frontier && compare(next.key, frontier) < 0)) return false;
        waiting.pop();
        events.push(next.event);
        bytes += Buffer.byteLength(JSON.stringify(next.event));
        last = next.key;
      }
      return true;
    }
    const page = (next: Key | null): EventPage => ({ events, next: next && writeCursor(next) });

    for (const segment of walk(db, tenantId, filter, hi)) {
      const frontier =
        typeof segment === 'number'
          ? { ts: segment, batch: maxBatch, place: 0 }
          : { ts: segment.maxTs, batch: segment.batch + 1, place: 0 };
      if (giveOut(frontier)) return page(last);
      // Only past the cursor, so that each page gets further.
      const isPast = !below || compare(frontier, below) < 0;
      if (isPast && now() - began > patienceMs) return page(frontier);
      if (typeof segment === 'number') {
        yield;
        continue;
      }
      const places = segment.places === null ? null : (JSON.parse(segment.places) as number[]);
      for (const { event, outcomes, position } of fitting(db, segment, filter)) {
        const key = { ts: event.timestamp, batch: segment.batch, place: places?.[position] ?? position };
        if (below && compare(key, below) >= 0) continue;
        waiting.push({
          key,
          event: storedEvent(event, mark, position, segment, outcomes),
        });
      }
      waiting.sort((a, b) => compare(a.key, b.key));
      // What this page has no place for is read again for the next.
      const left = waiting.splice(0, waiting.length - (limit - events.length));
      dropped ||= left.length > 0;
      if (++bodies % bodiesPerStep === 0) yield;
    }
    giveOut(null);
    return page(waiting.length > 0 || dropped ? last : null);
  };
}
