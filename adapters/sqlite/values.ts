// Session values in SQLite.
import { type SessionValue, sessionValueRecord } from '../../src/session/record.ts';
import {
  type QuotaFull,
  type ValueStore,
  type ValueWriter,
  valueTtlMs,
} from '../../src/shared/ports/values.ts';
import { type Database, givenText } from './database.ts';
import { diskFull } from './failure.ts';
import type { Sync } from './sync.ts';
import { tableOf } from './table.ts';

export const sessionValues = tableOf<SessionValue>(sessionValueRecord);

const decimal = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

interface Stored {
  readonly env: string;
  readonly bytes: number;
  readonly expiresAt: number;
}

const bytesOf = (key: string, value: string): number => Buffer.byteLength(key) + Buffer.byteLength(value);

function liveValue(db: Database, tenantId: string, key: string, now: number): string | null {
  const row = db.get('SELECT value FROM session_values WHERE tenant_id = ? AND key = ? AND expires_at > ?', [
    tenantId,
    key,
    now,
  ]);
  return row ? givenText(String(row[0])) : null;
}

/** The entry of a key, expired or not, without its value. */
function storedValue(db: Database, tenantId: string, key: string): Stored | null {
  const row = db.get('SELECT env, bytes, expires_at FROM session_values WHERE tenant_id = ? AND key = ?', [
    tenantId,
    key,
  ]);
  return row ? { env: String(row[0]), bytes: Number(row[1]), expiresAt: Number(row[2]) } : null;
}

function usedBytes(
  db: Database,
  tenantId: string,
  env: string,
): { readonly bytes: number; readonly keys: number } {
  const row = db.get('SELECT bytes, keys FROM value_usage WHERE tenant_id = ? AND env = ?', [tenantId, env]);
  return { bytes: Number(row?.[0] ?? 0), keys: Number(row?.[1] ?? 0) };
}

function putValue(
  db: Database,
  tenantId: string,
  env: string,
  key: string,
  value: string,
  now: number,
): void {
  db.run(
    `INSERT INTO session_values (tenant_id, key, env, bytes, expires_at, value) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (tenant_id, key) DO UPDATE
       SET env = excluded.env, bytes = excluded.bytes, expires_at = excluded.expires_at, value = excluded.value`,
    [tenantId, key, env, bytesOf(key, value), now + valueTtlMs, value],
  );
}

function valuesOf(
  db: Database,
  tenantId: string,
  keys: readonly string[],
  now: number,
  maxBytes: number,
): ReadonlyMap<string, string> | 'too_large' {
  let bytes = 0;
  for (const key of keys) {
    const held = storedValue(db, tenantId, key);
    if (held && held.expiresAt > now) bytes += held.bytes - Buffer.byteLength(key);
    if (bytes > maxBytes) return 'too_large';
  }
  const values = new Map<string, string>();
  for (const key of keys) {
    const value = liveValue(db, tenantId, key, now);
    if (value !== null) values.set(key, value);
  }
  return values;
}

function setValue(
  db: Database,
  mayGrow: () => boolean,
  { tenantId, env, quota }: ValueWriter,
  key: string,
  value: string,
  now: number,
): 'set' | QuotaFull {
  const old = storedValue(db, tenantId, key);
  const bytes = bytesOf(key, value);
  if (old && bytes <= old.bytes && (old.expiresAt > now || old.env === env)) {
    putValue(db, tenantId, old.env, key, value, now);
    return 'set';
  }
  if (!mayGrow()) throw diskFull();
  const before = usedBytes(db, tenantId, env);
  const replaced = old?.env === env ? old.bytes : null;
  if (before.bytes - (replaced ?? 0) + bytes > quota.maxBytes) return 'bytes_full';
  if (replaced === null && before.keys >= quota.maxKeys) return 'keys_full';
  putValue(db, tenantId, env, key, value, now);
  return 'set';
}

function incrementValue(
  db: Database,
  { tenantId, env, quota }: ValueWriter,
  key: string,
  amount: number,
  now: number,
): number | 'not_a_number' | 'keys_full' {
  const old = storedValue(db, tenantId, key);
  const lives = old !== null && old.expiresAt > now;
  const text = (lives ? liveValue(db, tenantId, key, now) : null) ?? '0';
  const sum = Number(text) + amount;
  if (!decimal.test(text) || !Number.isFinite(sum)) return 'not_a_number';
  const isNew = !lives && old?.env !== env;
  if (isNew && usedBytes(db, tenantId, env).keys >= 2 * quota.maxKeys) return 'keys_full';
  putValue(db, tenantId, lives ? old.env : env, key, String(sum), now);
  return sum;
}

/** @param mayGrow false while the disk has too little room for what can wait */
export const valueStore = (db: Database, mayGrow: () => boolean): Sync<ValueStore> => ({
  get: (tenantId, key, now) => liveValue(db, tenantId, key, now),
  getMany: (tenantId, keys, now, maxBytes) => valuesOf(db, tenantId, keys, now, maxBytes),
  set: (writer, key, value, now) => setValue(db, mayGrow, writer, key, value, now),
  increment: (writer, key, amount, now) => incrementValue(db, writer, key, amount, now),
  remove(tenantId, key) {
    db.run('DELETE FROM session_values WHERE tenant_id = ? AND key = ?', [tenantId, key]);
  },
  removeAll: (tenantId, limit) =>
    db.run(
      `DELETE FROM session_values WHERE rowid IN (SELECT rowid FROM session_values WHERE tenant_id = ? LIMIT ?)`,
      [tenantId, limit],
    ),
  removeExpired: (now, limit) =>
    db.run(
      `DELETE FROM session_values WHERE rowid IN (SELECT rowid FROM session_values
         WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
      [now, limit],
    ),
});
