// Session values in SQLite.
import { type ValueStore, valueTtlMs } from '../../src/ports/values.ts';
import { type Database, givenText, storedText } from './database.ts';
import { diskFull } from './failure.ts';
import type { Sync } from './sync.ts';

const decimal = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/** @param mayGrow false while the disk has too little room for what can wait */
export function valueStore(db: Database, mayGrow: () => boolean): Sync<ValueStore> {
  function get(tenantId: string, key: string, now: number): string | null {
    const row = db.get(
      'SELECT value FROM session_values WHERE tenant_id = ? AND key = ? AND expires_at > ?',
      [tenantId, key, now],
    );
    return row ? givenText(String(row[0])) : null;
  }

  function set(tenantId: string, key: string, value: string, now: number): void {
    db.run(
      `INSERT INTO session_values (tenant_id, key, value, expires_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (tenant_id, key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`,
      [tenantId, key, value, now + valueTtlMs],
    );
  }

  /** True when the value takes more room than the one it replaces, expired or not. */
  function grows(tenantId: string, key: string, value: string): boolean {
    const row = db.get('SELECT octet_length(value) FROM session_values WHERE tenant_id = ? AND key = ?', [
      tenantId,
      key,
    ]);
    return row === undefined || Buffer.byteLength(storedText(value)) > Number(row[0]);
  }

  return {
    get,
    getMany(tenantId, keys, now) {
      const found = new Map<string, string>();
      for (const key of keys) {
        const value = get(tenantId, key, now);
        if (value !== null) found.set(key, value);
      }
      return found;
    },
    set(tenantId, key, value, now) {
      if (!mayGrow() && grows(tenantId, key, value)) throw diskFull();
      set(tenantId, key, value, now);
    },
    increment(tenantId, key, amount, now) {
      const old = get(tenantId, key, now) ?? '0';
      const sum = Number(old) + amount;
      if (!decimal.test(old) || !Number.isFinite(sum)) return 'not_a_number';
      set(tenantId, key, String(sum), now);
      return sum;
    },
    remove(tenantId, key) {
      db.run('DELETE FROM session_values WHERE tenant_id = ? AND key = ?', [tenantId, key]);
    },
    sweep: (now, limit) =>
      db.run(
        `DELETE FROM session_values WHERE rowid IN (SELECT rowid FROM session_values
           WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
        [now, limit],
      ),
  };
}
