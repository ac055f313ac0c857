// A move of a whole store into MongoDB and Redis: every record arrives, with its id, and nodes serve it.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openBullJobs } from '../../adapters/bullmq/index.ts';
import { openJobTarget } from '../../adapters/bullmq/move.ts';
import { openMongo } from '../../adapters/mongo/index.ts';
import { forms } from '../../adapters/mongo/move/all-forms.ts';
import { openMoveTarget } from '../../adapters/mongo/move/target.ts';
import { systemClock } from '../../adapters/node/clock.ts';
import { openRedis } from '../../adapters/redis/index.ts';
import { openValueTarget } from '../../adapters/redis/move.ts';
import { Database } from '../../adapters/sqlite/database.ts';
import { openSqliteInline, type SqliteStore } from '../../adapters/sqlite/index.ts';
import { inventory } from '../../adapters/sqlite/move/inventory.ts';
import { openMoveSource } from '../../adapters/sqlite/move/source.ts';
import { Move } from '../../src/hub/move/move.ts';
import { recordKinds } from '../../src/shared/ports/moved-records.ts';
import type { DocumentStore } from '../../src/shared/ports/store.ts';
import { readAll } from '../conformance/events.ts';
import { firstPage, writerOf } from '../conformance/fixtures.ts';
import { type FilledTenant, fillStore } from '../moved-store.ts';
import { mustDrop, noLog } from './stage.ts';

const folder = mkdtempSync(join(tmpdir(), 'reeve-move-'));
const path = join(folder, 'reeve.db');
const now = Date.now();
const used: string[] = [];

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  if (!mustDrop()) return;
  const client = new MongoClient(inject('mongoUrl'));
  for (const name of used) await client.db(name).dropDatabase();
  await client.close();
});

/** The address of a database of its own, and the name of a cluster. */
function place() {
  const name = `move_${randomUUID().slice(0, 8)}`;
  used.push(name);
  const url = inject('mongoUrl').replace(/^(mongodb(?:\+srv)?:\/\/[^/?]+)(?:\/[^?]*)?/, `$1/${name}`);
  return { name, url };
}

const hubId = { read: () => null, write() {} };

/** @param calls each call of the targets: throwing one ends the move there, as a kill would */
async function move({ name, url }: ReturnType<typeof place>, calls: () => void = () => {}) {
  const target = await openMoveTarget(url, noLog);
  const values = await openValueTarget(inject('redisUrl'), `${name}:`, systemClock, noLog);
  const jobs = await openJobTarget(inject('redisUrl'), name, systemClock);
  const source = openMoveSource(path, hubId);
  const counted = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(of, method) {
        calls();
        const value: unknown = Reflect.get(of, method);
        return typeof value === 'function' ? value.bind(of) : value;
      },
    });
  let isChecked = false;
  try {
    const parts = { source, target: counted(target), values: counted(values), jobs: counted(jobs) };
    const checked = () => {
      calls();
      isChecked = true;
    };
    return await new Move({ ...parts, clock: systemClock, report() {}, checked }).run();
  } finally {
    expect(isChecked || (await target.marker())?.endedAt == null).toBe(true);
    source.close();
    await jobs.close();
    await values.close();
    await target.close();
  }
}

let tenants: readonly [FilledTenant, FilledTenant];
beforeAll(async () => {
  const store = await openSqliteInline(path);
  tenants = await fillStore(store, { now, sealed: 'sealed' });
  await store.close();
});

/** Both stores, while the task runs. */
async function withStores(
  to: ReturnType<typeof place>,
  task: (from: SqliteStore, store: DocumentStore) => Promise<void>,
): Promise<void> {
  const store = await openMongo({ url: to.url, log: noLog, clock: systemClock });
  const from = await openSqliteInline(path);
  try {
    await task(from, store);
  } finally {
    await from.close();
    await store.close();
  }
}

describe('a move', () => {
  const to = place();

  it('begins with a store that has a row in every table that is carried', () => {
    const db = new Database(path);
    const empty = Object.keys(inventory).filter((name) => {
      const isCarried = (inventory[name]?.kinds.length ?? 0) > 0;
      return isCarried && db.get(`SELECT 1 FROM "${name}" LIMIT 1`) === undefined;
    });
    db.close();
    expect(empty).toEqual([]);
  });

  it('carries records of every kind', async () => {
    const { isNew, kinds } = await move(to);
    expect(isNew).toBe(true);
    expect(Object.keys(kinds)).toEqual(recordKinds);
    expect(Object.entries(kinds).filter(([, { records }]) => records === 0)).toEqual([]);
  });

  it('is done once: a repeat finds it ended', async () => {
    expect(await move(to)).toEqual({ isNew: false, kinds: {} });
  });

  it('keeps events with ids, numbers and outcomes, in the order of lists and of arrival', async () => {
    await withStores(to, async (from, store) => {
      for (const { tenantId } of tenants) {
        const events = await readAll(store, tenantId);
        expect(events.length).toBeGreaterThan(20);
        const bySeq = (a: { seq: number }, b: { seq: number }) => a.seq - b.seq;
        const expected = await readAll(from, tenantId);
        expect([...events].sort(bySeq)).toEqual([...expected].sort(bySeq));
        const [one] = events;
        expect(await store.events.get(tenantId, one?.id ?? '')).toEqual(one);
        // From any place on, what comes later and nothing else.
        const arrived = [...expected].sort(bySeq);
        for (const at of [0, 7, arrived.length - 1]) {
          const page = await store.events.listArrivals(tenantId, arrived[at]?.seq ?? 0, 10_000);
          expect(page.events.map(({ id }) => id)).toEqual(arrived.slice(at + 1).map(({ id }) => id));
        }
        expect((await store.events.listArrivals(tenantId, -1, 10_000)).events).toHaveLength(arrived.length);
      }
    });
  });

  it('answers as the embedded store does', async () => {
    await withStores(to, async (from, store) => {
      for (const { tenantId, userId, keyHash, tokenHash, approvalId } of tenants) {
        const all = { env: null };
        const times = { now, staleAfterMs: 900_000 };
        const both = async <T>(
          read: (of: Omit<SqliteStore, 'values' | 'jobs'> | DocumentStore) => Promise<T>,
        ) => expect(await read(store)).toEqual(await read(from));
        await both((of) => of.tenants.getUser(userId));
        await both((of) => of.tenants.listUsers(tenantId, firstPage));
        await both((of) => of.tenantRecords.get(tenantId));
        await both((of) => of.keys.getByHash(keyHash));
        await both((of) => of.keys.list(tenantId, firstPage));
        await both((of) => of.logins.get(tokenHash, now));
        await both((of) => of.signing.getActive(tenantId));
        await both((of) => of.signing.listSuccessions(tenantId));
        await both((of) => of.deployments.listAllCurrent(tenantId));
        await both((of) => of.deployments.list(tenantId, all, firstPage));
        await both((of) => of.deployments.getLastSequence(tenantId, 'staging', 'base'));
        await both((of) => of.bundles.getYaml(tenantId, 'base', 2));
        await both((of) => of.bundles.listVersions(tenantId, 'gone', firstPage));
        await both((of) => of.contracts.list(tenantId, {}, firstPage));
        await both((of) => of.contracts.listVersions(tenantId, 'no-secrets'));
        await both((of) => of.contracts.getVersion(tenantId, 'no-secrets', 1));
        await both((of) => of.compositions.listEnabledItems(tenantId, 'base.$c'));
        await both((of) => of.approvals.list(tenantId, all, firstPage, now));
        await both((of) => of.approvals.getWhole(tenantId, approvalId));
        await both((of) => of.approvals.listDeadlines(tenantId, 'production'));
        await both((of) => of.approvals.listUnannounced(now + 10, 10));
        await both((of) => of.agents.list(tenantId, { limit: 100, after: null }));
        await both((of) => of.agents.listReports(tenantId, 'production', 10));
        await both((of) => of.tools.getPins(tenantId, 'production', 'files'));
        await both((of) => of.tools.listEntries(tenantId, { env: 'production', server: null }, firstPage));
        await both((of) => of.audit.getHead(tenantId));
        await both((of) => of.audit.listLinks(tenantId, 1, 1000, 1 << 20));
        await both((of) => of.audit.getSignedHead(tenantId));
        await both((of) => of.usage.listTools(tenantId, 'agent-1', 0));
        for (const kind of ['events', 'approvals'] as const)
          await both(async (of) => {
            const { lines, removed } = await of.exports.list(tenantId, kind, null, 10_000);
            return { removed, lines: lines.map(({ place: _place, ...line }) => line) };
          });
        for (const kind of ['events', 'approvals'] as const) {
          const { end } = await from.exports.list(tenantId, kind, null, 10);
          await expect(store.exports.list(tenantId, kind, end, 10)).rejects.toMatchObject({
            code: 'bad_request',
          });
        }
        await both(async (of) => {
          const { items, total } = await of.runs.list(tenantId, all, firstPage, times);
          const known = items.map(({ facts: _facts, ...run }) => run);
          return { total, known: known.sort((a, b) => (a.sessionId < b.sessionId ? -1 : 1)) };
        });
      }
    });
  });

  it('goes on: the next deployment, version, contract, repeat and audit entry fit', async () => {
    const [{ tenantId }] = tenants;
    await withStores(to, async (_, store) => {
      const added = await store.contracts.update(
        tenantId,
        'no-secrets',
        { name: 'third' },
        { id: randomUUID(), createdBy: 'ada', createdAt: now },
      );
      expect(added).toMatchObject({ version: 3 });
      const events = await readAll(store, tenantId);
      const [stored] = events.filter(({ callId }) => callId === 'call-1');
      if (!stored) throw new Error('the event is missing');
      const { id: _id, seq: _seq, env: _env, createdAt: _at, outcomes: _outcomes, ...event } = stored;
      const batch = { tenantId, env: 'production' as const, receivedAt: now, events: [event] };
      expect(await store.events.ingest(batch)).toMatchObject({ accepted: 0, duplicates: 1 });
      const before = await store.audit.getHead(tenantId);
      const fresh = { ...event, callId: 'fresh', verdict: 'call_blocked' };
      expect(await store.events.ingest({ ...batch, events: [fresh] })).toMatchObject({ accepted: 1 });
      expect((await store.audit.getHead(tenantId))?.seq).toBe((before?.seq ?? 0) + 1);
      const newest = (await store.events.listArrivals(tenantId, 0, 10_000)).events.at(-1);
      expect(newest?.callId).toBe('fresh');
      // A repeat adds no line to exports, and what is new comes last.
      const { lines } = await store.exports.list(tenantId, 'events', null, 10_000);
      expect(lines.filter((line) => line.type === 'event' && line.event.callId === 'call-1')).toHaveLength(1);
    });
  });

  it('keeps session values with their ends and their quota, and jobs with their times', async () => {
    const [{ tenantId }] = tenants;
    const redis = await openRedis({
      url: inject('redisUrl'),
      log: noLog,
      clock: systemClock,
      prefix: `${to.name}:`,
    });
    const jobs = await openBullJobs({
      url: inject('redisUrl'),
      clock: systemClock,
      log: noLog,
      prefix: to.name,
    });
    try {
      expect(await redis.values.get(tenantId, 'counter', now)).toBe('2.5');
      expect(await redis.values.get(tenantId, 'counter', now + 7 * 86_400_000)).toBeNull();
      expect(await redis.values.get(tenantId, 'expired', now)).toBeNull();
      const full = { ...writerOf(tenantId), quota: { maxBytes: 2 ** 30, maxKeys: 16 } };
      expect(await redis.values.set(full, 'one more', 'x', now)).toBe('keys_full');
      expect(await jobs.find('deliveries', `later/${tenantId}`)).toMatchObject({ state: 'waiting' });
      expect(await jobs.find('deliveries', `running/${tenantId}`)).toMatchObject({ state: 'waiting' });
      expect(await jobs.dead('other', 10)).toContainEqual({
        id: `dead/${tenantId}`,
        payload: { tenantId },
        failures: 1,
        error: 'no such address',
        diedAt: now,
      });
      const ran = new Promise<unknown>((resolve) => {
        jobs.work('other', async ({ payload }) => resolve(payload));
      });
      expect(await jobs.retry('other', `dead/${tenantId}`)).toBe(true);
      expect(await ran).toEqual({ tenantId });
    } finally {
      await jobs.close();
      await redis.close();
    }
  });
});

describe('the target of a move', () => {
  it('is refused when it has documents, or keys of the cluster, and stays as it is', async () => {
    const to = place();
    const client = new MongoClient(to.url);
    await client.db().collection<{ _id: string }>('seals').insertOne({ _id: 'x' });
    await expect(move(to)).rejects.toThrow('The database is not empty: it contains documents in seals.');
    expect(await client.db().collection('moves').countDocuments()).toBe(0);
    await client.db().collection('seals').drop();
    const values = await openValueTarget(inject('redisUrl'), `${to.name}:x`, systemClock, noLog);
    await values.begin('y');
    await values.close();
    await expect(move(to)).rejects.toThrow(`Redis is not empty: it contains the key ${to.name}:xmove.`);
    await client.close();
  });

  it('is refused when another hub is moved there', async () => {
    const to = place();
    const target = await openMoveTarget(to.url, noLog);
    await target.begin('another', now);
    await target.close();
    await expect(move(to)).rejects.toThrow('The database contains the data of another hub.');
  });

  it('lets no node start until the move has ended', async () => {
    const to = place();
    const target = await openMoveTarget(to.url, noLog);
    await target.begin('hub', now);
    const open = () => openMongo({ url: to.url, log: noLog, clock: systemClock });
    await expect(open()).rejects.toThrow('A move into this database has not ended');
    await target.end(now);
    await target.close();
    await (await open()).close();
  });

  it('ends the same wherever the move breaks off, and also when the hub ran in between', async () => {
    const to = place();
    let calls = 0;
    await move(place(), () => calls++);
    const whole = calls;
    expect(whole).toBeGreaterThan(50);
    let broken = 0;
    for (const part of [0.1, 0.4, 0.5, 0.7]) {
      let left = Math.floor(whole * part);
      const breaking = () => {
        if (left-- <= 0) throw new Error('killed');
      };
      // A run that goes on has less to do: the last ones may reach the end.
      broken += await move(to, breaking).then(
        () => 0,
        (error: Error) => Number(error.message === 'killed'),
      );
      if (part === 0.4) {
        const store = await openSqliteInline(path);
        const [{ tenantId, approvalId }] = tenants;
        const decision = { id: randomUUID(), approved: false, decidedBy: 'ada', reason: null };
        await store.approvals.decide(tenantId, approvalId, { ...decision, decidedVia: 'console' }, now + 1);
        await store.values.remove(tenantId, 'counter');
        await store.close();
      }
    }
    expect(broken).toBeGreaterThan(2);
    await move(to);
    expect((await move(to)).isNew).toBe(false);
    await withStores(to, async (from, store) => {
      const [{ tenantId, approvalId }] = tenants;
      expect(await store.approvals.get(tenantId, approvalId)).toMatchObject({ status: 'denied' });
      expect((await readAll(store, tenantId)).length).toBe((await readAll(from, tenantId)).length);
    });
    const client = new MongoClient(to.url);
    const links = await client.db().collection(forms.auditLinks.collection).countDocuments();
    expect(links).toBeGreaterThan(10);
    await client.close();
  });

  it('is refused, and the folder stays, when two records have the same name there', async () => {
    const to = place();
    const target = await openMoveTarget(to.url, noLog);
    const client = new MongoClient(to.url);
    await target.begin('hub', now);
    const twin = { tenantId: 't', name: 'one' };
    await client
      .db()
      .collection('serviceAccounts')
      .insertMany([{ ...twin }, { ...twin }]);
    await expect(target.index()).rejects.toThrow('two of them have the same name in MongoDB');
    await client.db().collection('serviceAccounts').deleteMany({});
    await target.index();
    for (const part of [target, client]) await part.close();
  });

  it('is refused, and the folder stays, when a record there differs from its source', async () => {
    const to = place();
    const client = new MongoClient(to.url);
    let isChanged = false;
    const change = () => {
      if (isChanged) return;
      isChanged = true;
    };
    const target = await openMoveTarget(to.url, noLog);
    const source = openMoveSource(path, hubId);
    const values = await openValueTarget(inject('redisUrl'), `${to.name}:`, systemClock, noLog);
    const jobs = await openJobTarget(inject('redisUrl'), to.name, systemClock);
    const note = target.note.bind(target);
    target.note = async (written) => {
      await note(written);
      await client
        .db()
        .collection('users')
        .updateOne({}, { $set: { email: 'mallory@example.com' } });
    };
    const parts = { source, target, values, jobs, clock: systemClock, report() {} };
    await expect(new Move({ ...parts, checked: change }).run()).rejects.toThrow(
      'of the kind users, the 4 records differ',
    );
    expect(isChanged).toBe(false);
    expect((await target.marker())?.endedAt).toBeNull();
    source.close();
    for (const part of [jobs, values, target, client]) await part.close();
  });
});
