// Tenants and users in SQLite.

import { type EnvRole, isAdmin } from '../../src/shared/env-roles.ts';
import type { SigningKey } from '../../src/signing/record.ts';
import type { TenantStore } from '../../src/tenant/port/tenants.ts';
import { type Tenant, tenantRecord } from '../../src/tenant/record.ts';
import { type User, userRecord } from '../../src/user/record.ts';
import { inviteOf, invitePrefix } from '../../src/user/rules/invite.ts';
import type { Database } from './database.ts';
import { pageOf } from './page.ts';
import { signingKeys } from './signing.ts';
import type { Sync } from './sync.ts';
import { tableOf } from './table.ts';

const tenants = tableOf<Tenant>(tenantRecord);

export const users = tableOf<User>(userRecord);

const anyUser = (db: Database) => db.get('SELECT 1 FROM users LIMIT 1') !== undefined;

const isEmailTaken = (db: Database, email: string) =>
  db.get('SELECT 1 FROM users WHERE email = ?', [email]) !== undefined;

const userOf = (db: Database, tenantId: string, id: string): User | null =>
  users.maybe(db.get(`SELECT ${users.columns} FROM users WHERE tenant_id = ? AND id = ?`, [tenantId, id]));

/** Other admins who are invited and have not come yet do not count, unless the user is one of them. */
const isLastAdmin = (db: Database, user: User): boolean =>
  isAdmin(user.roles) &&
  !db.get(
    `SELECT 1 FROM users WHERE tenant_id = ? AND id <> ? AND (? OR password_hash NOT LIKE '${invitePrefix}%')
       AND EXISTS (SELECT 1 FROM json_each(users.roles) WHERE value ->> 'role' = 'admin') LIMIT 1`,
    [user.tenantId, user.id, inviteOf(user) === null ? 0 : 1],
  );

function foundTenant(db: Database, tenant: Tenant, admin: User, key: SigningKey): void {
  db.run(tenants.insert, tenants.values(tenant));
  db.run(users.insert, users.values(admin));
  db.run(signingKeys.insert, signingKeys.values(key));
}

function provisionTenant(db: Database, tenant: Tenant, key: SigningKey): 'created' | 'exists' {
  if (db.get('SELECT 1 FROM tenants WHERE id = ?', [tenant.id])) return 'exists';
  db.run(tenants.insert, tenants.values(tenant));
  db.run(signingKeys.insert, signingKeys.values(key));
  return 'created';
}

function createUser(db: Database, user: User): 'created' | 'email_taken' | 'no_tenant' {
  if (isEmailTaken(db, user.email)) return 'email_taken';
  if (!db.get('SELECT 1 FROM tenants WHERE id = ?', [user.tenantId])) return 'no_tenant';
  db.run(users.insert, users.values(user));
  return 'created';
}

function updateRoles(
  db: Database,
  tenantId: string,
  userId: string,
  roles: readonly EnvRole[],
  evenLastAdmin = false,
): User | 'absent' | 'last_admin' {
  const user = userOf(db, tenantId, userId);
  if (!user) return 'absent';
  if (!evenLastAdmin && !isAdmin(roles) && isLastAdmin(db, user)) return 'last_admin';
  db.run('UPDATE users SET roles = ? WHERE id = ?', [JSON.stringify(roles), userId]);
  return { ...user, roles };
}

function removeUser(db: Database, tenantId: string, userId: string): User | 'absent' | 'last_admin' {
  const user = userOf(db, tenantId, userId);
  if (!user) return 'absent';
  if (isLastAdmin(db, user)) return 'last_admin';
  db.run('DELETE FROM users WHERE id = ?', [userId]);
  return user;
}

export const tenantStore = (db: Database): Sync<TenantStore> => ({
  anyUser: () => anyUser(db),
  hasSeveral: () => db.get('SELECT 1 FROM tenants LIMIT 1 OFFSET 1') !== undefined,
  bootstrap(tenant, admin, key) {
    if (anyUser(db)) return 'taken';
    foundTenant(db, tenant, admin, key);
    return 'created';
  },
  create(tenant, admin, key) {
    if (isEmailTaken(db, admin.email)) return 'email_taken';
    foundTenant(db, tenant, admin, key);
    return 'created';
  },
  provision: (tenant, key) => provisionTenant(db, tenant, key),
  createUser: (user) => createUser(db, user),
  getUserByEmail: (email) =>
    users.maybe(db.get(`SELECT ${users.columns} FROM users WHERE email = ?`, [email])),
  getUser: (id) => users.maybe(db.get(`SELECT ${users.columns} FROM users WHERE id = ?`, [id])),
  listUsers: (tenantId, page) =>
    pageOf(db, page, {
      which: 'SELECT rowid FROM users WHERE tenant_id = ? ORDER BY email',
      params: [tenantId],
      row: `SELECT ${users.columns} FROM users WHERE rowid = ?`,
      read: users.read,
    }),
  updateRoles: (tenantId, userId, roles, evenLastAdmin) =>
    updateRoles(db, tenantId, userId, roles, evenLastAdmin),
  removeUser: (tenantId, userId) => removeUser(db, tenantId, userId),
  updatePassword: (userId, expected, passwordHash) =>
    db.run('UPDATE users SET password_hash = ? WHERE id = ? AND password_hash = ?', [
      passwordHash,
      userId,
      expected,
    ]) === 1,
  listIds: () =>
    db
      .all('SELECT id FROM tenants WHERE removed_at IS NULL ORDER BY created_at, rowid')
      .map(([id]) => String(id)),
});
