// API keys in SQLite.

import type { KeyStore } from '../../src/key/port.ts';
import { type ApiKey, keyRecord } from '../../src/key/record.ts';
import { taken } from '../../src/shared/error.ts';
import type { Database } from './database.ts';
import { pageOf } from './page.ts';
import type { Sync } from './sync.ts';
import { tableOf } from './table.ts';

export const keys = tableOf<ApiKey>(keyRecord);

export function keyStore(db: Database): Sync<KeyStore> {
  return {
    create(key) {
      if (db.get('SELECT 1 FROM keys WHERE id = ?', [key.id])) throw taken();
      db.run(keys.insert, keys.values(key));
    },
    list: (tenantId, page) =>
      pageOf(db, page, {
        which: `SELECT rowid FROM keys WHERE tenant_id = ? AND revoked_at IS NULL
          ORDER BY created_at DESC, rowid DESC`,
        params: [tenantId],
        row: `SELECT ${keys.columns} FROM keys WHERE rowid = ?`,
        read: keys.read,
      }),
    getByHash: (hash) => keys.maybe(db.get(`SELECT ${keys.columns} FROM keys WHERE hash = ?`, [hash])),
    revoke: (tenantId, id, now) =>
      keys.maybe(
        db.get(
          `UPDATE keys SET revoked_at = ? WHERE tenant_id = ? AND id = ? AND revoked_at IS NULL
             RETURNING ${keys.columns}`,
          [now, tenantId, id],
        ),
      ),
    used(uses) {
      for (const { id, at } of uses) {
        db.run('UPDATE keys SET last_used_at = max(ifnull(last_used_at, ?), ?) WHERE id = ?', [at, at, id]);
      }
    },
  };
}
