// The store on MongoDB: opens the connection, makes the indexes and ends what a dead process began; stores.ts puts the
// stores together. Texts are compared as they are: by the types of the ports and the checks of the edge no object
// stands where a text belongs. No transactions and no change streams: single documents and unique indexes decide. Any
// number of nodes may share one database.
import { type Db, MongoClient, MongoError, MongoServerError, MongoServerSelectionError } from 'mongodb';
import { Admission } from '../../src/admission/admission.ts';
import { admissionTable } from '../../src/admission/table.ts';
import { withTimeout } from '../../src/shared/concurrency/with-timeout.ts';
import { connectFailure } from '../../src/shared/connect-failure.ts';
import { HubError } from '../../src/shared/error.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import type { ReachNotes } from '../../src/shared/ports/reach.ts';
import type { DocumentStore } from '../../src/shared/ports/store.ts';
import { type AuditCollections, mongoAudit, noteWrite } from './audit.ts';
import { claimFormat } from './cluster-format.ts';
import { asHubError, type GuardedStore, guardStore, unavailable } from './failure.ts';
import { createIndexes } from './indexes.ts';
import { refuseUnfinishedMove } from './move/marker.ts';
import { readTenant } from './move/tenant-source.ts';
import { mongoReachNotes } from './reach-notes.ts';
import { storesOf } from './stores.ts';
import { finishFounding, type TenantCollections } from './tenants.ts';

export interface MongoOptions {
  /** A connection string. The database is the one it names, `reeve` when it names none. */
  readonly url: string;
  /** Instead of the one in `url`. */
  readonly database?: string;
  /** The name of this node among its cluster's, for what it leaves when it dies. */
  readonly node?: string;
  readonly log: Log;
  readonly clock: Clock;
  /** Shared by all parts of the node. Default: one for this store alone. */
  readonly admission?: Admission;
}

const pingMs = 2000;
const authenticationFailed = 18;

/** Any command but one that builds an index: that takes as long as the collection is large. */
const commandMs = 8000;

const [{ atOnce: maxCommands }] = admissionTable.mongoCommands.bounds;

/** @throws HubError unavailable for what is no connection string */
export function connect(url: string, socketTimeoutMS = commandMs, connectMs = pingMs): MongoClient {
  try {
    return clientOf(url, socketTimeoutMS, connectMs);
  } catch {
    // The driver's words may repeat the password.
    throw new HubError('unavailable', 'MONGODB_URL is not a valid MongoDB connection string. Correct it.');
  }
}

const clientOf = (url: string, socketTimeoutMS: number, connectMs: number): MongoClient =>
  new MongoClient(url, {
    appName: 'reeve',
    maxPoolSize: maxCommands,
    maxConnecting: 8,
    serverSelectionTimeoutMS: connectMs,
    connectTimeoutMS: connectMs,
    socketTimeoutMS,
    waitQueueTimeoutMS: admissionTable.mongoCommands.ms,
    writeConcern: { w: 'majority', journal: true },
    readConcern: { level: 'majority' },
    readPreference: 'primary',
    // A repeated compare-and-set would take its own first write for another's: the caller knows whether to repeat.
    retryWrites: false,
    retryReads: true,
    ignoreUndefined: true,
  });

export const databaseOf = (url: string): string =>
  decodeURIComponent(/^mongodb(?:\+srv)?:\/\/[^/]+\/([^?]+)/.exec(url)?.[1] ?? 'reeve');

export interface MongoStore extends DocumentStore {
  /** Which nodes reach Redis. */
  readonly reachNotes: ReachNotes;
}

/**
 * Opens the store.
 * @throws HubError unavailable when no server that takes writes answers within about 2 s; conflict when the database
 * has a format that does not fit this version
 */
export async function openMongo({
  url,
  database,
  node,
  log,
  clock,
  admission = new Admission(clock),
}: MongoOptions): Promise<MongoStore> {
  const client = connect(url);
  const db = client.db(database ?? databaseOf(url));
  const founding: TenantCollections = {
    users: db.collection('users'),
    tenants: db.collection('tenants'),
    signing: db.collection('signing'),
  };
  try {
    await client.connect();
    await prepare(db, founding, url, log);
  } catch (error) {
    await client.close();
    throw notOpened(error, client.options.tls === true, log);
  }

  const guard = guardStore(log, clock, () =>
    db.collection('probes').updateOne({ name: 'probe' }, { $inc: { count: 1 } }, { upsert: true }),
  );
  const chain: AuditCollections = {
    links: db.collection('auditLinks'),
    heads: db.collection('auditHeads'),
    intents: db.collection('auditIntents'),
  };
  const audit = mongoAudit(chain);
  const { stores, exportLog, seenTimes } = storesOf(db, founding, audit, { clock, admission, log });
  const guarded = guardEach(guard, stores);
  const { ping } = guard.guarded({ ping: () => roundTrip(db, clock) });
  return {
    ...guarded,
    audit: guard.guarded(audit),
    // The write itself goes through the guard: only the write's error shows if the write may have been carried out.
    noting: (noting) =>
      notingEach(guard, guarded, (write) =>
        noteWrite(audit, chain.intents, noting, { now: clock.now(), node }, write),
      ),
    ping,
    reachNotes: guard.guarded(mongoReachNotes(db.collection('reach'), clock)),
    storage: () => guard.storage(),
    async readTenant(tenantId) {
      await finishFounding(founding, tenantId);
      return readTenant(db, tenantId, log);
    },
    async close() {
      await guard.close();
      await seenTimes.close();
      await exportLog.close();
      await client.close();
    },
  };
}

/** Makes the database one that this version can use. A database that does not fit stays as it is. */
async function prepare(db: Db, founding: TenantCollections, url: string, log: Log): Promise<void> {
  await refuseUnfinishedMove(db);
  const patiently = (task: (db: Db) => Promise<void>) => withoutTimeout(url, db.databaseName, task);
  await claimFormat(
    db.collection('formats'),
    async () => (await founding.users.findOne()) === null,
    patiently,
  );
  await patiently((own) => createIndexes(own, log));
  await finishFounding(founding);
}

/** Runs a task over connections of its own, which no time bounds: for indexes and steps of the schema. */
async function withoutTimeout(url: string, database: string, task: (db: Db) => Promise<void>): Promise<void> {
  const client = connect(url, 0);
  try {
    await task(client.db(database));
  } finally {
    await client.close();
  }
}

/** The failure to open, for the operator of the hub. */
export function notOpened(error: unknown, usesTls: boolean, log: Log): unknown {
  if (error instanceof MongoServerError && error.code !== authenticationFailed) return asHubError(error, log);
  if (!(error instanceof MongoError)) return error;
  // One server's failure is a better reason than the failed selection of a server.
  const servers = error instanceof MongoServerSelectionError ? error.reason?.servers : undefined;
  const failures = [...(servers?.values() ?? [])].flatMap((server) => server.error ?? []);
  const cause = connectFailure(failures[0] ?? error, usesTls);
  return new HubError(
    'unavailable',
    `The hub cannot use MongoDB (MONGODB_URL): ${cause}`,
    unavailable().detail,
  );
}

/** Milliseconds of one command. @throws HubError('unavailable') after 2 s */
async function roundTrip(db: Db, clock: Clock): Promise<number> {
  const begun = clock.monotonic();
  await withTimeout(clock, pingMs, db.command({ ping: 1 }), unavailable);
  return clock.monotonic() - begun;
}

type Stores = { readonly [name: string]: object };

const guardEach = <T extends Stores>(guard: GuardedStore, stores: T): T =>
  Object.fromEntries(Object.entries(stores).map(([name, store]) => [name, guard.guarded(store)])) as T;

/** Every store, with methods that go through `around`. */
const notingEach = <T extends Stores>(
  guard: GuardedStore,
  stores: T,
  around: (write: () => Promise<unknown>) => Promise<unknown>,
): T => {
  const wrapped = (store: object) =>
    Object.fromEntries(
      Object.entries(store).map(([name, method]) => [
        name,
        (...args: readonly unknown[]) => around(() => method(...args)),
      ]),
    );
  const all = Object.entries(stores).map(([name, store]) => [name, guard.guarded(wrapped(store))]);
  return Object.fromEntries(all) as unknown as T;
};
