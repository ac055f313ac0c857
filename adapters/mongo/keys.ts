// API keys in MongoDB: one document each, unique by hash. Revoked ones stay, so that their hash stays taken.
import type { Collection } from 'mongodb';
import type { KeyStore } from '../../src/tenant/port/identity.ts';
import type { ApiKey } from '../../src/tenant/record.ts';
import { whenTaken } from './failure.ts';
import { fromRow, type Row, toRow } from './form.ts';
import { pageOf } from './page.ts';

export type KeyRow = Row<ApiKey>;

/** Keys of earlier versions have neither. */
const unbound = { agentPattern: null, expiresAt: null };
const record = (row: KeyRow): ApiKey => fromRow<ApiKey>({ ...unbound, ...row });
const recordOrNull = (row: KeyRow | null): ApiKey | null => row && record(row);

export function mongoKeys(keys: Collection<KeyRow>): KeyStore {
  return {
    async insert(key) {
      await keys.insertOne(toRow(key)).catch(whenTaken);
    },
    list: (tenantId, page) =>
      pageOf(keys.find({ tenantId, revokedAt: null }).sort({ createdAt: -1, _id: -1 }), page, record),
    async byHash(hash) {
      return recordOrNull(await keys.findOne({ hash }));
    },
    async revoke(tenantId, id, now) {
      const open = { _id: id, tenantId, revokedAt: null };
      const row = await keys.findOneAndUpdate(
        open,
        { $set: { revokedAt: now } },
        { returnDocument: 'after' },
      );
      return recordOrNull(row);
    },
    async used(uses) {
      if (uses.length === 0) return;
      // $max takes any number for more than null.
      const writes = uses.map(({ id, at }) => ({
        updateOne: { filter: { _id: id }, update: { $max: { lastUsedAt: at } } },
      }));
      await keys.bulkWrite(writes, { ordered: false });
    },
  };
}
