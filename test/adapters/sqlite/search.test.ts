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
