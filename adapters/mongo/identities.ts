// Identities of people at the identity provider in MongoDB: one document each, under issuer and subject; a person has
// one, which a unique index decides.
import type { Collection } from 'mongodb';
import type { IdentityStore } from '../../src/user/port/identities.ts';
import { identityRecord, type LinkedAccount } from '../../src/user/record.ts';
import { unlessTaken } from './failure.ts';

export type IdentityRow = ReturnType<typeof identityRecord.toDocument> & { readonly _id: string };

const idOf = ({ issuer, subject }: Pick<LinkedAccount, 'issuer' | 'subject'>): string =>
  JSON.stringify([issuer, subject]);

const identityOf = (row: IdentityRow | null): LinkedAccount | null => row && identityRecord.fromDocument(row);

export const mongoIdentities = (identities: Collection<IdentityRow>): IdentityStore => ({
  get: async (issuer, subject) => identityOf(await identities.findOne({ _id: idOf({ issuer, subject }) })),
  getOfUser: async (userId) => identityOf(await identities.findOne({ userId })),
  async create(identity) {
    const row = { _id: idOf(identity), ...identityRecord.toDocument(identity) };
    if (await unlessTaken(identities.insertOne(row))) return 'created';
    const stored = await identities.findOne({ _id: row._id });
    return stored?.userId === identity.userId ? 'created' : 'taken';
  },
  async removeOfUser(userId) {
    await identities.deleteMany({ userId });
  },
});
