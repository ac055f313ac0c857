// Records of operators' tokens in MongoDB: one document each.
import type { Collection } from 'mongodb';
import type { OperatorTokenRecord, OperatorTokenStore } from '../../src/user/port/operator-tokens.ts';
import { whenTaken } from './failure.ts';
import { fromRow, type Row, toRow } from './form.ts';
import { pageOf } from './page.ts';
import { deleteSome } from './removal.ts';

export type OperatorTokenRow = Row<OperatorTokenRecord>;

const record = (row: OperatorTokenRow): OperatorTokenRecord => fromRow<OperatorTokenRecord>(row);

export function mongoOperatorTokens(tokens: Collection<OperatorTokenRow>): OperatorTokenStore {
  return {
    async create(token) {
      await tokens.insertOne(toRow(token)).catch(whenTaken);
    },
    list(tenantId, page, now) {
      const open = { tenantId, revokedAt: null, expiresAt: { $gt: now } };
      return pageOf(tokens.find(open).sort({ createdAt: -1, _id: -1 }), page, record);
    },
    async isRevoked(id) {
      return (
        (await tokens.findOne({ _id: id, revokedAt: { $ne: null } }, { projection: { _id: 1 } })) !== null
      );
    },
    async revoke(tenantId, id, now) {
      const row = await tokens.findOneAndUpdate(
        { _id: id, tenantId, revokedAt: null, expiresAt: { $gt: now } },
        { $set: { revokedAt: now } },
        { returnDocument: 'after' },
      );
      return row && record(row);
    },
    removeExpired: (now, limit) => deleteSome(tokens, { expiresAt: { $lte: now } }, { limit }),
  };
}
