// The order of exports in MongoDB while nodes contend, pause and die: nothing acknowledged is missing, nothing twice.
import { randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { EventRow } from '../../adapters/mongo/event-filter.ts';
import { toEventRow } from '../../adapters/mongo/event-filter.ts';
import { type ExportLinkRow, ExportLog, entriesOf } from '../../adapters/mongo/export-log.ts';
import { createIndexes } from '../../adapters/mongo/indexes.ts';
import { risingIds } from '../../adapters/mongo/uuidv7.ts';
import type { EventInput } from '../../src/event/record.ts';
import type { ExportLine } from '../../src/export/record.ts';
import type { DocumentStore } from '../../src/shared/ports/store.ts';
import { ManualClock } from '../clock.ts';
import { aBatch } from '../conformance/events.ts';
import { readLines, waitForLines } from '../conformance/exports.ts';
import { anApproval, anEvent, t0, uuid } from '../conformance/fixtures.ts';
import { mongoDatabases } from './stage.ts';

const databases = mongoDatabases();
const name = databases.newName();
const client = new MongoClient(inject('mongoUrl'));
const db = client.db(name);
const events = db.collection<EventRow>('events');
const links = db.collection<ExportLinkRow>('exportLinks');
const batches = db.collection('eventBatches');
beforeAll(() => createIndexes(db));
afterAll(() => client.close());

const nextId = risingIds();

/** A node of its own, by a clock of its own. */
function aNode() {
  const clock = new ManualClock();
  const parts = { links, events, batches: batches as never, approvals: db.collection('approvals') as never };
  return { clock, log: new ExportLog(parts, clock) };
}

/** A batch as a writer of it prepares it. */
function aWrite(tenantId: string, count: number) {
  const token = uuid();
  const rows = Array.from({ length: count }, () =>
    toEventRow(anEvent(), aBatch(tenantId, []), nextId(t0), token),
  );
  return { token, rows, ids: rows.map(({ _id }) => _id) };
}

/** Entries of the log, in its order. */
async function entries(tenantId: string): Promise<readonly string[]> {
  const rows = await links.find({ tenantId, kind: 'events' }).sort({ seq: 1 }).toArray();
  expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, i) => i + 1));
  return rows.flatMap(({ items }) => items.flatMap((item) => entriesOf(item)));
}

/** Lets the sweep see what is there, and see it again after the time of a dead writer. */
async function sweep({ clock, log }: ReturnType<typeof aNode>, tenantId: string): Promise<void> {
  for (let i = 0; i < 4; i++) {
    clock.skip(5_000);
    await log.sweep();
  }
  expect(await batches.countDocuments({ tenantId } as never)).toBe(0);
}

it('a sweep appends what a dead writer stored, whole, and only after its time', async () => {
  const tenantId = uuid();
  const [dead, other] = [aNode(), aNode()];
  const { token, rows, ids } = aWrite(tenantId, 3);
  await dead.log.register(tenantId, token, rows);
  await events.insertMany(rows);
  other.clock.skip(5_000);
  await other.log.sweep();
  expect(await entries(tenantId)).toEqual([]);
  await sweep(other, tenantId);
  expect(await entries(tenantId)).toEqual(ids);
  await Promise.all([dead, other].map(({ log }) => log.close()));
});

it('a repeat that is answered brings what it repeats, and its writer and the sweep add nothing twice', async () => {
  const tenantId = uuid();
  const [writer, other] = [aNode(), aNode()];
  const { token, rows, ids } = aWrite(tenantId, 4);
  const first = ids[0] ?? '';
  await writer.log.register(tenantId, token, rows);
  // The insert is under way: the other node meets one of its events.
  await events.insertMany(rows.slice(0, 2));
  await other.log.settle(tenantId, new Map([[token, [first]]]));
  expect(await entries(tenantId)).toEqual(ids.slice(0, 2));
  await events.insertMany(rows.slice(2));
  // A writer that was paused appends before it acknowledges.
  writer.clock.skip(10_000);
  await writer.log.written(tenantId, token, ids, 0);
  expect([...(await entries(tenantId))].sort()).toEqual([...ids].sort());
  await sweep(other, tenantId);
  await other.log.settle(tenantId, new Map([[token, ids]]));
  expect(await entries(tenantId)).toHaveLength(4);
  await Promise.all([writer, other].map(({ log }) => log.close()));
});

it('a repeat of a batch that was never registered is in the log, also when the registration comes late', async () => {
  const tenantId = uuid();
  const [dead, other] = [aNode(), aNode()];
  const { token, rows, ids } = aWrite(tenantId, 3);
  await events.insertMany(rows);
  await other.log.settle(tenantId, new Map([[token, ids.slice(1, 2)]]));
  expect(await entries(tenantId)).toEqual(ids.slice(1, 2));
  await dead.log.register(tenantId, token, rows);
  await sweep(other, tenantId);
  expect([...(await entries(tenantId))].sort()).toEqual([...ids].sort());
  await Promise.all([dead, other].map(({ log }) => log.close()));
});

it('links without lines go after retention and purges, of events and of approvals, but for the newest', async () => {
  const database = databases.newName();
  const store = await databases.open(database);
  const own = client.db(database).collection<ExportLinkRow>('exportLinks');
  const seqs = async (tenantId: string, kind: 'events' | 'approvals') =>
    (await own.find({ tenantId, kind }).sort({ seq: 1 }).toArray()).map(({ seq }) => seq);
  const [tenantId, other] = [uuid(), uuid()];
  // More links than one look reads.
  const count = 25;
  for (let i = 0; i < count; i++) {
    await Promise.all(
      [tenantId, other].map((id) => store.events.ingest(aBatch(id, [anEvent()], { receivedAt: t0 + i }))),
    );
    for (const id of [tenantId, other])
      await expect.poll(() => seqs(id, 'events'), { interval: 2 }).toHaveLength(i + 1);
  }
  for (let i = 0; i < 3; i++) {
    const id = uuid();
    const request = anApproval({ id, tenantId, sessionId: null, createdAt: t0 + i, deadline: t0 + 50 });
    await store.approvals.request(request);
    await store.approvals.expire(tenantId, id, t0 + 60);
    await store.approvals.announced(tenantId, 'timeout', [id]);
    await waitForLines(store, tenantId, 'approvals', 2 * i + 2);
  }
  const newest = (await seqs(tenantId, 'approvals')).at(-1);
  await store.retention.remove(tenantId, 'events', t0 + count - 2, null, 100);
  expect(await seqs(tenantId, 'events')).toEqual([count - 1, count]);
  await store.retention.remove(tenantId, 'approvals', t0 + count, null, 100);
  expect(await seqs(tenantId, 'approvals')).toEqual([newest]);
  while ((await store.events.removeBefore(other, t0 + count, 100)) > 0);
  expect(await seqs(other, 'events')).toEqual([count]);
  await store.close();
});

const wordOf = (line: ExportLine): string => {
  if (line.type === 'event') return line.event.callId;
  if (line.type === 'outcome') return `${line.event.callId}: ${line.outcome.verdict}`;
  return line.type === 'audit_entry' ? '' : `${line.approval.id}: ${line.type}`;
};

it('three nodes that write, repeat and decide at once make one order that every reader sees', async () => {
  const database = databases.newName();
  const stores = await Promise.all([0, 1, 2].map(() => databases.open(database)));
  const at = (i: number) => stores[i % 3] as DocumentStore;
  const tenantId = randomUUID();
  const seen: string[] = [];
  let place: string | null = null;
  const readOn = async (store: DocumentStore): Promise<void> => {
    const { lines, end } = await readLines(store, tenantId, 'events', { after: place, limit: 5 });
    seen.push(...lines.map(wordOf));
    place = lines.at(-1)?.place ?? end;
  };
  const repeat = (event: EventInput): EventInput => ({ ...event, verdict: 'call_executed', payload: null });
  let isDone = false;
  const following = (async () => {
    for (let i = 0; !isDone; i++) await readOn(at(i));
  })();
  const write = async (sender: number): Promise<void> => {
    for (let n = 0; n < 2; n++) {
      const list = Array.from({ length: 5 }, (_, i) => anEvent({ callId: `${sender}-${n}-${i}` }));
      // The same batch through two nodes at once, then what became of its calls through the third.
      await Promise.all([0, 1].map((i) => at(sender + i).events.ingest(aBatch(tenantId, list))));
      await at(sender + 2).events.ingest(aBatch(tenantId, list.map(repeat)));
      const id = uuid();
      await at(n).approvals.request(anApproval({ id, tenantId, sessionId: null }));
      const decision = { id: uuid(), approved: true, decidedBy: 'ada', reason: null, decidedVia: 'console' };
      await at(n + 1).approvals.decide(tenantId, id, decision, t0 + 1);
    }
  };
  await Promise.all([0, 1, 2].map(write));
  const count = 3 * 2 * 5 * 2;
  const whole = (await waitForLines(at(0), tenantId, 'events', count)).map(wordOf);
  isDone = true;
  await following;
  await readOn(at(1));
  expect(new Set(seen).size).toBe(count);
  expect(seen).toEqual(whole);
  for (const word of whole.filter((one) => one.includes(':')))
    expect(whole.indexOf(word.split(':')[0] ?? '')).toBeLessThan(whole.indexOf(word));
  const changes = (await waitForLines(at(2), tenantId, 'approvals', 12)).map(wordOf);
  expect(new Set(changes).size).toBe(12);
  for (const word of changes.filter((one) => one.endsWith('decided')))
    expect(changes.indexOf(word.replace('decided', 'requested'))).toBeLessThan(changes.indexOf(word));
  await Promise.all(stores.map((store) => store.close()));
});
