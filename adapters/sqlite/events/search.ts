// Pages of events, newest or oldest first: merges segments that overlap in time. Runs on the reader, in steps.
import type { EventOrder, EventPage } from '../../../src/event/port.ts';
import {
  type EventInput,
  type EventOutcome,
  maxSearchMs,
  type StoredEvent,
} from '../../../src/event/record.ts';
import { callIdOf, isWanted, parentSessionOf, sessionOf } from '../../../src/event/rules/decision.ts';
import type { EventFilter } from '../../../src/event/rules/filter.ts';
import { type QueryTest, queryTest } from '../../../src/event/rules/query/match.ts';
import { needlesOf } from '../../../src/event/rules/query/needles.ts';
import { searchedTextsOf } from '../../../src/event/rules/texts.ts';
import { findsIn, foldedText } from '../../../src/shared/search-text.ts';
import type { Database } from '../database.ts';
import type { Steps } from '../sync.ts';
import {
  type Candidate,
  compare,
  type Key,
  maxBatch,
  PageInOrder,
  readCursor,
  StepClock,
} from './page-in-order.ts';
import { after, PausedSearches } from './paused-searches.ts';
import {
  bodyEvents,
  type Counted,
  countedIn,
  countedOf,
  decisionName,
  outcomesOf,
  placeOf,
  placeOfId,
  readSummary,
  type Summary,
  segmentBody,
  segmentEventsOf,
  segmentSpanMs,
  storedEvent,
  summaryColumns,
  tenantNumber,
} from './segment.ts';
import { walk, walkUp } from './walk.ts';

/** After this time other reads are let in. Milliseconds. */
const stepMs = 6;
/** A search that has not filled its page by then gives a short one and where to go on. Milliseconds. */
const patienceMs = maxSearchMs / 3;

/** A query with what is made of it once. */
interface CompiledQuery extends QueryTest {
  readonly needles: readonly { readonly pattern: RegExp; readonly isInOutcomes: boolean }[];
}

/** A filter whose query was compiled before its first event. */
export interface CompiledFilter extends EventFilter {
  readonly compiled?: CompiledQuery;
}

export function compileFilter(filter: EventFilter): CompiledFilter {
  const { query } = filter;
  if (query === undefined) return filter;
  const needles = needlesOf(query).map(({ pattern, isInOutcomes }) => ({
    pattern: new RegExp(pattern, 'u'),
    isInOutcomes,
  }));
  return { ...filter, compiled: { ...queryTest(query), needles } };
}

/** Owner of an event. */
export interface EventOwner {
  readonly env: string;
  readonly agent: string;
}

/** True when what is counted of an event, with its outcomes, fits. */
function countsFit(
  event: Counted,
  outcomes: readonly EventOutcome[],
  filter: CompiledFilter,
  owner: EventOwner,
): boolean {
  const { toolName, verdict, verdicts, mode, since, until, decisionName: name, compiled } = filter;
  return (
    (toolName === undefined || event.tool === toolName) &&
    (verdict === undefined || event.verdict === verdict || outcomes.some((o) => o.verdict === verdict)) &&
    (verdicts === undefined ||
      isWanted(verdicts, event.verdict) ||
      outcomes.some((o) => isWanted(verdicts, o.verdict))) &&
    (mode === undefined || event.mode === mode) &&
    (since === undefined || event.ts >= since) &&
    (until === undefined || event.ts <= until) &&
    (name === undefined || event.name === name || outcomes.some((o) => o.decisionName === name)) &&
    (compiled === undefined ||
      compiled.fitsCounted({ ...event, env: owner.env, agent: owner.agent }, outcomes))
  );
}

/** True for a filter that needs more than the tallies and marks of a segment. */
export const needsBodies = (filter: CompiledFilter): boolean => {
  const { search, runId, callId, sessionId, parentSessionId, fromSeq, toSeq, compiled } = filter;
  return (
    [search, runId, callId, sessionId, parentSessionId, fromSeq, toSeq].some(
      (value) => value !== undefined,
    ) || compiled?.needsPayload === true
  );
};

/** True when the event, with its outcomes, fits. @param seq its place in the order of arrival */
function fits(
  event: EventInput,
  outcomes: readonly EventOutcome[],
  filter: CompiledFilter,
  seq: number,
  { env, sample }: Pick<Summary, 'env' | 'sample'>,
): boolean {
  const { runId, callId, search, sessionId, parentSessionId, fromSeq, toSeq, compiled } = filter;
  return (
    (callId === undefined || (callIdOf(event) ?? event.callId) === callId) &&
    (runId === undefined || event.payload?.run_id === runId) &&
    (sessionId === undefined || sessionOf(event) === sessionId) &&
    (parentSessionId === undefined || parentSessionOf(event) === parentSessionId) &&
    (fromSeq === undefined || seq >= fromSeq) &&
    (toSeq === undefined || seq <= toSeq) &&
    (search === undefined || mentions(event, foldedText(search))) &&
    countsFit(countedOf(event), outcomes, filter, { env, agent: event.agentId }) &&
    (compiled === undefined || compiled.fits({ event, env, sample, outcomes }))
  );
}

const mentions = (event: EventInput, needle: string): boolean =>
  [
    event.agentId,
    event.toolName,
    callIdOf(event) ?? event.callId,
    decisionName(event) ?? '',
    ...searchedTextsOf(event),
  ].some((text) => findsIn(text, needle));

/** A number may stand otherwise in a body than it reads: `1e2` is 100. */
const mayBeNumber = (search: string): boolean => /^[-+.\de]+$/i.test(search);

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);

/**
 * False when the body cannot hold an event that fits. Cheaper than parsing it: whatever holds a text holds its JSON
 * form.
 */
function mayHold(body: string, filter: CompiledFilter, hasOutcomes: boolean): boolean {
  const { search, runId, callId, sessionId, parentSessionId, compiled } = filter;
  if (compiled !== undefined) {
    const isMissing = compiled.needles.some(
      ({ pattern, isInOutcomes }) => !(isInOutcomes && hasOutcomes) && !pattern.test(body),
    );
    if (isMissing) return false;
  }
  if (search !== undefined && !mayBeNumber(search) && !findsIn(body, foldedText(inJson(search))))
    return false;
  return [runId, callId, sessionId, parentSessionId].every(
    (text) => text === undefined || body.includes(inJson(text)),
  );
}

/** The events of a segment that fit, with their outcomes and positions. */
export function* fitting(
  db: Database,
  segment: Summary,
  filter: CompiledFilter,
): Generator<{ event: EventInput; outcomes: readonly EventOutcome[]; position: number }, void, undefined> {
  const body = segmentBody(db, segment.id);
  if (body === null || !mayHold(body.text, filter, segment.outcomes > 0)) return;
  const outcomes = segment.outcomes > 0 ? outcomesOf(db, segment.id) : null;
  for (const [position, event] of bodyEvents(body).entries()) {
    if (!event) continue;
    const eventOutcomes = outcomes?.get(position) ?? [];
    if (fits(event, eventOutcomes, filter, placeOf(segment.id, position), segment))
      yield { event, outcomes: eventOutcomes, position };
  }
}

/** The same with what is counted of the events alone; reads no body where it need not. */
export function* fittingCounts(
  db: Database,
  segment: Summary,
  filter: CompiledFilter,
): Generator<{ event: Counted; outcomes: readonly EventOutcome[]; position: number }, void, undefined> {
  if (needsBodies(filter)) {
    for (const { event, outcomes, position } of fitting(db, segment, filter)) {
      yield { event: countedOf(event), outcomes, position };
    }
    return;
  }
  const counted = countedIn(db, segment);
  const outcomes = segment.outcomes > 0 ? outcomesOf(db, segment.id) : null;
  for (const [position, event] of counted.entries()) {
    const eventOutcomes = outcomes?.get(position) ?? [];
    if (event && countsFit(event, eventOutcomes, filter, segment))
      yield { event, outcomes: eventOutcomes, position };
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
  const event = row && segmentEventsOf(db, place.segment)[place.position];
  if (!event) return null;
  const outcomes = outcomesOf(db, place.segment).get(place.position) ?? [];
  return storedEvent(event, mark, place.position, readSummary(row), outcomes);
}

/** One of the two ways to list events. */
interface Direction {
  /** Below zero: the first comes before the second. */
  readonly order: (a: Key, b: Key) => number;
  /**
   * Segments that may hold what fits, from the cursor on, and a time between windows (walk.ts).
   * @param last the last key that the page has place for, as far as it is known; asked for each window
   */
  segments(
    db: Database,
    tenantId: string,
    filter: EventFilter,
    from: Key | null,
    last: () => Key | null,
  ): Generator<Summary | number, void, undefined>;
  /** Before it comes nothing of this segment, nor of those that follow. */
  frontier(segment: Summary | number): Key;
  /** True for a segment all of which comes after this key. */
  isAfter(segment: Summary, last: Key): boolean;
}

const directions: { readonly [O in EventOrder]: Direction } = {
  newest: {
    order: (a, b) => compare(b, a),
    segments: (db, tenantId, filter, from) =>
      walk(db, tenantId, filter, Math.min(filter.until ?? Number.MAX_VALUE, from?.ts ?? Number.MAX_VALUE)),
    frontier: (segment) =>
      typeof segment === 'number'
        ? { ts: segment, batch: maxBatch, place: 0 }
        : { ts: segment.maxTs, batch: segment.batch + 1, place: 0 },
    isAfter: ({ maxTs }, last) => maxTs < last.ts,
  },
  oldest: {
    order: compare,
    segments: (db, tenantId, filter, from, last) =>
      walkUp(
        db,
        tenantId,
        filter,
        Math.max(filter.since ?? -Number.MAX_VALUE, from?.ts ?? -Number.MAX_VALUE),
        () => last()?.ts ?? filter.until ?? Number.MAX_VALUE,
      ),
    // A segment may begin up to its span before its newest event.
    frontier: (segment) => {
      const maxTs = typeof segment === 'number' ? segment : segment.maxTs;
      return { ts: maxTs - segmentSpanMs, batch: 0, place: 0 };
    },
    isAfter: ({ minTs }, last) => minTs > last.ts,
  },
};

/** The events of a segment that fit, by key. Where marks suffice, bodies are read only for a page's own events. */
function* candidatesOf(
  db: Database,
  segment: Summary,
  filter: CompiledFilter,
  bodies: SegmentBodies,
): Generator<Candidate, void, undefined> {
  const places = segment.places === null ? null : (JSON.parse(segment.places) as number[]);
  const keyOf = (ts: number, position: number): Key => ({
    ts,
    batch: segment.batch,
    place: places?.[position] ?? position,
  });
  if (needsBodies(filter)) {
    for (const { event, outcomes, position } of fitting(db, segment, filter)) {
      const stored = storedEvent(event, bodies.mark, position, segment, outcomes);
      yield { key: keyOf(event.timestamp, position), read: () => stored };
    }
    return;
  }
  for (const { event, outcomes, position } of fittingCounts(db, segment, filter)) {
    yield {
      key: keyOf(event.ts, position),
      read: () => bodies.read(segment, position, outcomes),
    };
  }
}

/** Segments whose events a search keeps. */
const maxBodies = 64;

/** The events of segments, each read once in a search. */
class SegmentBodies {
  readonly mark: string;
  readonly #db: Database;
  readonly #events = new Map<number, readonly (EventInput | null)[]>();

  constructor(db: Database) {
    this.#db = db;
    this.mark = markOf(db);
  }

  /** Null if the event was removed since. */
  read(segment: Summary, position: number, outcomes: readonly EventOutcome[]): StoredEvent | null {
    let events = this.#events.get(segment.id);
    if (events === undefined) {
      events = segmentEventsOf(this.#db, segment.id);
      if (this.#events.size >= maxBodies) this.#events.clear();
      this.#events.set(segment.id, events);
    }
    const event = events[position];
    return event ? storedEvent(event, this.mark, position, segment, outcomes) : null;
  }
}

/** @param now milliseconds of a clock that never jumps */
export function eventSearch(db: Database, now = () => performance.now()) {
  const paused = new PausedSearches();
  return function* search(
    tenantId: string,
    wholeFilter: EventFilter,
    limit: number,
    cursor: string | null,
    by: EventOrder = 'newest',
    budgetMs = patienceMs,
  ): Steps<EventPage> {
    const { order, segments, frontier, isAfter } = directions[by];
    const filter = compileFilter(wholeFilter);
    const bodies = new SegmentBodies(db);
    const nameOf = (at: string): string => JSON.stringify([tenantId, wholeFilter, by, at]);
    const began = now();
    const before = cursor === null ? null : paused.take(nameOf(cursor), began);
    const from = before ? before.from : cursor === null ? null : readCursor(cursor);
    const page = new PageInOrder(order, limit, before?.page);
    const rest = before?.rest ?? segments(db, tenantId, filter, from, () => page.lastFitting);
    const step = new StepClock(now, stepMs);
    let hasRead = before === null;
    for (let segment = before?.next ?? after(rest); segment !== null; segment = after(rest)) {
      const reached = frontier(segment);
      if (yield* page.giveOut(reached, step)) return page.upToLast();
      // Only past the cursor, so that each page gets further.
      const isPast = hasRead && (!from || order(reached, from) > 0);
      const isLate = now() - began > budgetMs;
      if (isPast && isLate) {
        const late = { ...page.upTo(reached), searchedTo: reached.ts };
        if (by === 'newest' && late.next !== null)
          paused.keep(nameOf(late.next), { rest, next: segment, page, from, pausedAt: now() });
        return late;
      }
      if (typeof segment === 'number' || step.isOver) {
        yield;
        step.restart();
      }
      hasRead = true;
      if (typeof segment === 'number') continue;
      // A later page reads the events for which this page has no place.
      if (page.lastFitting && isAfter(segment, page.lastFitting)) continue;
      for (const candidate of candidatesOf(db, segment, filter, bodies)) {
        if (from && order(candidate.key, from) <= 0) continue;
        page.add(candidate);
      }
      page.dropSurplus();
    }
    return yield* page.end(step);
  };
}
