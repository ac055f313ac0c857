// A search that takes its time gives what it has found so far, and gets further with every page.
import { expect, it } from 'vitest';
import { Database } from '../../../adapters/sqlite/database.ts';
import { CallIndex } from '../../../adapters/sqlite/events/calls.ts';
import { encodeBatch } from '../../../adapters/sqlite/events/encode.ts';
import { eventWriter } from '../../../adapters/sqlite/events/ingest.ts';
import { eventPages } from '../../../adapters/sqlite/events/search.ts';
import { readPage } from '../../../adapters/sqlite/events/stored-page.ts';
import { migrate } from '../../../adapters/sqlite/schema/index.ts';
import { finish } from '../../../adapters/sqlite/sync.ts';
import { UsageWriter } from '../../../adapters/sqlite/usage/write.ts';
import type { EventPage } from '../../../src/event/port.ts';
import type { EventFilter } from '../../../src/event/rules/filter.ts';
import { aBatch } from '../../conformance/events.ts';
import { anEvent, t0, uuid } from '../../conformance/fixtures.ts';
import { openEvents } from './event-store.ts';

it.each([
  // Found in the bodies alone, and excluded by the summaries alone.
  { name: 'a text', filter: { env: null, search: 'rare' }, found: ['rare-0', 'rare-40', 'rare-80'] },
  { name: 'a tool', filter: { env: null, toolName: 'nothing' }, found: [] },
])('$name among many segments', ({ filter, found }: { filter: EventFilter; found: string[] }) => {
  const db = new Database(':memory:');
  migrate(db);
  const calls = new CallIndex(db);
  calls.load();
  const writer = eventWriter(db, calls, new UsageWriter(db));
  const tenantId = uuid();
  for (let i = 0; i < 100; i++) {
    const callId = i % 40 === 0 ? `rare-${i}` : uuid();
    const batch = aBatch(tenantId, [anEvent({ callId, timestamp: t0 - i * 7_200_000 })]);
    db.atomically(() => writer.ingest(encodeBatch(batch)));
  }
  let now = 0;
  // Every look at the clock costs half a second.
  const { search } = eventPages(db, () => (now += 500));
  const seen: string[] = [];
  let pages = 0;
  let cursor: string | null = null;
  do {
    const page: EventPage = readPage(finish(search(tenantId, filter, 100, cursor)));
    seen.push(...page.events.map((event) => event.callId));
    cursor = page.next;
    pages++;
    // At least one segment a page.
    expect(pages).toBeLessThanOrEqual(101);
  } while (cursor !== null);
  expect(seen).toEqual(found);
  expect(pages).toBeGreaterThan(1);
  db.close();
});

/** A store with batches of 20 events over 4 s each, that overlap by nearly all of it. */
function overlappingStore(batches: number) {
  const db = new Database(':memory:');
  migrate(db);
  const calls = new CallIndex(db);
  calls.load();
  const writer = eventWriter(db, calls, new UsageWriter(db));
  const tenantId = uuid();
  for (let i = 0; i < batches; i++) {
    const events = Array.from({ length: 20 }, (_, n) =>
      anEvent({
        callId: `call-${i}-${n}`,
        agentId: `agent-${i}`,
        timestamp: t0 + i * 3 + n * 200,
        verdict: n % 7 === 0 ? 'call_denied' : 'call_allowed',
        payload: { tool_args: { path: `${n}.txt` } },
      }),
    );
    db.atomically(() => writer.ingest(encodeBatch(aBatch(tenantId, events))));
  }
  return { db, tenantId };
}

it.each([
  { name: 'a text early in each batch', filter: { env: null, search: '2.txt' }, limit: 100 },
  { name: 'a verdict', filter: { env: null, verdict: 'call_denied' }, limit: 100 },
  { name: 'every event', filter: { env: null }, limit: 1000 },
  { name: 'more pages than one', filter: { env: null, search: '0.txt' }, limit: 30 },
] as const)(
  '$name among overlapping segments, in small slices, costs and gives the same',
  ({ filter, limit }) => {
    const { db, tenantId } = overlappingStore(150);
    let reads = 0;
    const get = db.get.bind(db);
    db.get = (sql, ...rest) => {
      if (sql.includes('segment_bodies') || sql.includes('marks')) reads++;
      return get(sql, ...rest);
    };
    const idsOf = (search: ReturnType<typeof eventPages>['search'], budgetMs: number) => {
      const ids: string[] = [];
      reads = 0;
      let cursor: string | null = null;
      do {
        const page: EventPage = readPage(finish(search(tenantId, filter, limit, cursor, 'newest', budgetMs)));
        ids.push(...page.events.map(({ callId }) => callId));
        cursor = page.next;
      } while (cursor !== null);
      return { ids, reads };
    };
    const whole = idsOf(eventPages(db, () => 0).search, 1);
    let now = 0;
    const sliced = idsOf(eventPages(db, () => (now += 1)).search, 50);
    expect(sliced.ids).toEqual(whole.ids);
    expect(new Set(whole.ids).size).toBe(whole.ids.length);
    expect(whole.ids.length).toBeGreaterThan(100);
    expect(sliced.reads).toBeLessThanOrEqual(whole.reads * 2);
    db.close();
  },
);

/** A clock that only reads of bodies move, by 10 ms each. */
function bodyClock(db: Database) {
  let now = 0;
  const get = db.get.bind(db);
  db.get = (sql, ...rest) => {
    if (sql.includes('segment_bodies')) now += 10;
    return get(sql, ...rest);
  };
  return { now: () => now };
}

/** A store with a batch every 4.5 s, of events 2 s apart. Those of one batch are half an hour apart. */
function halfHourStore(batches: number) {
  const { db, tenantId, ingest } = openEvents();
  for (let i = 0; i < batches; i++) {
    const times = i === batches / 2 ? [0, 900_000, 1_800_000] : [i * 4_500, i * 4_500 + 2_000];
    ingest(
      times.map((ms, n) =>
        anEvent({ callId: `${i % 3 === 0 ? 'rare' : 'call'}-${i}-${n}`, timestamp: hour + ms }),
      ),
    );
  }
  return { db, tenantId };
}
const hour = Math.floor(t0 / 3_600_000) * 3_600_000;

it.each([
  { name: 'goes on with the search before it', isKept: true },
  { name: 'starts again at the cursor', isKept: false },
])('oldest first, a page that $name gets as far as its time allows', ({ isKept }) => {
  const { db, tenantId } = halfHourStore(300);
  const filter = { env: null, search: 'rare' } as const;
  const body = bodyClock(db);
  const idsOf = (budgetMs: number) => {
    const ids: string[] = [];
    const began = body.now();
    let pages = 0;
    let cursor: string | null = null;
    let { search } = eventPages(db, body.now);
    do {
      const page: EventPage = readPage(finish(search(tenantId, filter, 1000, cursor, 'oldest', budgetMs)));
      ids.push(...page.events.map(({ callId }) => callId));
      cursor = page.next;
      pages++;
      if (!isKept) ({ search } = eventPages(db, body.now));
    } while (cursor !== null && pages < 100);
    return { ids, reads: body.now() - began, pages };
  };
  const whole = idsOf(1e9);
  expect(whole.ids).toHaveLength(201);
  const sliced = idsOf(500);
  expect(sliced.ids).toEqual(whole.ids);
  expect(sliced.pages).toBeLessThan(isKept ? 10 : 20);
  expect(sliced.reads).toBeLessThan(whole.reads * (isKept ? 1.1 : 2));
  db.close();
});

/** An oldest-first search over 100 segments, whose first page has ended early. */
function cutSearch() {
  const { db, tenantId, ingest } = openEvents();
  for (let i = 0; i < 100; i++) ingest([anEvent({ callId: `call-${i}`, timestamp: hour + i * 10_000 })]);
  const body = bodyClock(db);
  const { search } = eventPages(db, body.now);
  const page = (cursor: string | null): EventPage =>
    readPage(finish(search(tenantId, { env: null, search: 'call' }, 1000, cursor, 'oldest', 300)));
  const first = page(null);
  const end = first.searchedTo ?? 0;
  return {
    ...{ db, ingest, first, end },
    /** Call ids of the pages behind the first one. */
    readRest(): readonly string[] {
      const later: string[] = [];
      for (let cursor = first.next; cursor !== null; ) {
        const { events, next } = page(cursor);
        later.push(...events.map(({ callId }) => callId));
        cursor = next;
      }
      return later;
    },
  };
}

it('oldest first, a search that goes on returns what arrived behind its cursor during the pause', () => {
  const { db, ingest, first, end, readRest } = cutSearch();
  ingest([anEvent({ callId: 'call-between', timestamp: end + 1 })]);
  const later = readRest();
  expect(later).toContain('call-between');
  expect(later).toHaveLength(101 - first.events.length);
  db.close();
});

it('oldest first, a later page has nothing from before the time that an earlier one reached', () => {
  const { db, ingest, first, end, readRest } = cutSearch();
  expect(end).toBeGreaterThan(hour);
  expect(first.events.map(({ callId }) => callId)).toEqual(
    Array.from({ length: (end - hour) / 10_000 }, (_, i) => `call-${i}`),
  );
  // Received between the pages, in one segment.
  ingest([
    anEvent({ callId: 'call-before', timestamp: end - 1 }),
    anEvent({ callId: 'call-behind', timestamp: hour + 2_000_000 }),
  ]);
  const later = readRest();
  expect(later).toHaveLength(101 - first.events.length);
  expect(later.at(-1)).toBe('call-behind');
  db.close();
});
