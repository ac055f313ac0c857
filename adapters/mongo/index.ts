// The store on MongoDB: opens the connection, makes the indexes, ends what a dead process began, and puts the stores
// together. Texts are compared as they are: by the types of the ports and the checks of the edge no object stands where
// a text belongs. No transactions and no change streams: single documents and unique indexes decide. Any number of
// nodes may share one database.
import { type Db, MongoClient, MongoError, MongoServerError, MongoServerSelectionError } from 'mongodb';
import { createKeyedMutex } from '../../src/shared/concurrency/keyed-mutex.ts';
import { withTimeout } from '../../src/shared/concurrency/with-timeout.ts';
import { connectFailure } from '../../src/shared/connect-failure.ts';
import { HubError } from '../../src/shared/error.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import type { ReachNotes } from '../../src/shared/ports/reach.ts';
import type { DocumentStore } from '../../src/shared/ports/store.ts';
import { mongoAgentStreams } from './agent-streams.ts';
import { mongoAgents } from './agents.ts';
import { mongoAiUsage } from './ai-usage.ts';
import type { ApprovalRow } from './approval-rows.ts';
import { mongoApprovals } from './approvals.ts';
import { type AuditCollections, mongoAudit, noteWrite } from './audit.ts';
import { type BundleCollections, bundleHasVersion, mongoBundles } from './bundles.ts';
import { mongoChannels } from './channels.ts';
import { claimFormat } from './cluster-format.ts';
import { mongoCompositions } from './compositions.ts';
import { mongoContracts } from './contracts.ts';
import { mongoDeliveries } from './deliveries.ts';
import { mongoDeployments } from './deployments.ts';
import type { EventRow } from './event-filter.ts';
import { notingAgents } from './event-ingest.ts';
import { mongoEvents } from './events.ts';
import { type ExportLinkRow, ExportLog } from './export-log.ts';
import { exportRemovals } from './export-removals.ts';
import { mongoExports } from './exports.ts';
import { asHubError, type GuardedStore, guardStore, retryAfter, unavailable } from './failure.ts';
import { mongoIdempotency } from './idempotency.ts';
import { mongoIdentities } from './identities.ts';
import { createIndexes } from './indexes.ts';
import { mongoInstallation } from './installation.ts';
import { mongoKeyCheck } from './key-check.ts';
import { mongoKeys } from './keys.ts';
import type { Library } from './library.ts';
import { mongoLogins } from './logins.ts';
import { refuseUnfinishedMove } from './move/marker.ts';
import { readTenant } from './move/tenant-source.ts';
import { mongoOperatorTokens } from './operator-tokens.ts';
import { mongoReachNotes } from './reach-notes.ts';
import { mongoRetention } from './retention.ts';
import { mongoRules } from './rules.ts';
import { mongoRuns, touchingRuns } from './runs.ts';
import { mongoServiceAccounts } from './service-accounts.ts';
import { mongoSettings } from './settings.ts';
import { mongoSigning } from './signing.ts';
import { mongoTenantFiles } from './tenant-files.ts';
import { mongoTenantRecords } from './tenant-records.ts';
import { finishFounding, mongoTenants, type TenantCollections } from './tenants.ts';
import { mongoTools } from './tools.ts';
import { mongoUsage } from './usage.ts';
import { risingIds } from './uuidv7.ts';
import { mongoViews } from './views.ts';
import { mongoWorkspaces } from './workspaces.ts';

export interface MongoOptions {
  /** A connection string. The database is the one it names, `reeve` when it names none. */
  readonly url: string;
  /** Instead of the one in `url`. */
  readonly database?: string;
  /** The name of this node among its cluster's, for what it leaves when it dies. */
  readonly node?: string;
  readonly log: Log;
  readonly clock: Clock;
}

const pingMs = 2000;
const authenticationFailed = 18;

/** Any command but one that builds an index: that takes as long as the collection is large. */
const commandMs = 8000;

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
    maxPoolSize: 64,
    maxConnecting: 8,
    serverSelectionTimeoutMS: connectMs,
    connectTimeoutMS: connectMs,
    socketTimeoutMS,
    waitQueueTimeoutMS: 4000,
    writeConcern: { w: 'majority', journal: true },
    readConcern: { level: 'majority' },
    readPreference: 'primary',
    // A repeated compare-and-set would take its own first write for another's: whoever calls knows whether to repeat.
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
export async function openMongo({ url, database, node, log, clock }: MongoOptions): Promise<MongoStore> {
  const client = connect(url);
  const db = client.db(database ?? databaseOf(url));
  const founding: TenantCollections = {
    users: db.collection('users'),
    tenants: db.collection('tenants'),
    signing: db.collection('signing'),
  };
  try {
    await client.connect();
    // Before anything is written: a database that does not fit stays as it is.
    await refuseUnfinishedMove(db);
    const patiently = (task: (db: Db) => Promise<void>) => withoutTimeout(url, db.databaseName, task);
    await claimFormat(
      db.collection('formats'),
      async () => (await founding.users.findOne()) === null,
      patiently,
    );
    await patiently((own) => createIndexes(own, log));
    await finishFounding(founding);
  } catch (error) {
    await client.close();
    throw notOpened(error, client.options.tls === true, log);
  }

  // The process's own calls must not lose to each other at compare-and-set.
  const turn = createKeyedMutex({ now: clock.monotonic, maxWaitMs: 5_000, refusal: unavailable });
  const nextId = risingIds();
  const guard = guardStore(log, clock, () =>
    db.collection('probes').updateOne({ name: 'probe' }, { $inc: { count: 1 } }, { upsert: true }),
  );
  const bundles: BundleCollections = {
    signing: founding.signing,
    deployments: db.collection('deployments'),
    bundles: db.collection('bundles'),
  };
  const library: Library = {
    documents: db.collection('libraries'),
    rows: db.collection('contracts'),
    turn,
    newId: () => nextId(clock.now()),
  };
  const { ping } = guard.guarded({ ping: () => roundTrip(db, clock) });
  const chain: AuditCollections = {
    links: db.collection('auditLinks'),
    heads: db.collection('auditHeads'),
    intents: db.collection('auditIntents'),
  };
  const audit = mongoAudit(chain);
  const tenants = mongoTenants(founding);
  const agents = mongoAgents(db.collection('agents'), db.collection('reports'), db.collection('leftOut'));
  const exportReading = {
    links: db.collection<ExportLinkRow>('exportLinks'),
    events: db.collection<EventRow>('events'),
    approvals: db.collection<ApprovalRow>('approvals'),
  };
  const exportLog = new ExportLog({ ...exportReading, batches: db.collection('eventBatches') }, clock);
  const removals = exportRemovals(db.collection('exportRemovals'), exportReading.links, exportReading.events);
  const events = mongoEvents(exportReading.events, db.collection('runs'), audit, nextId, clock, {
    log: exportLog,
    removals,
  });
  const stores = {
    tenants: guard.guarded(tenants),
    tenantRecords: guard.guarded(mongoTenantRecords(db, founding)),
    tenantFiles: guard.guarded(mongoTenantFiles(db)),
    retention: guard.guarded(
      mongoRetention({
        events: db.collection('events'),
        runs: db.collection('runs'),
        approvals: db.collection('approvals'),
        approvalArgs: db.collection('approvalArgs'),
        deliveries: db.collection('deliveries'),
        counts: db.collection('retentionCounts'),
        removals,
      }),
    ),
    logins: guard.guarded(mongoLogins(db.collection('logins'), db.collection('signIns'))),
    identities: guard.guarded(mongoIdentities(db.collection('identities'))),
    keys: guard.guarded(mongoKeys(db.collection('keys'))),
    serviceAccounts: guard.guarded(
      mongoServiceAccounts(db.collection('serviceAccounts'), db.collection('serviceTokens')),
    ),
    operatorTokens: guard.guarded(mongoOperatorTokens(db.collection('operatorTokens'))),
    views: guard.guarded(mongoViews(db.collection('views'))),
    signing: guard.guarded(
      mongoSigning(founding.signing, turn, (tenantId) => finishFounding(founding, tenantId)),
    ),
    contracts: guard.guarded(mongoContracts(library)),
    compositions: guard.guarded(mongoCompositions(library)),
    bundles: guard.guarded(mongoBundles(bundles, turn)),
    deployments: guard.guarded(mongoDeployments(bundles, turn, bundleHasVersion(bundles.bundles))),
    events: guard.guarded({ ...events, ingest: notingAgents(events.ingest, agents) }),
    runs: guard.guarded(
      mongoRuns(db.collection('runs'), db.collection('events'), db.collection('approvals'), audit, clock),
    ),
    usage: guard.guarded(mongoUsage(db.collection('events'))),
    approvals: guard.guarded(
      touchingRuns(
        mongoApprovals(exportReading.approvals, db.collection('approvalArgs'), nextId, clock, exportLog),
        db.collection('runs'),
      ),
    ),
    agents: guard.guarded(agents),
    agentStreams: guard.guarded(mongoAgentStreams(db.collection('agentStreams'))),
    rules: guard.guarded(mongoRules(db.collection('rules'))),
    tools: guard.guarded(
      mongoTools({ documents: db.collection('toolPins'), rows: db.collection('toolDefinitions') }, turn),
    ),
    settings: guard.guarded(mongoSettings(db.collection('settings'))),
    aiUsage: guard.guarded(mongoAiUsage(db.collection('aiUsage'))),
    channels: guard.guarded(mongoChannels(db.collection('channels'))),
    deliveries: guard.guarded(mongoDeliveries(db.collection('deliveries'))),
    keyCheck: guard.guarded(mongoKeyCheck(db.collection('seals'))),
    workspaces: guard.guarded(mongoWorkspaces(db.collection('workspaces'))),
    idempotency: guard.guarded(mongoIdempotency(db.collection('idempotency'))),
    installation: guard.guarded(mongoInstallation(db, tenants.tenantIds)),
    exports: guard.guarded(mongoExports({ ...exportReading, removals })),
  };
  return {
    ...stores,
    audit: guard.guarded(audit),
    // The write itself goes through the guard: only its error tells whether it may have been carried out.
    noting: (noting) =>
      notingEach(guard, stores, (write) =>
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
      await exportLog.close();
      await client.close();
    },
  };
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

/** The failure to open, for whoever operates the hub. */
export function notOpened(error: unknown, usesTls: boolean, log: Log): unknown {
  if (error instanceof MongoServerError && error.code !== authenticationFailed) return asHubError(error, log);
  if (!(error instanceof MongoError)) return error;
  // One server's failure tells more than that none could be selected.
  const servers = error instanceof MongoServerSelectionError ? error.reason?.servers : undefined;
  const failures = [...(servers?.values() ?? [])].flatMap((server) => server.error ?? []);
  const cause = connectFailure(failures[0] ?? error, usesTls);
  return new HubError('unavailable', `The hub cannot use MongoDB (MONGODB_URL): ${cause}`, { retryAfter });
}

/** Milliseconds of one command. @throws HubError('unavailable') after 2 s */
async function roundTrip(db: Db, clock: Clock): Promise<number> {
  const begun = clock.monotonic();
  await withTimeout(clock, pingMs, db.command({ ping: 1 }), unavailable);
  return clock.monotonic() - begun;
}

type Stores = { readonly [name: string]: object };

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
