// Remains of nodes that died while writing the audit chain in MongoDB: an intent without its link. Any node records it,
// once.
import { MongoClient } from 'mongodb';
import { expect, inject, it } from 'vitest';
import { noteWrite } from '../../adapters/mongo/audit.ts';
import { openMongo } from '../../adapters/mongo/index.ts';
import { systemClock } from '../../adapters/node/clock.ts';
import { outageOf } from '../../src/admission/outages.ts';
import { entriesOf, linkText } from '../../src/audit/record.ts';
import { HubError } from '../../src/shared/error.ts';
import type { DocumentStore } from '../../src/shared/ports/store.ts';
import { aBatch } from '../conformance/events.ts';
import { aKey, aNote, sha256, t0, uuid } from '../conformance/fixtures.ts';
import { ofSession } from '../conformance/runs.ts';
import { runsOf } from '../runs.ts';
import { until } from '../services/service.ts';
import { startOwnMongo } from '../services/start.ts';
import { mongoDatabases, noLog } from './stage.ts';

const databases = mongoDatabases();

const noteIn = (tenantId: string, id: string, at: number) => ({
  _id: `${tenantId}/${id}` as never,
  at,
  note: JSON.stringify({
    id,
    tenantId,
    at,
    actor: { type: 'operator', id: 'ann', display: 'ann' },
    action: 'key.revoked',
    subject: { id: 'k', name: null },
    summary: 'An API key was revoked.',
    details: { env: null },
    agentId: null,
    sessionId: null,
  }),
});

it('records old intents as unconfirmed, those that are in the chain not again, and leaves young ones', async () => {
  const name = databases.newName();
  const store = await databases.open(name);
  const client = new MongoClient(inject('mongoUrl'));
  const intents = client.db(name).collection('auditIntents');
  try {
    await intents.insertMany([noteIn('t', 'a', 1000), noteIn('t', 'b', 2000), noteIn('t', 'young', 9000)]);
    const { note } = noteIn('t', 'a', 1000);
    await store.audit.append([JSON.parse(note)]);
    expect(await store.audit.recover(5000, 100)).toBe(2);
    expect(await store.audit.recover(5000, 100)).toBe(0);
    const links = await store.audit.listLinks('t', 1, 10, 1 << 20);
    const entries = links.flatMap(({ body }) => entriesOf(body));
    expect(entries.map(({ id }) => id)).toEqual(['a', 'b']);
    expect(entries.map(({ details }) => details)).toEqual([{ env: null }, { env: null, unconfirmed: true }]);
    expect(await intents.countDocuments()).toBe(1);
  } finally {
    await client.close();
    await store.close();
  }
});

it('records what a dead node left at once, and nothing of a living one, on however many nodes', async () => {
  const name = databases.newName();
  const url = inject('mongoUrl');
  const names = ['dies', 'lives', 'other'];
  const stores = await Promise.all(
    names.map((node) => openMongo({ url, database: name, node, log: noLog, clock: systemClock })),
  );
  const client = new MongoClient(url);
  try {
    const intents = client.db(name).collection('auditIntents');
    const young = [aNote({ tenantId: 't' }), aNote({ tenantId: 't' })] as const;
    // The answer to a write is lost, as when its node dies: nobody knows whether it was carried out.
    for (const [i, note] of young.entries()) {
      const by = { now: systemClock.now(), node: names[i] };
      const lost = () => Promise.reject(new Error('lost'));
      const audit = (stores[i] as DocumentStore).audit;
      await expect(noteWrite(audit, intents as never, { note }, by, lost)).rejects.toThrow('lost');
    }
    const isGone = (node: string) => node === 'dies';
    // A node that is silent may live: what began a moment ago may be under way.
    const underWay = { isGone, before: systemClock.now() - 60_000 };
    expect(await stores[1]?.audit.recover(0, 100, underWay)).toBe(0);
    const gone = { isGone, before: systemClock.now() + 1 };
    const recovered = stores.slice(1).map((store) => store.audit.recover(0, 100, gone));
    expect(Math.max(...(await Promise.all(recovered)))).toBe(1);
    const ids = await wholeChain(stores[1] as DocumentStore, 't');
    expect(ids).toEqual([young[0].id]);
    expect(await intents.find().toArray()).toMatchObject([{ node: 'lives' }]);
    // It was not dead after all: its own entry is there already.
    await stores[0]?.audit.append([young[0]]);
    expect(await wholeChain(stores[1] as DocumentStore, 't')).toEqual(ids);
  } finally {
    await client.close();
    await Promise.all(stores.map((store) => store.close()));
  }
});

it('keeps the intent of a write that met a full disk, because an earlier part of it may be stored', async () => {
  const name = databases.newName();
  const store = await databases.open(name);
  const client = new MongoClient(inject('mongoUrl'));
  try {
    const intents = client.db(name).collection('auditIntents');
    const [inDoubt, refused] = [aNote({ tenantId: 't' }), aNote({ tenantId: 't' })];
    const by = { now: 1000, node: undefined };
    const failing = (note: typeof inDoubt, error: Error) =>
      noteWrite(store.audit, intents as never, { note }, by, () => Promise.reject(error));
    await expect(failing(inDoubt, outageOf('mongoFull'))).rejects.toMatchObject({ code: 'disk_full' });
    const refusal = new HubError('conflict', 'The version exists.');
    await expect(failing(refused, refusal)).rejects.toMatchObject({ code: 'conflict' });
    expect(await store.audit.recover(5000, 100)).toBe(1);
    expect(await wholeChain(store, 't')).toEqual([inDoubt.id]);
  } finally {
    await client.close();
    await store.close();
  }
});

/** Ids of the entries of a chain that is whole. */
async function wholeChain(store: DocumentStore, tenantId: string): Promise<readonly unknown[]> {
  const links = await store.audit.listLinks(tenantId, 1, 1_000_000, 1 << 30);
  links.forEach((link, i) => {
    expect(link.seq).toBe(i + 1);
    expect(link.prev).toBe(links[i - 1]?.digest ?? '');
    expect(link.digest).toBe(sha256(linkText(link)));
  });
  return links.flatMap(({ body }) => entriesOf(body).map(({ id }) => id));
}

it('of three nodes that write at once none forks the chain, and each entry is there once', async () => {
  const name = databases.newName();
  const stores = await Promise.all([0, 1, 2].map(() => databases.open(name)));
  try {
    const key = aKey();
    const { tenantId } = key;
    const notes = Array.from({ length: runsOf(240, 90) }, () => aNote({ tenantId }));
    const at = (i: number) => stores[i % 3] as DocumentStore;
    // Each note by two nodes at once, beside writes that bring their notes, and events.
    const blocked = (i: number) =>
      ofSession('s', { callId: `${tenantId}/${i}`, verdict: 'call_denied', timestamp: t0 + i });
    const keys = Array.from({ length: 30 }, () => aKey({ tenantId }));
    await Promise.all([
      ...notes.flatMap((note, i) => [at(i).audit.append([note]), at(i + 1).audit.append([note])]),
      ...keys.map((one, i) =>
        at(i)
          .noting({ note: aNote({ tenantId }) })
          .keys.create(one),
      ),
      ...Array.from({ length: 30 }, (_, i) =>
        at(i).events.ingest(aBatch(tenantId, [blocked(i), blocked(i + 1)])),
      ),
    ]);
    const ids = await wholeChain(at(0), tenantId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toHaveLength(notes.length + 30 + 31);
    expect(ids).toEqual(expect.arrayContaining(notes.map(({ id }) => id)));
  } finally {
    await Promise.all(stores.map((store) => store.close()));
  }
});

it('a server that is killed while two nodes write leaves a whole chain with all that was acknowledged', async () => {
  const { mongo, stop } = await startOwnMongo();
  const open = () => openMongo({ url: mongo.url, log: noLog, clock: systemClock });
  const stores = [await open(), await open()] as const;
  try {
    const tenantId = uuid();
    const acknowledged: string[] = [];
    const writer = async (store: DocumentStore, lane: number): Promise<void> => {
      for (let i = 0; i < runsOf(40, 20); i++) {
        const note = aNote({ tenantId });
        for (;;) {
          try {
            await store.audit.append([note]);
            acknowledged.push(note.id);
            break;
          } catch {
            if (lane > 3) break;
            await until('the store', async () => void (await store.ping()));
          }
        }
      }
    };
    const writing = Promise.all(
      [0, 1, 2, 3, 4, 5].map((lane) => writer(stores[lane % 2] as DocumentStore, lane)),
    );
    await until('some entries', async () => {
      if (acknowledged.length < 20) throw new Error('not yet');
    });
    await mongo.kill9();
    await mongo.start();
    await writing;
    const ids = await wholeChain(stores[0], tenantId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(expect.arrayContaining(acknowledged));
  } finally {
    await Promise.all(stores.map((store) => store.close()));
    await stop();
  }
}, 120_000);

it('a node that died between its events and what follows from them leaves both to whoever reads the run', async () => {
  const name = databases.newName();
  const store = await databases.open(name);
  const client = new MongoClient(inject('mongoUrl'));
  try {
    const db = client.db(name);
    const tenantId = uuid();
    const asked = ofSession('s', { callId: `${tenantId}/1`, verdict: 'call_asked', timestamp: t0 });
    const granted = { ...asked, verdict: 'call_approval_granted', timestamp: t0 + 1 };
    const reporter = { keyId: 'k1', prefix: 'svk_k1' };
    await store.events.ingest({ ...aBatch(tenantId, [asked, granted]), reporter });
    const key = { agentId: 'agent-1', sessionId: 's' };
    const whole = await store.runs.get(tenantId, key, t0);
    expect(whole?.facts?.counts).toEqual({ ask: 1, allow: 1 });
    // As it was before the node went on: its token is there, and neither facts nor entries are.
    await db.collection('auditLinks').deleteMany({});
    await db.collection('runs').updateOne({}, {
      $set: { open: [{ batch: 'dead', at: t0 }] },
      $unset: { facts: '' },
    } as never);
    expect(await store.runs.get(tenantId, key, t0)).toEqual(whole);
    const entries = (await store.audit.listLinks(tenantId, 1, 9, 1 << 20)).flatMap(({ body }) =>
      entriesOf(body),
    );
    expect(entries.map(({ action_type }) => action_type)).toEqual(['run.asked', 'run.approval_granted']);
    expect(entries.map(({ actor }) => actor)).toEqual(
      [1, 2].map(() => ({ type: 'key', id: 'k1', display: 'svk_k1' })),
    );
    await store.events.ingest(aBatch(tenantId, [asked, granted]));
    expect(await wholeChain(store, tenantId)).toHaveLength(2);
    // A batch under way keeps its run, and a run that is counted again has the time of what it received.
    const runs = db.collection('runs');
    const receivedAt = t0 + 60_000;
    await runs.updateOne({}, { $set: { open: [{ batch: 'dead', at: receivedAt }], receivedAt: 0 } });
    const remove = () => store.retention.remove(tenantId, 'runs', t0, null, 9);
    expect(await remove()).toMatchObject({ removed: 0 });
    await store.runs.get(tenantId, key, t0);
    expect(await runs.findOne({})).toMatchObject({ open: [], receivedAt });
  } finally {
    await client.close();
    await store.close();
  }
});

it('a node that died during an import leaves its events to whoever reads the run, and no entries', async () => {
  const name = databases.newName();
  const store = await databases.open(name);
  const client = new MongoClient(inject('mongoUrl'));
  try {
    const runs = client.db(name).collection('runs');
    const tenantId = uuid();
    const question = ofSession('s', { callId: `${tenantId}/1`, verdict: 'call_asked', timestamp: t0 });
    const batch = { ...aBatch(tenantId, [question]), isImported: true as const };
    await store.events.ingest(batch);
    const key = { agentId: 'agent-1', sessionId: 's' };
    const whole = await store.runs.get(tenantId, key, t0);
    await runs.updateOne({}, {
      $set: { open: [{ batch: 'dead', at: t0, isImported: true }] },
      $unset: { facts: '' },
    } as never);
    expect(await store.runs.get(tenantId, key, t0)).toEqual(whole);
    // The import is repeated while the token is there.
    await runs.updateOne({}, { $set: { open: [{ batch: 'dead', at: t0, isImported: true }] } } as never);
    await store.events.ingest(batch);
    expect(await runs.findOne({})).toMatchObject({ open: [] });
    expect(await store.audit.getHead(tenantId)).toBeNull();
  } finally {
    await client.close();
    await store.close();
  }
});
