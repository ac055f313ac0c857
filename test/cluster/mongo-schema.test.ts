// A recorded MongoDB database opens and answers every GET as it did, and documents get the fields that they lack.
import { type Db, type Document, MongoClient } from 'mongodb';
import { afterAll, expect, inject, it } from 'vitest';
import { openMongo } from '../../adapters/mongo/index.ts';
import { callersOf, replyOf } from '../stores/replies.ts';
import { hubOnMongo, loadMongo, readRecording, stoppedClock } from '../stores/stores.ts';
import { mongoDatabases, noLog } from './stage.ts';

const databases = mongoDatabases();
const client = new MongoClient(inject('mongoUrl'));
afterAll(() => client.close());
const recording = readRecording('mongo-replies');

const open = (database: string) =>
  openMongo({ url: inject('mongoUrl'), database, log: noLog, clock: stoppedClock(recording.now) });

/** @returns operations whose reply is another one than before */
async function changedReplies(database: string): Promise<readonly string[]> {
  const t = await hubOnMongo(await open(database), recording);
  const callers = callersOf(t, recording.user);
  const changed: string[] = [];
  for (const one of recording.replies)
    if ((await replyOf(t, callers, one)) !== one.reply) changed.push(one.operation);
  await t.close();
  return changed;
}

async function recordedDatabase(): Promise<Db> {
  const db = client.db(databases.newName());
  await loadMongo(db);
  return db;
}

it('answers every GET over the recorded database as before', async () => {
  const db = await recordedDatabase();
  expect(await changedReplies(db.databaseName)).toEqual([]);
  expect(await db.collection('formats').findOne()).toMatchObject({ schema: 1001 });
  expect(await db.collection('users').countDocuments({ isAdmin: { $exists: true } })).toBe(0);
});

it('fills fields that documents lack', async () => {
  const db = await recordedDatabase();
  const lacking: { readonly [collection: string]: readonly string[] } = {
    agents: ['retiredAt', 'loadsAny', 'seenEnvs'],
    approvalArgs: ['keyId'],
    bundles: ['mode', 'description'],
    deployments: ['undeployedAt', 'undeployedBy', 'documentKind'],
    logins: ['browser', 'method', 'providerSession', 'lastSeenAt'],
    users: ['roles'],
    events: ['texts', 'runId', 'policyVersion'],
    signing: ['sequences'],
  };
  const before = new Map<string, Document[]>();
  for (const [name, fields] of Object.entries(lacking)) {
    const collection = db.collection(name);
    before.set(name, await collection.find().sort({ _id: 1 }).toArray());
    await collection.updateMany({}, { $unset: Object.fromEntries(fields.map((field) => [field, ''])) });
  }
  await (await open(db.databaseName)).close();
  for (const name of ['agents', 'events'])
    expect(await db.collection(name).find().sort({ _id: 1 }).toArray()).toEqual(before.get(name));
  expect(await db.collection('approvalArgs').findOne()).toMatchObject({ keyId: null });
  const [login] = before.get('logins') ?? [];
  expect(await db.collection('logins').findOne()).toMatchObject({
    method: null,
    lastSeenAt: login?.createdAt,
  });
  for (const { sequences, current } of await db.collection('signing').find().toArray())
    for (const [field, { sequence }] of Object.entries<Document>(current ?? {}))
      expect(sequences[field]).toBe(sequence);
  const roles = (await db.collection('users').find().toArray()).map(({ email, roles: [one] }) => [
    email,
    one.role,
  ]);
  expect(Object.fromEntries(roles)).toEqual({
    'ada@example.com': 'admin',
    'bob@example.com': 'operator',
    'eve@example.com': 'admin',
  });
});
