// Records of operators' tokens in SQLite.
import { taken } from '../../src/shared/error.ts';
import type { OperatorTokenStore } from '../../src/user/port/operator-tokens.ts';
import { type OperatorTokenRecord, operatorTokenRecord } from '../../src/user/record.ts';
import type { Database } from './database.ts';
import { pageOf } from './page.ts';
import type { Sync } from './sync.ts';
import { tableOf } from './table.ts';

export const operatorTokenTable = `
CREATE TABLE operator_tokens (
  id TEXT NOT NULL UNIQUE, tenant_id TEXT NOT NULL, role TEXT NOT NULL, created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, revoked_at INTEGER);
CREATE INDEX operator_tokens_of_tenant ON operator_tokens (tenant_id, created_at);
CREATE INDEX operator_tokens_expiry ON operator_tokens (expires_at);
`;

export const tokens = tableOf<OperatorTokenRecord>(operatorTokenRecord);

export function operatorTokenStore(db: Database): Sync<OperatorTokenStore> {
  return {
    create(record) {
      if (db.get('SELECT 1 FROM operator_tokens WHERE id = ?', [record.id])) throw taken();
      db.run(tokens.insert, tokens.values(record));
    },
    list: (tenantId, page, now) =>
      pageOf(db, page, {
        which: `SELECT rowid FROM operator_tokens WHERE tenant_id = ? AND revoked_at IS NULL AND expires_at > ?
          ORDER BY created_at DESC, rowid DESC`,
        params: [tenantId, now],
        row: `SELECT ${tokens.columns} FROM operator_tokens WHERE rowid = ?`,
        read: tokens.read,
      }),
    isRevoked: (id) =>
      db.get('SELECT 1 FROM operator_tokens WHERE id = ? AND revoked_at IS NOT NULL', [id]) !== undefined,
    revoke: (tenantId, id, now) =>
      tokens.maybe(
        db.get(
          `UPDATE operator_tokens SET revoked_at = ?
             WHERE tenant_id = ? AND id = ? AND revoked_at IS NULL AND expires_at > ? RETURNING ${tokens.columns}`,
          [now, tenantId, id, now],
        ),
      ),
    removeExpired: (now, limit) =>
      db.run(
        `DELETE FROM operator_tokens WHERE rowid IN
           (SELECT rowid FROM operator_tokens WHERE expires_at <= ? LIMIT ?)`,
        [now, limit],
      ),
  };
}
