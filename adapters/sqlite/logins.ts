// Login sessions in SQLite.
import type { Login } from '../../src/domain/tenant.ts';
import type { LoginStore } from '../../src/ports/identity.ts';
import type { Database } from './database.ts';
import type { Sync } from './sync.ts';
import { number, table, text } from './table.ts';

const logins = table<Login>('logins', {
  tokenHash: text('token_hash'),
  userId: text('user_id'),
  tenantId: text('tenant_id'),
  createdAt: number('created_at'),
  expiresAt: number('expires_at'),
});

export function loginStore(db: Database): Sync<LoginStore> {
  return {
    put(login) {
      db.run(
        `${logins.insert} ON CONFLICT (token_hash) DO UPDATE SET user_id = excluded.user_id,
           tenant_id = excluded.tenant_id, created_at = excluded.created_at, expires_at = excluded.expires_at`,
        logins.values(login),
      );
    },
    get: (tokenHash, now) =>
      logins.maybe(
        db.get(`SELECT ${logins.columns} FROM logins WHERE token_hash = ? AND expires_at > ?`, [
          tokenHash,
          now,
        ]),
      ),
    extend(tokenHash, expiresAt) {
      db.run('UPDATE logins SET expires_at = ? WHERE token_hash = ?', [expiresAt, tokenHash]);
    },
    remove(tokenHash) {
      db.run('DELETE FROM logins WHERE token_hash = ?', [tokenHash]);
    },
    removeOfUser(userId) {
      db.run('DELETE FROM logins WHERE user_id = ?', [userId]);
    },
    sweep: (now) => db.run('DELETE FROM logins WHERE expires_at <= ?', [now]),
  };
}
