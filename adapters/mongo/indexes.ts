// Every index, by collection. Unique ones carry promises; the others carry queries. Looked for at each start.

import { type Db, type IndexDescription, MongoServerError } from 'mongodb';
import type { Log } from '../../src/shared/ports/log.ts';

const indexes: { readonly [collection: string]: readonly IndexDescription[] } = {
  users: [
    { key: { email: 1 }, unique: true },
    { key: { tenantId: 1, email: 1 } },
    { key: { first: 1 }, unique: true, sparse: true },
    { key: { 'founding.tenant._id': 1 }, sparse: true },
  ],
  logins: [
    { key: { userId: 1 } },
    { key: { expiresAt: 1 } },
    { key: { providerSession: 1 }, partialFilterExpression: { providerSession: { $type: 'string' } } },
  ],
  identities: [{ key: { userId: 1 }, unique: true }],
  tenantImports: [{ key: { tenantId: 1 }, unique: true }],
  signIns: [{ key: { userId: 1, lastAt: -1 } }, { key: { lastAt: 1 } }],
  serviceAccounts: [{ key: { tenantId: 1, name: 1 }, unique: true }],
  serviceTokens: [
    { key: { hash: 1 }, unique: true },
    { key: { tenantId: 1, accountId: 1, createdAt: -1 } },
    { key: { expiresAt: 1 } },
  ],
  views: [{ key: { tenantId: 1, ownerId: 1 } }, { key: { tenantId: 1, isShared: 1 } }],
  agentStreams: [
    { key: { tenantId: 1, env: 1, agentId: 1, startedAt: -1 } },
    { key: { tenantId: 1, env: 1, endedAt: 1, _id: 1 } },
    { key: { startedAt: 1 } },
  ],
  operatorTokens: [{ key: { tenantId: 1, createdAt: -1 } }, { key: { expiresAt: 1 } }],
  keys: [{ key: { hash: 1 }, unique: true }, { key: { tenantId: 1, createdAt: -1 } }],
  bundles: [
    { key: { tenantId: 1, name: 1, version: -1 }, unique: true },
    { key: { tenantId: 1, revisionHash: 1 } },
  ],
  deployments: [
    { key: { tenantId: 1, order: -1 } },
    { key: { tenantId: 1, env: 1, order: -1 } },
    { key: { tenantId: 1, bundleName: 1, order: -1 } },
  ],
  contracts: [{ key: { lineage: 1, version: -1 } }],
  events: [
    { key: { tenantId: 1, callId: 1 }, unique: true },
    { key: { tenantId: 1, ts: -1, _id: -1 } },
    { key: { tenantId: 1, agentId: 1, ts: -1, _id: -1 } },
    { key: { tenantId: 1, verdicts: 1, ts: -1, _id: -1 } },
    { key: { tenantId: 1, receivedAt: 1 } },
    {
      key: { tenantId: 1, runId: 1, ts: -1, _id: -1 },
      partialFilterExpression: { runId: { $exists: true } },
    },
    {
      key: { tenantId: 1, session: 1, ts: -1, _id: -1 },
      partialFilterExpression: { session: { $exists: true } },
    },
    {
      key: { tenantId: 1, parentSession: 1, ts: -1, _id: -1 },
      partialFilterExpression: { parentSession: { $exists: true } },
    },
    {
      key: { tenantId: 1, givenCallId: 1 },
      partialFilterExpression: { givenCallId: { $exists: true } },
    },
    { key: { alsoIn: 1 }, partialFilterExpression: { alsoIn: { $exists: true } } },
    { key: { tenantId: 1 }, partialFilterExpression: { sample: true } },
    { key: { 'outcomes.by': 1 }, partialFilterExpression: { 'outcomes.by': { $exists: true } } },
  ],
  runs: [
    { key: { tenantId: 1, lastAt: -1, agentId: 1, sessionId: 1 } },
    { key: { tenantId: 1, agentId: 1, lastAt: -1 } },
    { key: { tenantId: 1, sessionId: 1 } },
    { key: { tenantId: 1, 'open.at': 1 }, sparse: true },
    { key: { tenantId: 1, receivedAt: 1 } },
  ],
  approvals: [
    { key: { tenantId: 1, createdAt: -1, arrival: -1 } },
    { key: { tenantId: 1, status: 1, env: 1, deadline: 1 } },
    { key: { deadline: 1 }, partialFilterExpression: { status: 'pending' } },
    { key: { unannouncedAt: 1 }, sparse: true },
    { key: { unlined: 1 }, sparse: true },
  ],
  approvalArgs: [{ key: { tenantId: 1, env: 1, keyId: 1, bytes: 1 } }, { key: { createdAt: 1 } }],
  agents: [
    { key: { tenantId: 1, agentId: 1 }, unique: true },
    { key: { tenantId: 1, retiredAt: 1, agentId: 1 } },
    { key: { tenantId: 1, lastEnv: 1, lastApi: 1, agentId: 1 } },
    { key: { lastSeenAt: 1 } },
    { key: { retiredAt: 1, bundleName: 1, lastSeenAt: 1 } },
  ],
  leftOut: [{ key: { hour: 1 } }],
  reports: [{ key: { tenantId: 1, env: 1, at: -1 } }, { key: { tenantId: 1, agentId: 1 } }],
  auditLinks: [
    { key: { tenantId: 1, seq: -1 }, unique: true },
    { key: { tenantId: 1, 'entries.id': 1 }, unique: true },
    { key: { tenantId: 1, 'entries.subjectType': 1, seq: -1 } },
    { key: { tenantId: 1, at: 1 } },
  ],
  auditHeads: [{ key: { tenantId: 1, seq: -1 } }],
  auditIntents: [{ key: { at: 1 } }],
  exportLinks: [
    { key: { tenantId: 1, kind: 1, seq: 1 }, unique: true },
    { key: { tenantId: 1, kind: 1, 'items.id': 1 }, unique: true },
  ],
  idempotency: [{ key: { expiresAt: 1 } }],
  aiUsage: [{ key: { tenantId: 1, day: 1 } }, { key: { day: 1 } }],
  channels: [{ key: { tenantId: 1, createdAt: -1 } }, { key: { kind: 1, enabled: 1, createdAt: -1 } }],
  deliveries: [
    { key: { tenantId: 1, channelId: 1, createdAt: -1 } },
    { key: { approvalId: 1 } },
    { key: { tenantId: 1, updatedAt: 1 } },
  ],
  toolDefinitions: [
    { key: { tenantId: 1, env: 1, lastSeenAt: 1 } },
    { key: { tenantId: 1, server: 1, tool: 1 } },
    { key: { lastSeenAt: 1 } },
  ],
  rules: [{ key: { tenantId: 1, priority: 1 }, unique: true }],
};

const noSuchCollection = 26;

/** Comparison key: equal for two descriptions of the same index. */
const formOf = ({ key, unique, sparse, partialFilterExpression }: IndexDescription): string =>
  JSON.stringify([Object.entries(key), unique === true, sparse === true, partialFilterExpression ?? null]);

/** Indexes of a collection that are not there. */
async function missingOf(db: Db, name: string) {
  const existing = await db
    .collection(name)
    .listIndexes()
    .toArray()
    .catch((error: unknown) => {
      if (error instanceof MongoServerError && error.code === noSuchCollection) return [];
      throw error;
    });
  const forms = new Set(existing.map(formOf));
  const missing = (indexes[name] ?? []).filter((index) => !forms.has(formOf(index)));
  return { isEmpty: existing.length === 0, missing };
}

/** Collections with documents that lack indexes: a start makes them. */
export async function unindexedCollections(db: Db): Promise<readonly string[]> {
  const names: string[] = [];
  for (const name of Object.keys(indexes)) {
    const { isEmpty, missing } = await missingOf(db, name);
    if (!isEmpty && missing.length > 0) names.push(name);
  }
  return names;
}

/**
 * Makes those that are missing. Where all are there this only reads: creating an index takes turns with the writes of
 * its collection, and a node that starts beside busy ones would wait for that.
 */
export async function createIndexes(db: Db, log?: Log): Promise<void> {
  for (const name of Object.keys(indexes)) {
    const { isEmpty, missing } = await missingOf(db, name);
    if (missing.length === 0) continue;
    // An empty collection is indexed at once.
    if (!isEmpty) log?.info({ collection: name, indexes: missing.length }, 'building indexes');
    await db.collection(name).createIndexes(missing);
  }
}
