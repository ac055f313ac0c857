// Pages of events, newest or oldest first: merges segments that overlap in time. Runs on the reader, in steps.
import type { EventOrder } from '../../../src/event/port.ts';
import { maxSearchMs, type StoredEvent } from '../../../src/event/record.ts';
import type { EventFilter } from '../../../src/event/rules/filter.ts';
import type { Database } from '../database.ts';
import type { Steps } from '../sync.ts';
import { BodyCache } from './body-cache.ts';
import { Candidates, type PageParts, type Times } from './candidates.ts';
import { type CompiledFilter, compileFilter, needsBodies } from './fitting.ts';
import {
  compare,
  type Key,
  maxBatch,
  PageInOrder,
  type PageUpTo,
  readCursor,
  StepClock,
} from './page-in-order.ts';
import { Patience } from './patience.ts';
import { after, type PausedSearch, PausedSearches } from './paused-searches.ts';
import {
  outcomesOf,
  placeOfId,
  readSummary,
  type Summary,
  segmentEventsOf,
  segmentSpanMs,
  storedEvent,
  summaryColumns,
  tenantNumber,
} from './segment.ts';
import type { StoredPage } from './stored-page.ts';
import { oldestFrom, walk, walkUp } from './walk.ts';

/** After this time other reads are let in. Milliseconds. */
const stepMs = 6;
/** A search that has not filled its page by then gives a short one and where to go on. Milliseconds. */
const patienceMs = maxSearchMs / 3;

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
    filter: CompiledFilter,
    from: Key | null,
    last: () => Key | null,
  ): Generator<Summary | number, void, undefined>;
  /** Before it comes nothing of this segment, nor of those that follow. */
  frontier(segment: Summary | number): Key;
  /**
   * As `frontier`, by the times of all segments whose newest event is not before `time`: reads their summaries until
   * `isOver`. Null: no better than `frontier`.
   */
  readonly exactFrontier: ((...request: Parameters<typeof oldestFrom>) => Steps<Key>) | null;
  /** True for a segment all of which comes after this key. */
  isAfter(segment: Summary, last: Key): boolean;
  /** Times of events that do not come after this key. */
  timesUpTo(last: Key): Times;
}

const newestTimeOf = (segment: Summary | number): number =>
  typeof segment === 'number' ? segment : segment.maxTs;

const directions: { readonly [O in EventOrder]: Direction } = {
  newest: {
    order: (a, b) => compare(b, a),
    segments: (db, tenantId, filter, from, last) =>
      walk(db, tenantId, filter, Math.min(filter.until ?? Number.MAX_VALUE, from?.ts ?? Number.MAX_VALUE), {
        hasMarks: !needsBodies(filter),
        since: () => last()?.ts ?? filter.since ?? -Number.MAX_VALUE,
      }),
    frontier: (segment) =>
      typeof segment === 'number'
        ? { ts: segment, batch: maxBatch, place: 0 }
        : { ts: segment.maxTs, batch: segment.batch + 1, place: 0 },
    exactFrontier: null,
    isAfter: ({ maxTs }, last) => maxTs < last.ts,
    timesUpTo: ({ ts }) => ({ since: ts }),
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
        { hasMarks: !needsBodies(filter) },
      ),
    // A segment may begin up to its span before its newest event.
    frontier: (segment) => ({ ts: newestTimeOf(segment) - segmentSpanMs, batch: 0, place: 0 }),
    *exactFrontier(...request) {
      return { ts: yield* oldestFrom(...request), batch: 0, place: 0 };
    },
    isAfter: ({ minTs }, last) => minTs > last.ts,
    timesUpTo: ({ ts }) => ({ until: ts }),
  },
};

const newestSegmentOf = (db: Database): number =>
  Number(db.get('SELECT ifnull(max(id), 0) FROM segments')?.[0]);

class EventPages {
  readonly #db: Database;
  readonly #now: () => number;
  readonly #paused = new PausedSearches();
  readonly #bodies: BodyCache;

  constructor(db: Database, now: () => number) {
    this.#db = db;
    this.#now = now;
    this.#bodies = new BodyCache(db);
  }

  /**
   * The paused search of a cursor. Null if there is none, and for one that would leave out segments which arrived
   * later: an oldest-first search does not return to the times that it has passed or loaded.
   */
  #resumable(
    tenantId: string,
    name: string,
    start: Key | null,
    by: EventOrder,
    now: number,
  ): PausedSearch | null {
    const search = this.#paused.take(name, now);
    if (search === null || by === 'newest') return search;
    // At the end of a window, the next one is not loaded yet.
    const loadedTo = typeof search.next === 'number' ? search.next : Number.MAX_VALUE;
    const arrived = this.#db.get(
      'SELECT 1 FROM segments NOT INDEXED WHERE id > ? AND tenant = ? AND max_ts >= ? AND max_ts <= ? LIMIT 1',
      [search.newestSegment, tenantNumber(this.#db, tenantId), start?.ts ?? -Number.MAX_VALUE, loadedTo],
    );
    return arrived === undefined ? search : null;
  }

  *pageOf(
    tenantId: string,
    wholeFilter: EventFilter,
    limit: number,
    cursor: string | null,
    by: EventOrder,
    budgetMs: number,
    parts: PageParts,
  ): Steps<PageUpTo> {
    const now = this.#now;
    const { order, segments, frontier, exactFrontier, isAfter, timesUpTo } = directions[by];
    const filter = compileFilter(wholeFilter);
    const nameOf = (at: string): string => JSON.stringify([tenantId, wholeFilter, by, parts, at]);
    const began = now();
    const start = cursor === null ? null : readCursor(cursor);
    const before = cursor === null ? null : this.#resumable(tenantId, nameOf(cursor), start, by, began);
    const newestSegment = before?.newestSegment ?? newestSegmentOf(this.#db);
    const candidates = before?.candidates ?? new Candidates(this.#db, filter, this.#bodies, parts);
    const from = before ? before.from : start;
    const page = new PageInOrder(order, limit, before?.page);
    const rest = before?.rest ?? segments(this.#db, tenantId, filter, from, () => page.lastFitting);
    const step = new StepClock(now, stepMs);
    const patience = new Patience({ now, began, budgetMs }, { order, start, from });
    let hasRead = before === null;
    for (let segment = before?.next ?? after(rest); segment !== null; segment = after(rest)) {
      const reached = frontier(segment);
      if (yield* page.giveOut(reached, step)) return page.upToLast();
      const time = newestTimeOf(segment);
      const end =
        hasRead &&
        (yield* patience.endAt(
          reached,
          exactFrontier && ((isOver) => exactFrontier(this.#db, tenantId, filter, time, isOver)),
        ));
      if (end) {
        if (yield* page.giveOut(end, step)) return page.upToLast();
        const late = { ...page.upTo(end), searchedTo: end.ts };
        if (late.next !== null)
          this.#paused.keep(nameOf(late.next), {
            ...{ rest, next: segment, page, candidates, from, newestSegment, pausedAt: now() },
          });
        return late;
      }
      if (typeof segment === 'number' || step.isOver) {
        yield;
        step.restart();
      }
      hasRead = true;
      if (typeof segment === 'number') continue;
      // A later page reads the events for which this page has no place.
      const last = page.lastFitting;
      if (last && isAfter(segment, last)) continue;
      for (const candidate of candidates.of(segment, last ? timesUpTo(last) : {})) {
        if (start && order(candidate.key, start) <= 0) continue;
        page.add(candidate);
      }
      page.dropSurplus();
    }
    return yield* page.end(step);
  }
}

/** @param now milliseconds of a clock that never jumps */
export function eventPages(db: Database, now = () => performance.now()) {
  const pages = new EventPages(db, now);
  function* pageOf(...request: Parameters<typeof pages.pageOf>): Steps<StoredPage> {
    const { writer, ...ending } = yield* pages.pageOf(...request);
    return writer.end(markOf(db), ending);
  }
  return {
    search: (
      tenantId: string,
      filter: EventFilter,
      limit: number,
      cursor: string | null,
      by: EventOrder = 'newest',
      budgetMs = patienceMs,
    ) => pageOf(tenantId, filter, limit, cursor, by, budgetMs, 'stored'),
    listCountable: (
      tenantId: string,
      filter: EventFilter,
      limit: number,
      cursor: string | null,
      budgetMs: number,
    ) => pageOf(tenantId, filter, limit, cursor, 'newest', budgetMs, 'countable'),
  };
}
