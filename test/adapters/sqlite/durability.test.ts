// The SQLite store when processes, threads and disks misbehave.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../adapters/node/clock.ts';
import { Database } from '../../../adapters/sqlite/database.ts';
import { openSqlite, openSqliteInline, type SqliteOptions } from '../../../adapters/sqlite/index.ts';
import type { Store } from '../../../src/shared/ports/store.ts';
import { aBatch, everything, readAll } from '../../conformance/events.ts';
import {
  aBundle,
  aComposition,
  aContract,
  aDeployment,
  aKey,
  aLogin,
  anApproval,
  anEvent,
  anItem,
  aRule,
  aSigningKey,
  aTenant,
  aUser,
  firstPage,
  itemsOf,
  t0,
  uuid,
  writerOf,
} from '../../conformance/fixtures.ts';
import { runsOf } from '../../runs.ts';
import { testProgram } from '../../test-program.ts';
import { numberedBatch, numberedTenant } from './numbered.ts';
import { startTestThread } from './start.ts';

let folder = '';
let path = '';
const opened: Store[] = [];
const children: ChildProcess[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'store-'));
  path = join(folder, 'data', 'hub.db');
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const store of opened.splice(0)) await store.close();
  rmSync(folder, { recursive: true, force: true });
});

async function open(options: Partial<SqliteOptions> = {}): Promise<Store> {
  const store = await openSqlite({ path, clock: systemClock, startThread: startTestThread, ...options });
  opened.push(store);
  return store;
}

async function openInline(): Promise<Store> {
  const store = await openSqliteInline(path);
  opened.push(store);
  return store;
}

/** Writes something into every store; returns how to read all of it again. */
async function fill(store: Store) {
  const tenant = aTenant();
  const tenantId = tenant.id;
  const [user, signing, login, key] = [
    aUser({ tenantId }),
    aSigningKey({ tenantId }),
    aLogin({ tenantId }),
    aKey({ tenantId }),
  ];
  const [contract, approval, rule, event] = [
    aContract({ tenantId }),
    anApproval({ tenantId }),
    aRule({ tenantId }),
    anEvent(),
  ];
  await store.tenants.bootstrap(tenant, user, signing);
  await store.logins.create(login);
  await store.keys.create(key);
  await store.contracts.create(contract);
  await store.compositions.create(
    aComposition({ tenantId, items: [anItem({ contractId: contract.contractId })] }),
  );
  await store.bundles.upload(aBundle({ tenantId }));
  await store.deployments.deploy(aDeployment({ tenantId, signingKeyId: signing.id }));
  await store.events.ingest(aBatch(tenantId, [event, { ...event, verdict: 'call_failed' }]));
  await store.approvals.request(approval);
  await store.agents.noteSeen(tenantId, 'a', 'production', t0, uuid());
  await store.agents.report(tenantId, 'production', {
    agentId: 'a',
    bundleName: null,
    policyVersion: 'v',
    at: t0,
  });
  await store.rules.create(rule);
  await store.values.increment(writerOf(tenantId), 'n', 2, t0);
  return async (from: Store) => ({
    tenants: await from.tenants.listIds(),
    user: await from.tenants.getUserByEmail(user.email),
    login: await from.logins.get(login.tokenHash, t0),
    keys: await itemsOf(from.keys.list(tenantId, firstPage)),
    signing: await from.signing.getActive(tenantId),
    contracts: await itemsOf(from.contracts.list(tenantId, {}, firstPage)),
    compositions: await itemsOf(from.compositions.list(tenantId, firstPage)),
    bundles: await itemsOf(from.bundles.listVersions(tenantId, 'base', firstPage)),
    yaml: await from.bundles.getYaml(tenantId, 'base', 1),
    deployments: await itemsOf(from.deployments.list(tenantId, {}, firstPage)),
    events: await readAll(from, tenantId),
    approvals: await from.approvals.listDeadlines(tenantId, 'production'),
    agents: await itemsOf(from.agents.list(tenantId, { limit: 99, after: null })),
    reports: await from.agents.listReports(tenantId, 'production', 99),
    rules: await from.rules.list(tenantId),
    value: await from.values.get(tenantId, 'n', t0),
  });
}

describe('a store that is opened again', () => {
  it('has everything, on threads and inline', async () => {
    const first = await open();
    const read = await fill(first);
    const before = await read(first);
    for (const value of Object.values(before))
      expect(value).not.toSatisfy((v) => v === null || v?.length === 0);
    await first.close();
    const second = await openInline();
    expect(await read(second)).toEqual(before);
    await second.close();
    const third = await open();
    expect(await read(third)).toEqual(before);
    expect(await third.tenants.bootstrap(aTenant(), aUser(), aSigningKey())).toBe('taken');
  });

  it('is readable by its owner alone', async () => {
    await fill(await open());
    for (const file of [path, `${path}-wal`, `${path}-shm`, `${path}.lock`]) {
      expect(statSync(file).mode & 0o077).toBe(0);
    }
  });

  it('refuses a file that a newer version made', async () => {
    const store = await openInline();
    await store.close();
    const db = new Database(path);
    db.exec('PRAGMA user_version = 1099');
    db.close();
    const newer = { code: 'conflict', message: expect.stringContaining('newer version') };
    await expect(open()).rejects.toMatchObject(newer);
    await expect(openInline()).rejects.toMatchObject(newer);
  });
});

describe('a store that another has open', () => {
  it('is refused with one clear line, until it is closed', async () => {
    const first = await open();
    for (const again of [open, openInline]) {
      await expect(again()).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringMatching(/^Another process uses the store .*\. Stop it first: .*$/),
      });
    }
    await first.values.set(writerOf(uuid()), 'still', 'works', t0);
    await first.close();
    await (await open()).close();
    await (await openInline()).close();
  });
});

const programs = (): Promise<string[]> =>
  Promise.all(
    ['./ingest-child.ts', '../../../adapters/sqlite/threads/thread.ts'].map((source) =>
      testProgram(fileURLToPath(new URL(source, import.meta.url))),
    ),
  );

/** Starts a process that ingests, kills it once it acknowledged so many batches; answers all it acknowledged. */
async function ingestAndDie(batches: number, first = 0, ...held: number[]): Promise<number[]> {
  const args = [...(await programs()), path, ...[first, ...held].map(String)];
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const acknowledged: number[] = [];
  const lines = createInterface({ input: child.stdout });
  const closed = once(lines, 'close');
  await new Promise<void>((resolve, reject) => {
    lines.on('line', (line) => {
      if (acknowledged.push(Number(line)) === batches) resolve();
    });
    child.once('exit', () => reject(new Error('the process ended by itself')));
  });
  await expect(openInline()).rejects.toMatchObject({ code: 'conflict' });
  child.kill('SIGKILL');
  await closed;
  return acknowledged;
}

describe('a process killed while it ingests', () => {
  it('has lost no acknowledged event and holds no lock', async () => {
    const acknowledged = await ingestAndDie(150);
    const store = await open();
    const stored = await readAll(store, numberedTenant);
    const known = new Set(stored.map((event) => event.callId));
    expect(known.size).toBe(stored.length);
    for (const n of acknowledged) {
      for (const event of numberedBatch(n).events) expect(known.has(event.callId)).toBe(true);
    }
    // A batch is there as a whole or not at all.
    expect(stored.length % 20).toBe(0);
    const again = numberedBatch(acknowledged[0] ?? 0);
    expect(await store.events.ingest(again)).toMatchObject({ accepted: 0, duplicates: 20 });
  }, 60_000);

  it('knows every acknowledged call id, also when killed in the middle of a merge', async () => {
    const acknowledged: number[] = [];
    let killedInMerge = 0;
    for (let round = 0; round < 12 && killedInMerge < runsOf(2, 1); round++) {
      // A memory of 2,000 is merged while the next 1,000 come: it is under way half of the time.
      acknowledged.push(...(await ingestAndDie(110 + round * 17, round * 100_000, 2000)));
      const db = new Database(path);
      const [merged] = db.get('SELECT merged FROM store') ?? [];
      const [ahead] = db.get('SELECT count(*) FROM calls WHERE entry / 8192 > ?', [Number(merged)]) ?? [];
      db.close();
      if (Number(ahead) > 0) killedInMerge++;

      const store = await open();
      const size = (await readAll(store, numberedTenant)).length;
      const again = await Promise.all(acknowledged.map((n) => store.events.ingest(numberedBatch(n))));
      for (const answer of again) expect(answer).toMatchObject({ accepted: 0, duplicates: 20 });
      expect(await readAll(store, numberedTenant)).toHaveLength(size);
      await store.close();
    }
    expect(killedInMerge).toBeGreaterThan(0);
  }, 120_000);
});

describe('a queue of writes that is full', () => {
  it('answers overloaded and works again once it is drained', async () => {
    const store = await open({ maxQueuedWrites: 5 });
    const tenantId = uuid();
    const writes = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) =>
        store.events.ingest(aBatch(tenantId, [anEvent({ timestamp: t0 + i })])),
      ),
    );
    const refused = writes.filter((write) => write.status === 'rejected');
    expect(refused).toHaveLength(15);
    for (const { reason } of refused) {
      expect(reason).toMatchObject({ name: 'HubError', code: 'overloaded', detail: { retryAfter: 1 } });
    }
    expect(await readAll(store, tenantId)).toHaveLength(5);
    expect(await store.events.ingest(aBatch(tenantId, [anEvent()]))).toMatchObject({
      accepted: 1,
      duplicates: 0,
    });
  });

  it('counts bytes, but lets a single large write in', async () => {
    const store = await open({ maxQueuedBytes: 100_000 });
    const tenantId = uuid();
    const large = () => aBatch(tenantId, [anEvent({ payload: { text: 'x'.repeat(150_000) } })]);
    expect(await store.events.ingest(large())).toMatchObject({ accepted: 1, duplicates: 0 });
    const two = await Promise.allSettled([store.events.ingest(large()), store.events.ingest(large())]);
    expect(two.map((write) => write.status)).toEqual(['fulfilled', 'rejected']);
    const value = store.values.set(writerOf(tenantId), 'k', 'y'.repeat(80_000), t0);
    await expect(store.events.ingest(large())).rejects.toMatchObject({ code: 'overloaded' });
    await value;
  });

  it('leaves half of its bytes to other tenants, however much one of them sends', async () => {
    const store = await open({ maxQueuedBytes: 1_000_000 });
    const [busy, other] = [uuid(), uuid()];
    const large = () => aBatch(busy, [anEvent({ payload: { text: 'x'.repeat(300_000) } })]);
    const [first, second, third, theirs] = await Promise.allSettled([
      store.events.ingest(large()),
      store.events.ingest(large()),
      store.events.ingest(large()),
      store.events.ingest(aBatch(other, [anEvent()])),
    ]);
    expect([first, second, theirs].map((write) => write?.status)).toEqual(Array(3).fill('fulfilled'));
    expect(third).toMatchObject({
      reason: { code: 'overloaded', message: expect.stringContaining('from this tenant') },
    });
    expect(await store.events.ingest(large())).toMatchObject({ accepted: 1, duplicates: 0 });
  });
});

describe('a write that fails', () => {
  it('fails alone, among others of the same commit', async () => {
    const store = await open();
    const key = aKey();
    const others = Array.from({ length: 10 }, () => aKey({ tenantId: key.tenantId }));
    const results = await Promise.allSettled([
      store.keys.create(key),
      ...others.slice(0, 5).map((other) => store.keys.create(other)),
      store.keys.create({ ...key, hash: 'another' }),
      ...others.slice(5).map((other) => store.keys.create(other)),
    ]);
    expect(results.map((r) => r.status).filter((status) => status === 'rejected')).toHaveLength(1);
    expect(results[6]).toMatchObject({
      status: 'rejected',
      reason: { name: 'HubError', code: 'conflict' },
    });
    expect(await itemsOf(store.keys.list(key.tenantId, firstPage))).toHaveLength(11);
  });

  it('does not tell the caller what the database said', async () => {
    const store = await open();
    const key = aKey();
    await store.keys.create(key);
    await expect(store.keys.create(key)).rejects.toMatchObject({
      message: expect.not.stringMatching(/UNIQUE|sqlite/i),
    });
  });
});

describe('a thread that dies', () => {
  /** A store whose threads can be stopped. */
  async function fragile() {
    const threads = { writer: [] as Worker[], reader: [] as Worker[] };
    const store = await open({
      startThread: (start) => {
        const worker = startTestThread(start);
        threads[start.role].push(worker);
        return worker;
      },
    });
    return { store, threads };
  }

  it('fails the writes that wait, keeps what was acknowledged, and is started again', async () => {
    const { store, threads } = await fragile();
    const tenantId = uuid();
    const kept = anEvent();
    await store.events.ingest(aBatch(tenantId, [kept]));
    const waiting = Promise.allSettled(
      Array.from({ length: 200 }, (_, i) =>
        store.events.ingest(aBatch(tenantId, [anEvent({ timestamp: t0 + i })])),
      ),
    );
    await threads.writer[0]?.terminate();
    const results = await waiting;
    const lost = results.filter((r) => r.status === 'rejected');
    expect(lost.length).toBeGreaterThan(0);
    for (const { reason } of lost) expect(reason).toMatchObject({ name: 'HubError', code: 'unavailable' });

    // Reads go on meanwhile.
    expect((await readAll(store, tenantId, everything)).map((e) => e.callId)).toContain(kept.callId);
    await vi.waitFor(() => store.values.set(writerOf(tenantId), 'k', 'v', t0), {
      timeout: 15_000,
      interval: 20,
    });
    expect(threads.writer).toHaveLength(2);
    expect(await store.events.ingest(aBatch(tenantId, [kept]))).toMatchObject({ accepted: 0, duplicates: 1 });
    const acknowledged = results.length - lost.length;
    expect((await readAll(store, tenantId)).length).toBeGreaterThanOrEqual(acknowledged + 1);
  }, 60_000);

  it('fails the reads that wait while writes go on', async () => {
    const { store, threads } = await fragile();
    const tenantId = uuid();
    await store.values.set(writerOf(tenantId), 'k', 'v', t0);
    const waiting = expect(store.values.get(tenantId, 'k', t0)).rejects.toMatchObject({
      code: 'unavailable',
    });
    await threads.reader[0]?.terminate();
    await waiting;
    await expect(store.ping()).rejects.toMatchObject({ code: 'unavailable' });
    await store.values.set(writerOf(tenantId), 'k', 'w', t0);
    const read = () => store.values.get(tenantId, 'k', t0);
    expect(await vi.waitFor(read, { timeout: 15_000, interval: 20 })).toBe('w');
    expect(await store.ping()).toBeGreaterThanOrEqual(0);
  }, 60_000);

  it('closes while a thread is down', async () => {
    const { store, threads } = await fragile();
    await threads.writer[0]?.terminate();
    await store.close();
    await (await openInline()).close();
  });
});
