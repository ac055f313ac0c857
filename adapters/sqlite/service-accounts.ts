// Service accounts and their tokens in SQLite.
import { maxServiceTokens, type ServiceAccountStore } from '../../src/user/port/service-accounts.ts';
import {
  type ServiceAccount,
  type ServiceToken,
  serviceAccountRecord,
  serviceTokenRecord,
} from '../../src/user/record.ts';
import type { Database } from './database.ts';
import { pageOf } from './page.ts';
import type { Sync } from './sync.ts';
import { tableOf } from './table.ts';

export const serviceAccountTables = `
CREATE TABLE service_accounts (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, name TEXT NOT NULL, roles TEXT NOT NULL, created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL, UNIQUE (tenant_id, name));
CREATE TABLE service_tokens (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, account_id TEXT NOT NULL, label TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE, created_by TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
  last_used_at INTEGER);
CREATE INDEX service_tokens_of_account ON service_tokens (tenant_id, account_id, created_at);
CREATE INDEX service_tokens_expiry ON service_tokens (expires_at);
`;

export const accounts = tableOf<ServiceAccount>(serviceAccountRecord);
export const tokens = tableOf<ServiceToken>(serviceTokenRecord);

const accountOf = (db: Database, tenantId: string, id: string): ServiceAccount | null =>
  accounts.maybe(
    db.get(`SELECT ${accounts.columns} FROM service_accounts WHERE tenant_id = ? AND id = ?`, [tenantId, id]),
  );

const isTaken = (db: Database, tenantId: string, name: string, but: string): boolean =>
  db.get('SELECT 1 FROM service_accounts WHERE tenant_id = ? AND name = ? AND id <> ?', [
    tenantId,
    name,
    but,
  ]) !== undefined;

const tokensOf = (db: Database, tenantId: string, accountId: string): readonly ServiceToken[] =>
  db
    .all(
      `SELECT ${tokens.columns} FROM service_tokens WHERE tenant_id = ? AND account_id = ?
         ORDER BY created_at DESC, rowid DESC`,
      [tenantId, accountId],
    )
    .map(tokens.read);

function updateAccount(
  db: Database,
  tenantId: string,
  id: string,
  patch: Partial<Pick<ServiceAccount, 'name' | 'roles'>>,
): ServiceAccount | 'name_taken' | null {
  const before = accountOf(db, tenantId, id);
  if (!before) return null;
  const account = { ...before, ...patch };
  if (isTaken(db, tenantId, account.name, id)) return 'name_taken';
  db.run('UPDATE service_accounts SET name = ?, roles = ? WHERE id = ?', [
    account.name,
    JSON.stringify(account.roles),
    id,
  ]);
  return account;
}

function nextExpiries(db: Database, tenantId: string, after: number): ReadonlyMap<string, number> {
  return new Map(
    db
      .all(
        `SELECT account_id, min(expires_at) FROM service_tokens WHERE tenant_id = ? AND expires_at > ?
           GROUP BY account_id`,
        [tenantId, after],
      )
      .map(([accountId, expiresAt]) => [String(accountId), Number(expiresAt)]),
  );
}

export const serviceAccountStore = (db: Database): Sync<ServiceAccountStore> => ({
  create(account) {
    if (isTaken(db, account.tenantId, account.name, account.id)) return 'name_taken';
    db.run(accounts.insert, accounts.values(account));
    return 'created';
  },
  list: (tenantId, page) =>
    pageOf(db, page, {
      which: 'SELECT rowid FROM service_accounts WHERE tenant_id = ? ORDER BY name',
      params: [tenantId],
      row: `SELECT ${accounts.columns} FROM service_accounts WHERE rowid = ?`,
      read: accounts.read,
    }),
  get: (tenantId, id) => accountOf(db, tenantId, id),
  update: (tenantId, id, patch) => updateAccount(db, tenantId, id, patch),
  remove(tenantId, id) {
    const account = accountOf(db, tenantId, id);
    if (!account) return null;
    db.run('DELETE FROM service_tokens WHERE tenant_id = ? AND account_id = ?', [tenantId, id]);
    db.run('DELETE FROM service_accounts WHERE id = ?', [id]);
    return account;
  },
  createToken(token) {
    if (!accountOf(db, token.tenantId, token.accountId)) return 'absent';
    if (tokensOf(db, token.tenantId, token.accountId).length >= maxServiceTokens) return 'full';
    db.run(tokens.insert, tokens.values(token));
    return 'created';
  },
  listTokens: (tenantId, accountId) => tokensOf(db, tenantId, accountId),
  getNextExpiries: (tenantId, after) => nextExpiries(db, tenantId, after),
  revokeToken: (tenantId, accountId, id) =>
    tokens.maybe(
      db.get(
        `DELETE FROM service_tokens WHERE tenant_id = ? AND account_id = ? AND id = ? RETURNING ${tokens.columns}`,
        [tenantId, accountId, id],
      ),
    ),
  getByHash(hash) {
    const token = tokens.maybe(db.get(`SELECT ${tokens.columns} FROM service_tokens WHERE hash = ?`, [hash]));
    const account = token && accountOf(db, token.tenantId, token.accountId);
    return token && account ? { account, token } : null;
  },
  used(id, at) {
    db.run('UPDATE service_tokens SET last_used_at = max(ifnull(last_used_at, 0), ?) WHERE id = ?', [at, id]);
  },
  removeExpiredTokens: (before, limit) =>
    db.run(
      `DELETE FROM service_tokens WHERE rowid IN (SELECT rowid FROM service_tokens WHERE expires_at < ? LIMIT ?)`,
      [before, limit],
    ),
});
