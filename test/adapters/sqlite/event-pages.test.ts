// Pages of events read few bodies, keep the newest of them for a bounded number of bytes, and never show what is gone.
import { expect, it } from 'vitest';
import { BodyCache } from '../../../adapters/sqlite/events/body-cache.ts';
import { EventSpans } from '../../../adapters/sqlite/events/event-spans.ts';
import { eventOf, eventPages } from '../../../adapters/sqlite/events/search.ts';
import { readPage } from '../../../adapters/sqlite/events/stored-page.ts';
import { finish } from '../../../adapters/sqlite/sync.ts';
import { toEventJson } from '../../../src/event/record/json.ts';
import type { EventInput } from '../../../src/event/record.ts';
import type { EventFilter } from '../../../src/event/rules/filter.ts';
import { anEvent, t0 } from '../../conformance/fixtures.ts';
import { openEvents } from './event-store.ts';

function openStore() {
  const store = openEvents();
  const { db, tenantId } = store;
  const { search } = eventPages(db, () => 0);
  const reads = { bodies: 0, bytes: 0, marks: 0, summaries: 0 };
  const { get, all } = db;
  db.get = (sql, ...rest) => {
    const row = get.call(db, sql, ...rest);
    if (sql.startsWith('SELECT body')) {
      reads.bodies++;
      reads.bytes += ((row?.[0] ?? new Uint8Array()) as Uint8Array).byteLength;
    }
    if (sql.startsWith('SELECT tallies, marks')) reads.marks++;
    return row;
  };
  db.all = (sql, ...rest) => {
    const rows = all.call(db, sql, ...rest);
    if (sql.startsWith('SELECT id, max_ts')) reads.summaries += rows.length;
    return rows;
  };
  return {
    ...store,
    /** A page of 100, and what was read for it. */
    page(filter: Omit<EventFilter, 'env'>) {
      Object.assign(reads, { bodies: 0, bytes: 0, marks: 0, summaries: 0 });
      const { events } = readPage(finish(search(tenantId, { env: null, ...filter }, 100, null)));
      return { events, reads: { ...reads } };
    },
  };
}

/** 50 events of about 1 KB over 5 s, of which one is denied. */
const batchOf = (agentId: string, at: number): EventInput[] =>
  Array.from({ length: 50 }, (_, i) =>
    anEvent({
      agentId,
      timestamp: at + i * 100,
      toolName: `tool-${i % 5}`,
      verdict: i === 17 ? 'call_denied' : 'call_allowed',
      payload: { tool_args: { query: `${'ordered by region '.repeat(45)}${i}` } },
    }),
  );

/** Batches that begin 10 ms apart: each moment of 5 s is in all of them. */
function overlappingStore(batches: number) {
  const store = openStore();
  for (let i = 0; i < batches; i++) store.ingest(batchOf(`agent-${i % 40}`, t0 + i * 10));
  return store;
}

it('an agent’s newest events are read from its own newest segments', () => {
  const { db, page } = overlappingStore(200);
  const { events, reads } = page({ agentId: 'agent-7' });
  expect(events).toHaveLength(100);
  expect(new Set(events.map(({ agentId }) => agentId))).toEqual(new Set(['agent-7']));
  // Five segments of the agent lie within the page's time.
  expect(reads).toMatchObject({ bodies: 5, marks: 0, summaries: 5 });
  db.close();
});

it.each([
  { name: 'the newest events of all', filter: {}, batches: 200, bodies: 60, summaries: 120 },
  {
    name: 'an event of each segment',
    filter: { toolName: 'tool-2', verdict: 'call_denied' },
    batches: 600,
    bodies: 100,
    // The page's last event is 4.3 s older than the newest of all.
    summaries: 430,
  },
])('$name: each body once, and none for the same page again', ({ filter, batches, bodies, summaries }) => {
  const { db, page } = overlappingStore(batches);
  const first = page(filter);
  expect(first.events).toHaveLength(100);
  expect(first.reads.marks).toBe(0);
  expect(first.reads.bodies).toBeGreaterThan(10);
  expect(first.reads.bodies).toBeLessThanOrEqual(bodies);
  expect(first.reads.summaries).toBeLessThanOrEqual(summaries);
  const second = page(filter);
  expect(second.events).toEqual(first.events);
  expect(second.reads).toMatchObject({ bodies: 0, bytes: 0, marks: 0 });
  db.close();
});

it('a page shows nothing that was removed since the page before, and what came since', () => {
  const { db, page, purge, ingest } = overlappingStore(3);
  const before = page({}).events;
  expect(before).toHaveLength(100);
  // A part of the first segment, then more of it.
  for (const removed of [20, 5]) {
    expect(purge(removed)).toBe(removed);
    page({});
  }
  ingest(batchOf('agent-9', t0 + 60_000).slice(0, 3));
  const events = page({}).events;
  expect(events.slice(0, 3).map(({ agentId }) => agentId)).toEqual(['agent-9', 'agent-9', 'agent-9']);
  expect(purge(1000)).toBe(128);
  expect(page({}).events).toEqual([]);
  db.close();
});

it('removals of any number of events are seen in every page that follows', () => {
  const { db, page, purge } = overlappingStore(2);
  let left = page({}).events.map(({ callId }) => callId);
  for (const limit of [1, 7, 41, 1, 30]) {
    purge(limit);
    const ids = page({}).events.map(({ callId }) => callId);
    expect(ids).toHaveLength(left.length - limit);
    expect(left.filter((id) => ids.includes(id))).toEqual(ids);
    left = ids;
  }
  db.close();
});

it('bodies are kept up to a number of bytes, the newest ones', () => {
  const { db } = overlappingStore(8);
  let reads = 0;
  const { get } = db;
  db.get = (sql, ...rest) => {
    if (sql.startsWith('SELECT body')) reads++;
    return get.call(db, sql, ...rest);
  };
  // A body's objects beside its JSON count as 1 KiB.
  const bytes = (new BodyCache(db).read(1)?.spans.json.buffer.byteLength ?? 0) + 1024;
  const cache = new BodyCache(db, bytes * 3);
  reads = 0;
  for (const segment of [1, 2, 3, 1, 4, 1, 3, 2]) expect(cache.read(segment)).not.toBeNull();
  // 1, 2, 3, 4 and, displaced by 4, 2 again.
  expect(reads).toBe(5);
  expect(cache.read(999)).toBeNull();
  db.close();
});

it('bodies that were read whole, or of a page of few, are not kept, so that pages of one agent leave no old objects', () => {
  const { db, ingest, page } = openStore();
  for (let i = 0; i < 4; i++) ingest(batchOf('agent-1', t0 + i * 10_000));
  // Two whole bodies, which the next page reads again.
  for (let n = 0; n < 2; n++) expect(page({}).reads.bodies).toBe(2);
  const denied = { verdict: 'call_denied' };
  for (let n = 0; n < 2; n++) expect(page(denied).reads.bodies).toBe(4);
  // Of more bodies, one event of each: all are kept, the first ones too.
  for (let i = 4; i < 10; i++) ingest(batchOf('agent-1', t0 + i * 10_000));
  expect(page(denied).reads.bodies).toBe(10);
  expect(page(denied).reads.bodies).toBe(0);
  db.close();
});

it('a page of batches of one event reads no body for the same page again', () => {
  const { db, ingest, page } = openStore();
  for (let i = 0; i < 150; i++) ingest([anEvent({ agentId: `agent-${i}`, timestamp: t0 + i })]);
  const first = page({});
  expect(first.events).toHaveLength(100);
  expect(first.reads.bodies).toBe(100);
  const second = page({});
  expect(second.events).toEqual(first.events);
  expect(second.reads.bodies).toBe(0);
  db.close();
});

it('spans tell the end of a list once it was reached, and never with a gap', () => {
  const spansOf = (list: unknown) => new EventSpans(Buffer.from(JSON.stringify(list)));
  const whole = spansOf([{ a: 1 }, { b: ']}' }]);
  expect(whole.endsAfter(2)).toBe(false);
  whole.at(1);
  expect(whole.endsAfter(1)).toBe(false);
  expect(whole.endsAfter(2)).toBe(true);
  const rest = spansOf([{}, {}, {}]);
  rest.at(1);
  expect(rest.endsAfter(2)).toBe(false);
  const gap = spansOf([{}, null]);
  gap.at(0);
  expect(gap.endsAfter(1)).toBe(false);
  expect(gap.endsAfter(1)).toBe(false);
});

it('an event of a page is the same as by its id, as it was sent and as the store writes it', () => {
  const { db, tenantId, ingest, page } = openStore();
  const events = batchOf('agent-1', t0);
  const sent = events.map((event) => ({
    ...toEventJson(event),
    timestamp: new Date(event.timestamp).toISOString(),
  }));
  const text = JSON.stringify(sent, null, 2).replace('region 3', 'r\\"}],{[\\\\');
  ingest(events, Buffer.from(text.replace('"tool_args"', '"large": 1e400, "tool_args"')));
  ingest([
    anEvent({ agentId: 'agent-2', payload: { 'a"}': [{ b: '\\' }, {}, null], 'ä€😀\ud800': -0.5 } }),
    anEvent({ agentId: 'agent-2', flat: true, payload: null }),
  ]);
  expect(db.all('SELECT form FROM segment_bodies ORDER BY segment')).toEqual([[3], [0]]);
  const pageEvents = page({}).events;
  expect(pageEvents).toHaveLength(52);
  for (const event of pageEvents) expect(event).toEqual(eventOf(db, tenantId, event.id));
  expect(pageEvents.filter(({ payload }) => payload?.large === Number.POSITIVE_INFINITY)).toHaveLength(1);
  // By the bodies instead of the marks.
  expect(page({ search: 'region 4' }).events).toEqual(
    pageEvents.filter(({ payload }) => JSON.stringify(payload).includes('region 4')),
  );
  db.close();
});

/** Texts with escaped quotes and backslashes behind as many characters, and before the end. */
const longTexts = (length: number) => {
  const start = 'x'.repeat(length);
  return [`${start}"`, `${start}\\`, `${start}\\"}`, `${start}"{${start}\\\\"`].map((text) => ({
    [text]: text,
  }));
};

it.each([
  ['nothing', []],
  ['nulls', [null, { a: 1 }, null, null, { b: null }]],
  ['brackets in texts', [{ a: '}],{"' }, { '{[': ['{', '\\"}', { c: '\\' }] }]],
  ['characters of several bytes', [{ ä: '€' }, { '😀': '"' }]],
  ['long texts with escapes at each place', Array.from({ length: 48 }, (_, n) => longTexts(n)).flat()],
])('spans of %s', (_, values) => {
  for (const blanks of [undefined, 1, '\t']) {
    const json = Buffer.from(` ${JSON.stringify(values, null, blanks)}\n`);
    // From the last on, and from the first on.
    for (const order of [values.keys(), [...values.keys()].reverse()]) {
      const spans = new EventSpans(json);
      for (const position of order) {
        const span = spans.at(position);
        expect(span && JSON.parse(Buffer.from(span).toString())).toEqual(values[position]);
      }
      expect(spans.at(values.length)).toBeNull();
    }
  }
});
