// Identities of people at the identity provider in SQLite.
import type { IdentityStore } from '../../src/user/port/identities.ts';
import { identityRecord, type LinkedAccount } from '../../src/user/record.ts';
import type { Database } from './database.ts';
import type { Sync } from './sync.ts';
import { tableOf } from './table.ts';

export const identities = tableOf<LinkedAccount>(identityRecord);

export function identityStore(db: Database): Sync<IdentityStore> {
  const find = (issuer: string, subject: string): LinkedAccount | null =>
    identities.maybe(
      db.get(`SELECT ${identities.columns} FROM identities WHERE issuer = ? AND subject = ?`, [
        issuer,
        subject,
      ]),
    );
  const ofUser = (userId: string): LinkedAccount | null =>
    identities.maybe(db.get(`SELECT ${identities.columns} FROM identities WHERE user_id = ?`, [userId]));
  return {
    get: find,
    getOfUser: ofUser,
    create(identity) {
      const stored = find(identity.issuer, identity.subject);
      if (stored) return stored.userId === identity.userId ? 'created' : 'taken';
      if (ofUser(identity.userId)) return 'taken';
      db.run(identities.insert, identities.values(identity));
      return 'created';
    },
    removeOfUser(userId) {
      db.run('DELETE FROM identities WHERE user_id = ?', [userId]);
    },
  };
}
