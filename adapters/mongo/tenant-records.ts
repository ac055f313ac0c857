// Tenants as a whole in MongoDB, and their removal: all documents of a tenant, in every collection.
import type { Collection, Db, Document } from 'mongodb';
import type { TenantFigures, TenantRecord, TenantRecordStore } from '../../src/tenant/port/records.ts';
import { fromRow, listIdsOf } from './form.ts';
import { deleteSome } from './removal.ts';
import type { TenantCollections, TenantRow } from './tenants.ts';

/** A tenant's document. Absent: never suspended, not removed. */
type Stored = TenantRow & Partial<Pick<TenantRecord, 'suspendedAt' | 'removedAt'>>;

const maxClosed = 100_000;

/** The installation's own, and the tenant's own record, which goes last. */
const kept = new Set(['formats', 'probes', 'seals', 'tenants']);

const recordIn = ({ _id, name, createdAt, suspendedAt = null, removedAt = null }: Stored): TenantRecord =>
  fromRow<TenantRecord>({ _id, name, createdAt, suspendedAt, removedAt });

const record = (row: Stored | null): TenantRecord | null => row && recordIn(row);

const recordOf = async (stored: Collection<Stored>, id: string): Promise<TenantRecord | null> =>
  record(await stored.findOne({ _id: id }));

/** All records of a tenant in a collection: a field names it, or the id begins with it. */
const ofTenant = (tenantId: string): Document => ({
  $or: [
    { tenantId },
    { 'note.tenantId': tenantId },
    { 'founding.tenant._id': tenantId },
    { _id: { $gte: tenantId, $lt: `${tenantId}\uffff` } },
    { _id: listIdsOf(tenantId) },
  ],
});

async function figuresOf(db: Db, tenantId: string): Promise<TenantFigures> {
  const events = db.collection('events');
  const [agents, count, [size]] = await Promise.all([
    db.collection('agents').countDocuments({ tenantId, retiredAt: null }),
    events.countDocuments({ tenantId }),
    events
      .aggregate<{ bytes: number }>([
        { $match: { tenantId } },
        { $group: { _id: null, bytes: { $sum: { $bsonSize: '$$ROOT' } } } },
      ])
      .toArray(),
  ]);
  return { agents, events: count, bytes: size?.bytes ?? 0 };
}

async function removeRecords(
  db: Db,
  users: TenantCollections['users'],
  tenantId: string,
  limit: number,
): Promise<number> {
  const people = await users.find({ tenantId }, { projection: { _id: 1 } }).toArray();
  const signIns = { userId: { $in: people.map(({ _id }) => _id) } };
  let erased = await deleteSome(db.collection('signIns'), signIns, { limit });
  const names = (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name);
  for (const name of names) {
    if (erased >= limit) break;
    if (!kept.has(name) && !name.startsWith('system.')) {
      erased += await deleteSome(db.collection(name), ofTenant(tenantId), { limit: limit - erased });
    }
  }
  return erased;
}

export function mongoTenantRecords(db: Db, { users, tenants }: TenantCollections): TenantRecordStore {
  const stored = tenants as unknown as Collection<Stored>;

  return {
    async list(limit, after) {
      const { createdAt, id } = after ?? { createdAt: -1, id: '' };
      const later = { $or: [{ createdAt: { $gt: createdAt } }, { createdAt, _id: { $gt: id } }] };
      return (await stored.find(later).sort({ createdAt: 1, _id: 1 }).limit(limit).toArray()).map(recordIn);
    },
    get: (id) => recordOf(stored, id),
    getFigures: (tenantId) => figuresOf(db, tenantId),
    async update(tenantId, patch) {
      if (Object.keys(patch).length > 0) await stored.updateOne({ _id: tenantId }, { $set: patch });
      return recordOf(stored, tenantId);
    },
    async markRemoved(tenantId, at) {
      await stored.updateOne({ _id: tenantId, removedAt: null }, { $set: { removedAt: at } });
      return recordOf(stored, tenantId);
    },
    async listClosed() {
      const filter = { $or: [{ suspendedAt: { $gt: 0 } }, { removedAt: { $gt: 0 } }] };
      return (await stored.find(filter).sort({ removedAt: 1, _id: 1 }).limit(maxClosed).toArray()).map(
        recordIn,
      );
    },
    removeRecords: (tenantId, limit) => removeRecords(db, users, tenantId, limit),
    async remove(tenantId) {
      await stored.deleteOne({ _id: tenantId });
    },
  };
}
