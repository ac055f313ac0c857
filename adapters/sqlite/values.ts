// Session values in SQLite.
import { type ValueStore, valueTtlMs } from '../../src/shared/ports/values.ts';
import { type Database, givenText } from './database.ts';
import { diskFull } from './failure.ts';
import type { Sync } from './sync.ts';

const decimal = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

interface Stored {
  readonly env: string;
  readonly bytes: number;
  readonly expiresAt: number;
}

const bytesOf = (key: string, value: string): number => Buffer.byteLength(key) + Buffer.byteLength(value);

/** @param mayGrow false while the disk has too little room for what can wait */
export function valueStore(db: Database, mayGrow: () => boolean): Sync<ValueStore> {
  function get(tenantId: string, key: string, now: number): string | null {
    const row = db.get(
      'SELECT value FROM session_values WHERE tenant_id = ? AND key = ? AND expires_at > ?',
      [tenantId, key, now],
    );
    return row ? givenText(String(row[0])) : null;
  }

  /** What is stored under a key, expired or not, without its value. */
  function stored(tenantId: string, key: string): Stored | null {
    const row = db.get('SELECT env, bytes, expires_at FROM session_values WHERE tenant_id = ? AND key = ?', [
      tenantId,
      key,
    ]);
    return row ? { env: String(row[0]), bytes: Number(row[1]), expiresAt: Number(row[2]) } : null;
  }

  function used(tenantId: string, env: string): { readonly bytes: number; readonly keys: number } {
    const row = db.get('SELECT bytes, keys FROM value_usage WHERE tenant_id = ? AND env = ?', [
      tenantId,
      env,
    ]);
    return { bytes: Number(row?.[0] ?? 0), keys: Number(row?.[1] ?? 0) };
  }

  function put(tenantId: string, env: string, key: string, value: string, now: number): void {
    db.run(
      `INSERT INTO session_values (tenant_id, key, env, bytes, expires_at, value) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT (tenant_id, key) DO UPDATE
         SET env = excluded.env, bytes = excluded.bytes, expires_at = excluded.expires_at, value = excluded.value`,
      [tenantId, key, env, bytesOf(key, value), now + valueTtlMs, value],
    );
  }

  return {
    get,
    getMany(tenantId, keys, now, maxBytes) {
      let bytes = 0;
      for (const key of keys) {
        const held = stored(tenantId, key);
        if (held && held.expiresAt > now) bytes += held.bytes - Buffer.byteLength(key);
        if (bytes > maxBytes) return 'too_large';
      }
      const values = new Map<string, string>();
      for (const key of keys) {
        const value = get(tenantId, key, now);
        if (value !== null) values.set(key, value);
      }
      return values;
    },
    set({ tenantId, env, quota }, key, value, now) {
      const old = stored(tenantId, key);
      const bytes = bytesOf(key, value);
      if (old && bytes <= old.bytes && (old.expiresAt > now || old.env === env)) {
        put(tenantId, old.env, key, value, now);
        return 'set';
      }
      if (!mayGrow()) throw diskFull();
      const before = used(tenantId, env);
      const replaced = old?.env === env ? old.bytes : null;
      if (before.bytes - (replaced ?? 0) + bytes > quota.maxBytes) return 'bytes_full';
      if (replaced === null && before.keys >= quota.maxKeys) return 'keys_full';
      put(tenantId, env, key, value, now);
      return 'set';
    },
    increment({ tenantId, env, quota }, key, amount, now) {
      const old = stored(tenantId, key);
      const lives = old !== null && old.expiresAt > now;
      const text = (lives ? get(tenantId, key, now) : null) ?? '0';
      const sum = Number(text) + amount;
      if (!decimal.test(text) || !Number.isFinite(sum)) return 'not_a_number';
      const isNew = !lives && old?.env !== env;
      if (isNew && used(tenantId, env).keys >= 2 * quota.maxKeys) return 'keys_full';
      put(tenantId, lives ? old.env : env, key, String(sum), now);
      return sum;
    },
    remove(tenantId, key) {
      db.run('DELETE FROM session_values WHERE tenant_id = ? AND key = ?', [tenantId, key]);
    },
    removeAll: (tenantId, limit) =>
      db.run(
        `DELETE FROM session_values WHERE rowid IN (SELECT rowid FROM session_values WHERE tenant_id = ? LIMIT ?)`,
        [tenantId, limit],
      ),
    sweep: (now, limit) =>
      db.run(
        `DELETE FROM session_values WHERE rowid IN (SELECT rowid FROM session_values
           WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
        [now, limit],
      ),
  };
}
