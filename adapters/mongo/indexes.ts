// Every index, by collection. Unique ones carry promises; the others carry queries. Created at each start, which is harmless when they are there.
import type { Db, IndexDescription } from 'mongodb';

const indexes: { readonly [collection: string]: readonly IndexDescription[] } = {
  users: [
    { key: { email: 1 }, unique: true },
    { key: { first: 1 }, unique: true, sparse: true },
    { key: { 'founding.tenant._id': 1 }, sparse: true },
  ],
  logins: [{ key: { userId: 1 } }, { key: { expiresAt: 1 } }],
  keys: [{ key: { hash: 1 }, unique: true }, { key: { tenantId: 1, createdAt: -1 } }],
  bundles: [{ key: { tenantId: 1, name: 1, version: -1 }, unique: true }],
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
  ],
  approvals: [
    { key: { tenantId: 1, createdAt: -1, arrival: -1 } },
    { key: { tenantId: 1, status: 1, deadline: 1 } },
    { key: { deadline: 1 }, partialFilterExpression: { status: 'pending' } },
    { key: { unannouncedAt: 1 }, sparse: true },
  ],
  agents: [{ key: { tenantId: 1, agentId: 1 }, unique: true }, { key: { lastSeenAt: 1 } }],
  reports: [{ key: { tenantId: 1, env: 1 } }, { key: { tenantId: 1, agentId: 1 } }],
  rules: [{ key: { tenantId: 1, priority: 1 }, unique: true }],
  values: [{ key: { tenantId: 1, key: 1 }, unique: true }, { key: { expiresAt: 1 } }],
};

export async function createIndexes(db: Db): Promise<void> {
  for (const [collection, wanted] of Object.entries(indexes)) {
    await db.collection(collection).createIndexes([...wanted]);
  }
}
