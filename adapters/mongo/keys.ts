// API keys in MongoDB: one document each, unique by hash. Revoked ones stay, so that their hash stays taken.
import type { Collection } from 'mongodb';
import type { KeyStore } from '../../src/key/port.ts';
import { type ApiKey, keyRecord } from '../../src/key/record.ts';
import { whenTaken } from './failure.ts';
import { pageOf } from './page.ts';

export type KeyRow = ReturnType<typeof keyRecord.toDocument>;

const recordOrNull = (row: KeyRow | null): ApiKey | null => row && keyRecord.fromDocument(row);

export function mongoKeys(keys: Collection<KeyRow>): KeyStore {
  return {
    async create(key) {
      await keys.insertOne(keyRecord.toDocument(key)).catch(whenTaken);
    },
    list: (tenantId, page) =>
      pageOf(
        keys.find({ tenantId, revokedAt: null }).sort({ createdAt: -1, _id: -1 }),
        page,
        keyRecord.fromDocument,
      ),
    async getByHash(hash) {
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
