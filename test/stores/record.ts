// Records stores of this build with a record of every noun, and the reply of every GET over each: a data folder, its
// back-up, and a MongoDB database. To run before the next step of the schema is written:
//   npm run build:quick && node --conditions=reeve-source --import tsx test/stores/record.ts
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { openMongo } from '../../adapters/mongo/index.ts';
import { Database } from '../../adapters/sqlite/database.ts';
import { openSqliteInline, type SqliteStore } from '../../adapters/sqlite/index.ts';
import { HubProcess, run } from '../e2e/process.ts';
import { makeHub, type TestHub } from '../harness.ts';
import { silentLog } from '../log.ts';
import { startServices } from '../services/start.ts';
import { recordReplies } from './replies.ts';
import { dumpMongo, hubOnMongo, loadMongo, type Recording, stoppedClock, writeRecorded } from './stores.ts';
import { fillWorld } from './world.ts';

const start = 1_700_000_000_000;

/** @param open a hub over a store as it was when it was closed */
async function record(
  t: TestHub,
  masterSecret: string,
  open: (data: Omit<Recording, 'replies' | 'user'>) => Promise<TestHub>,
) {
  const user = await fillWorld(t);
  const now = t.clock.now();
  await t.close();
  const again = await open({ now, masterSecret });
  const replies = await recordReplies(again, user);
  await again.close();
  return JSON.stringify({ now, masterSecret, user, replies } satisfies Recording);
}

async function addDeadJob({ jobs }: SqliteStore): Promise<void> {
  const times = { runAt: start - 5, maxAttempts: 5, backoffMs: 1000, longestBackoffMs: 9000 };
  await jobs.add({ ...times, queue: 'purge', id: 'dead', payload: { tenantId: 'none' } });
  const [job] = await jobs.take('purge', 1, start, start + 60_000);
  if (job) await jobs.bury({ queue: 'purge', id: 'dead', run: job.run }, start, 'no such tenant');
}

async function recordSqlite(folder: string): Promise<void> {
  // The process makes the folder and the master secret.
  const hub = new HubProcess({ DATA_DIR: folder });
  await hub.start();
  await hub.stop();
  await hub.remove();
  const path = join(folder, 'reeve.db');
  const masterSecret = readFileSync(join(folder, 'secret.key'), 'utf8');
  const store = await openSqliteInline(path);
  await addDeadJob(store);
  const t = await makeHub({}, undefined, undefined, { store, masterSecret, now: start });
  const copy = `${path}.copy`;
  const recording = await record(t, masterSecret, async (data) => {
    // A stopped hub's rest of the log goes into the file.
    const db = new Database(path);
    db.get('PRAGMA wal_checkpoint(TRUNCATE)');
    db.close();
    copyFileSync(path, copy);
    return makeHub({}, undefined, undefined, { store: await openSqliteInline(copy), ...data });
  });
  writeRecorded('sqlite-replies', recording);
  writeRecorded('data', readFileSync(path));
  const backup = join(folder, 'hub.backup');
  const { code, text } = await run({ DATA_DIR: folder }, ['backup', backup]);
  if (code !== 0) throw new Error(text);
  writeRecorded('backup', readFileSync(backup));
}

async function recordMongo(): Promise<void> {
  const services = await startServices();
  const client = new MongoClient(services.mongoUrl);
  try {
    const open = (database: string, now: number) =>
      openMongo({
        url: services.mongoUrl,
        database,
        node: 'node-1',
        log: silentLog,
        clock: stoppedClock(now),
      });
    const masterSecret = 'a master secret of tests, 32 bytes';
    const t = await hubOnMongo(await open('recorded', start), { now: start, masterSecret });
    const recording = await record(t, masterSecret, async (data) => {
      writeRecorded('mongo', await dumpMongo(client.db('recorded')));
      await loadMongo(client.db('copy'));
      return hubOnMongo(await open('copy', data.now), data);
    });
    writeRecorded('mongo-replies', recording);
  } finally {
    await client.close();
    await services.stop();
  }
}

const folder = mkdtempSync(join(tmpdir(), 'reeve-record-'));
try {
  await recordSqlite(join(folder, 'data'));
  await recordMongo();
} finally {
  rmSync(folder, { recursive: true });
}
process.exit(0);
