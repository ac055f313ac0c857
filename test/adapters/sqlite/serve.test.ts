// Group commit on a database that has no room: SQLite's own limit on pages stands for the disk.
import { randomBytes } from 'node:crypto';
import { expect, it, vi } from 'vitest';
import type { Database } from '../../../adapters/sqlite/database.ts';
import { CallIndex } from '../../../adapters/sqlite/events/calls.ts';
import { encodeBatch } from '../../../adapters/sqlite/events/encode.ts';
import { openFile } from '../../../adapters/sqlite/open.ts';
import { storesOf } from '../../../adapters/sqlite/stores.ts';
import { serveReads, serveWrites } from '../../../adapters/sqlite/threads/serve.ts';
import type { Call, ThreadReply } from '../../../adapters/sqlite/threads/wire.ts';
import { UsageWriter } from '../../../adapters/sqlite/usage/write.ts';
import { aBatch } from '../../conformance/events.ts';
import { anEvent, t0, uuid, writerOf } from '../../conformance/fixtures.ts';

/** The writer of a database in memory with room for so many pages more. */
function writerWith(pages: number, now = () => 0, pagesToCopy = () => 0) {
  const db = openFile(':memory:', { cacheBytes: 8 << 20, checkpointPages: 1000 });
  const calls = new CallIndex(db, { calls: 40, bytes: 1 << 20 });
  calls.load();
  const usage = new UsageWriter(db);
  const limit = (more: number) => {
    const [used] = db.get('PRAGMA page_count') ?? [];
    db.get(`PRAGMA max_page_count = ${Number(used) + more}`);
  };
  limit(pages);
  const tasks: (() => void)[] = [];
  const replies: ThreadReply[] = [];
  const writer = serveWrites(
    {
      db,
      stores: storesOf(db, { calls, usage }, () => true),
      answer: (given) => void replies.push(...given),
      later: (task) => tasks.push(task),
      pagesToCopy,
    },
    () => calls.maintain(),
    () => usage.flush(),
    now,
  );
  /** Sends the calls as one group; answers of each `true` or its error's code. */
  const group = (...sent: Omit<Call, never>[]) => {
    replies.length = 0;
    writer.accept(sent as Call[]);
    for (let task = tasks.shift(); task; task = tasks.shift()) task();
    return new Map(replies.map((reply) => [reply[0], reply[1] || reply[2].code]));
  };
  return { db, group, limit, writer, tasks, replies };
}

const tenantId = uuid();
const value = (id: number, bytes = 10): Call => [
  id,
  'values',
  'set',
  [writerOf(tenantId), `key-${id}`, 'x'.repeat(bytes), t0],
];
const decision = (id: number): Call => [id, 'keyCheck', 'first', [`name-${id}`, 'x']];
/** Of texts that packing makes no smaller. */
const eventsOf = (count: number, bytes: number) =>
  Array.from({ length: count }, (_, i) =>
    anEvent({ timestamp: t0 + i, payload: { text: randomBytes(bytes).toString('base64').slice(0, bytes) } }),
  );
const ingest = (id: number, events: ReturnType<typeof eventsOf>): Call => [
  id,
  'events',
  'ingest',
  [encodeBatch(aBatch(tenantId, events))],
];
const keys = (db: Database) => db.all('SELECT key FROM session_values ORDER BY key').map(([key]) => key);

it('refuses what has no room, and stores what was sent with it', () => {
  const { db, group } = writerWith(10);
  const answers = group(value(1), value(2, 200_000), ingest(3, eventsOf(2, 50)), value(4, 200_000), value(5));
  expect(Object.fromEntries(answers)).toEqual({ 1: true, 2: 'disk_full', 3: true, 4: 'disk_full', 5: true });
  expect(keys(db)).toEqual(['key-1', 'key-5']);
});

it('lets neither a decision nor the event of another tenant wait for all that one tenant sends', () => {
  const { group } = writerWith(100_000);
  const of = (id: number, tenant: string, bytes: number): Call => [
    id,
    'events',
    'ingest',
    [encodeBatch(aBatch(tenant, eventsOf(4, bytes)))],
  ];
  const flood = Array.from({ length: 12 }, (_, i) => of(i, tenantId, 250_000));
  const answered = [...group(...flood, of(20, uuid(), 10), decision(21)).keys()];
  expect(answered).toHaveLength(14);
  expect(answered.slice(0, 3)).toEqual([21, 0, 20]);
  expect(answered.slice(3)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
});

it('commits a decision before the events that came first, and after one commit of them at most', () => {
  let clock = 0;
  // Each look at the clock is 15 ms after the one before: as slow as events of many agents are.
  const { writer, tasks, replies } = writerWith(100_000, () => (clock += 15));
  const flood = (from: number) => Array.from({ length: 40 }, (_, i) => ingest(from + i, eventsOf(1, 10)));
  const commit = () => {
    replies.length = 0;
    tasks.shift()?.();
    return replies.map(([id]) => id);
  };
  writer.accept([...flood(0), value(500), decision(600), decision(601)]);
  expect(commit()).toEqual([600, 601]);
  expect(commit()).toEqual([0, 500, 1]);
  writer.accept([...flood(100), decision(602)]);
  expect(commit()).toEqual([602]);
  // Decisions without end do not keep events waiting.
  writer.accept(Array.from({ length: 200 }, (_, i) => decision(1000 + i)));
  expect(commit()).toEqual([2, 3, 4]);
  expect(commit()).toEqual([1000, 1001, 1002]);
  expect(commit()).toEqual([5, 6, 7]);
});

it('goes on with events while other writes never end', () => {
  const { group } = writerWith(100_000);
  const answered = [
    ...group(...Array.from({ length: 100 }, (_, i) => decision(i)), ingest(200, eventsOf(1, 10))).keys(),
  ];
  expect(answered.indexOf(200)).toBeLessThan(65);
  expect(answered.filter((id) => id < 200)).toEqual(Array.from({ length: 100 }, (_, i) => i));
});

it('knows afterwards which events are stored, and which are not', () => {
  const { db, group, limit } = writerWith(30);
  const [large, small, later] = [eventsOf(30, 20_000), eventsOf(3, 50), eventsOf(60, 50)];
  expect(Object.fromEntries(group(value(1), ingest(2, large), ingest(3, small), value(4)))).toEqual({
    1: true,
    2: 'disk_full',
    3: true,
    4: true,
  });
  // With room, enough calls come for the index to be merged into its table.
  limit(5000);
  const accepted = (events: ReturnType<typeof eventsOf>) => {
    const before = Number(db.get('SELECT ifnull(sum(events), 0) FROM segments')?.[0]);
    expect(group(ingest(9, events)).get(9)).toBe(true);
    return Number(db.get('SELECT ifnull(sum(events), 0) FROM segments')?.[0]) - before;
  };
  expect([accepted(small), accepted(large), accepted(later)]).toEqual([0, 30, 60]);
  expect([accepted(large), accepted(small), accepted(later)]).toEqual([0, 0, 0]);
});

it('goes on for hours without room and then stores again', () => {
  const { group, limit } = writerWith(4);
  for (let round = 0; round < 50; round++) {
    const answers = group(value(1), ingest(2, eventsOf(10, 10_000)), value(3, 50_000), value(4));
    expect(Object.fromEntries(answers)).toEqual({ 1: true, 2: 'disk_full', 3: 'disk_full', 4: true });
  }
  limit(5000);
  expect([...group(ingest(1, eventsOf(10, 10_000)), value(2, 50_000)).values()]).toEqual([true, true]);
});

it('copies the log between two commits only while few pages are left in it', () => {
  const left = [513, 512];
  const { writer, tasks, replies, db } = writerWith(1000, undefined, () => left.shift() ?? 0);
  const checkpoints = vi.spyOn(db, 'get');
  const copyFew = (id: number): unknown => {
    writer.accept([[id, 'store', 'copyFew', []]]);
    for (let task = tasks.shift(); task; task = tasks.shift()) task();
    return replies.find((reply) => reply[0] === id)?.[2];
  };
  const count = (): number => checkpoints.mock.calls.filter(([sql]) => sql.includes('wal_checkpoint')).length;
  expect([copyFew(1), count(), copyFew(2), count()]).toEqual([false, 0, true, 1]);
});

it('gives a short read its turns before a long one that came first', () => {
  let now = 0;
  function* steps(count: number, ms: number) {
    for (let n = 0; n < count; n++) {
      now += ms;
      yield;
    }
    return count;
  }
  const tasks: (() => void)[] = [];
  const order: number[] = [];
  const reads = serveReads(
    {
      db: openFile(':memory:', { cacheBytes: 8 << 20, checkpointPages: 1000 }),
      stores: { events: { facets: steps, search: steps } } as never,
      answer: (given) => void order.push(...given.map(([id]) => id)),
      later: (task) => tasks.push(task),
      pagesToCopy: () => 0,
    },
    () => now,
  );
  reads.accept([
    [1, 'events', 'facets', [100, 30]],
    [2, 'events', 'facets', [100, 30]],
    [3, 'events', 'search', [10, 1]],
  ]);
  const answered = () => {
    while (order.length === 0) tasks.shift()?.();
    return now;
  };
  // In turns with both, each step of its own would have waited for 60 ms.
  expect(answered()).toBeLessThan(250);
  expect(order).toEqual([3]);
  while (tasks.length > 0) tasks.shift()?.();
  expect(order).toEqual([3, 1, 2]);
});
