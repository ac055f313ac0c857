// Pages of events while events are removed: in the middle of a search, and between its pages.
import { expect, it } from 'vitest';
import { BodyCache } from '../../../adapters/sqlite/events/body-cache.ts';
import { Candidates } from '../../../adapters/sqlite/events/candidates.ts';
import { compileFilter } from '../../../adapters/sqlite/events/fitting.ts';
import { eventPages } from '../../../adapters/sqlite/events/search.ts';
import { buffersOf, readPage } from '../../../adapters/sqlite/events/stored-page.ts';
import { walk } from '../../../adapters/sqlite/events/walk.ts';
import { finish } from '../../../adapters/sqlite/sync.ts';
import { anEvent, t0 } from '../../conformance/fixtures.ts';
import { openEvents } from './event-store.ts';

it('fit by the tallies that a removal has left, where a call has outcomes', () => {
  const { db, tenantId, ingest, purge } = openEvents();
  const call = (callId: string, toolName: string, ms: number, verdict = 'call_allowed') =>
    anEvent({ callId, toolName, verdict, timestamp: t0 + ms });
  ingest([call('1', 'read', 0), call('2', 'wire', 1), call('3', 'delete', 2), call('4', 'wire', 3)]);
  ingest([call('4', 'wire', 4, 'call_executed')]);
  let now = 0;
  const { search } = eventPages(db, () => {
    now += 10;
    return now;
  });
  const steps = search(tenantId, { env: null, toolName: 'wire' }, 10, null, 'newest', 1e9);
  // The summaries are read, the segment is not.
  steps.next();
  expect(purge(1)).toBe(1);
  const { events } = readPage(finish(steps));
  expect(events.map(({ toolName, callId }) => [toolName, callId])).toEqual([
    ['wire', '4'],
    ['wire', '2'],
  ]);
});

it('that go on after a pause show nothing that was removed in it', () => {
  let paused = 0;
  for (let budgetMs = 5; budgetMs < 80; budgetMs += 3) {
    const { db, tenantId, ingest, purge } = openEvents();
    const event = (callId: string, agentId: string, ms: number) =>
      anEvent({ callId, agentId, timestamp: t0 + ms });
    ingest([event('gone', 'a', 0), event('first', 'a', 10)]);
    ingest([event('other', 'b', 5)]);
    let now = 0;
    const { search } = eventPages(db, () => {
      now += 3;
      return now;
    });
    const page = (cursor: string | null) =>
      readPage(finish(search(tenantId, { env: null }, 10, cursor, 'newest', budgetMs)));
    const first = page(null);
    if (first.next === null) continue;
    paused++;
    expect(purge(1)).toBe(1);
    const later: string[] = [];
    for (let cursor: string | null = first.next; cursor !== null; ) {
      const { events, next } = page(cursor);
      later.push(...events.map(({ callId }) => callId ?? ''));
      cursor = next;
    }
    expect([budgetMs, later]).not.toEqual([budgetMs, expect.arrayContaining(['gone'])]);
    db.close();
  }
  expect(paused).toBeGreaterThan(3);
});

it('contain no event twice whose segment lost its newest event in the middle of the search', () => {
  for (let stepsBefore = 0; stepsBefore < 40; stepsBefore++) {
    const { db, tenantId, ingest, purge } = openEvents();
    const event = (callId: string, agentId: string, ms: number) =>
      anEvent({ callId, agentId, timestamp: t0 + ms });
    ingest([event('gone', 'a', 1_000), event('stays', 'a', 0), event('too', 'a', 500)]);
    for (let i = 1; i <= 20; i++) ingest([event(`other-${i}`, `b${i}`, i * 40)]);
    let now = 0;
    const { search } = eventPages(db, () => {
      now += 10;
      return now;
    });
    const steps = search(tenantId, { env: null }, 100, null, 'newest', 1e9);
    for (let i = 0; i < stepsBefore; i++) steps.next();
    purge(1);
    const ids = readPage(finish(steps)).events.map(({ callId }) => callId);
    expect([stepsBefore, ids.length]).toEqual([stepsBefore, new Set(ids).size]);
    expect(ids).toEqual(expect.arrayContaining(['stays', 'too', 'other-1', 'other-20']));
    db.close();
  }
});

it('hold the bytes of their own events, and no body', () => {
  const { db, tenantId, ingest } = openEvents();
  ingest(
    Array.from({ length: 50 }, (_, i) =>
      anEvent({ callId: `c${i}`, timestamp: t0 + i, verdict: i === 20 ? 'call_denied' : 'call_allowed' }),
    ),
  );
  const filter = { env: null, verdict: 'call_denied' } as const;
  for (const one of [filter, { ...filter, search: 'read' }]) {
    const page = finish(eventPages(db).search(tenantId, one, 10, null));
    expect(JSON.parse(Buffer.from(page.json).toString())).toMatchObject([{ call_id: 'c20' }]);
    expect(buffersOf([{}, null, page])).toEqual([page.json.buffer]);
    // The whole buffer: its page may go to another thread without a copy.
    expect(page.json.byteOffset).toBe(0);
  }
  // Events wait without their bodies: those of marks read them last, and those of bodies have copies.
  const candidates = new Candidates(
    db,
    compileFilter({ ...filter, search: 'read' }),
    new BodyCache(db),
    'stored',
  );
  const segments = [
    ...walk(db, tenantId, filter, Number.MAX_VALUE, { hasMarks: true, since: () => -Number.MAX_VALUE }),
  ];
  const events = segments.flatMap((segment) =>
    typeof segment === 'number' ? [] : [...candidates.of(segment)].map(({ read }) => read()),
  );
  expect(events).toHaveLength(1);
  for (const event of events) expect(event?.json.buffer.byteLength).toBe(event?.json.byteLength);
  db.close();
});

it('copy each event once into a buffer that grows, in the order of the page', () => {
  const { db, tenantId, ingest } = openEvents();
  const events = Array.from({ length: 120 }, (_, i) =>
    anEvent({ callId: `c${i}`, timestamp: t0 + i, payload: { text: `${i} `.repeat(700) } }),
  );
  for (let i = 0; i < 120; i += 40) ingest(events.slice(i, i + 40));
  for (const limit of [1, 11, 12, 119, 120]) {
    const page = finish(eventPages(db).search(tenantId, { env: null }, limit, null));
    const newest = events.slice(-limit).reverse();
    expect(readPage(page).events).toMatchObject(newest.map(({ callId, payload }) => ({ callId, payload })));
  }
  expect(readPage(finish(eventPages(db).search('nobody', { env: null }, 9, null))).events).toEqual([]);
  db.close();
});
