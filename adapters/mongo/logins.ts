// Logins in MongoDB: one document each, under the hash of its token, and one for each network that a user signed in
// from.
import type { Collection } from 'mongodb';
import { type LoginStore, maxNetworks } from '../../src/user/port/logins.ts';
import type { Login } from '../../src/user/record.ts';
import { unlessTaken } from './failure.ts';
import { deleteSome } from './removal.ts';

export type LoginRow = Omit<Login, 'tokenHash'> & { readonly _id: string };

const loginOf = ({ _id, ...row }: LoginRow): Login => ({ tokenHash: _id, ...row });

export interface SignInRow {
  /** User and network. */
  readonly _id: string;
  readonly userId: string;
  readonly lastAt: number;
}

export function mongoLogins(logins: Collection<LoginRow>, signIns: Collection<SignInRow>): LoginStore {
  const idOf = (userId: string, network: string): string => JSON.stringify([userId, network]);
  return {
    async create({ tokenHash, ...rest }) {
      await logins.replaceOne({ _id: tokenHash }, rest, { upsert: true });
    },
    async get(tokenHash, now) {
      const row = await logins.findOne({ _id: tokenHash, expiresAt: { $gt: now } });
      return row && loginOf(row);
    },
    async extend(tokenHash, expiresAt, now) {
      await logins.updateOne({ _id: tokenHash }, { $set: { expiresAt, lastSeenAt: now } });
    },
    async listOfUser(userId, now, limit) {
      const open = logins.find({ userId, expiresAt: { $gt: now } });
      return (await open.sort({ createdAt: -1, _id: 1 }).limit(limit).toArray()).map(loginOf);
    },
    async listOfProviderSession(session, now, limit) {
      const open = logins.find({ providerSession: session, expiresAt: { $gt: now } });
      return (await open.limit(limit).toArray()).map(loginOf);
    },
    async remove(tokenHash) {
      await logins.deleteOne({ _id: tokenHash });
    },
    async removeOfUser(userId, except) {
      await logins.deleteMany(except === undefined ? { userId } : { userId, _id: { $ne: except } });
    },
    async removeExpired(now) {
      const { deletedCount } = await logins.deleteMany({ expiresAt: { $lte: now } });
      return deletedCount;
    },
    async signedInFrom(userId, network, now) {
      const _id = idOf(userId, network);
      const change = { $max: { lastAt: now }, $setOnInsert: { userId } };
      if (!(await unlessTaken(signIns.updateOne({ _id }, change, { upsert: true })))) {
        await signIns.updateOne({ _id }, { $max: { lastAt: now } });
      }
      await deleteSome(signIns, { userId }, { sort: { lastAt: -1 }, skip: maxNetworks });
    },
    async hasSignedInFrom(userId, network, since) {
      return (await signIns.findOne({ _id: idOf(userId, network), lastAt: { $gte: since } })) !== null;
    },
    async removeNetworks(before) {
      const { deletedCount } = await signIns.deleteMany({ lastAt: { $lt: before } });
      return deletedCount;
    },
  };
}
