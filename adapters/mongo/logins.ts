// Logins in MongoDB: one document each, under the hash of its token.
import type { Collection } from 'mongodb';
import type { Login } from '../../src/domain/tenant.ts';
import type { LoginStore } from '../../src/ports/identity.ts';

export type LoginRow = Omit<Login, 'tokenHash'> & { readonly _id: string };

export function mongoLogins(logins: Collection<LoginRow>): LoginStore {
  return {
    async put({ tokenHash, ...rest }) {
      await logins.replaceOne({ _id: tokenHash }, rest, { upsert: true });
    },
    async get(tokenHash, now) {
      const row = await logins.findOne({ _id: tokenHash, expiresAt: { $gt: now } });
      if (row === null) return null;
      const { _id, ...rest } = row;
      return { tokenHash: _id, ...rest };
    },
    async extend(tokenHash, expiresAt) {
      await logins.updateOne({ _id: tokenHash }, { $set: { expiresAt } });
    },
    async remove(tokenHash) {
      await logins.deleteOne({ _id: tokenHash });
    },
    async removeOfUser(userId) {
      await logins.deleteMany({ userId });
    },
    async sweep(now) {
      const { deletedCount } = await logins.deleteMany({ expiresAt: { $lte: now } });
      return deletedCount;
    },
  };
}
