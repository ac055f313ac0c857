// Tenants and users in SQLite.
import type { SigningKey, Tenant, User } from '../../src/domain/tenant.ts';
import type { TenantStore } from '../../src/ports/identity.ts';
import type { Database } from './database.ts';
import { signingKeys } from './signing.ts';
import type { Sync } from './sync.ts';
import { flag, number, table, text } from './table.ts';

const tenants = table<Tenant>('tenants', {
  id: text('id'),
  name: text('name'),
  createdAt: number('created_at'),
});

const users = table<User>('users', {
  id: text('id'),
  tenantId: text('tenant_id'),
  email: text('email'),
  passwordHash: text('password_hash'),
  isAdmin: flag('is_admin'),
  createdAt: number('created_at'),
});

export function tenantStore(db: Database): Sync<TenantStore> {
  const anyUser = () => db.get('SELECT 1 FROM users LIMIT 1') !== undefined;
  const emailTaken = (email: string) => db.get('SELECT 1 FROM users WHERE email = ?', [email]) !== undefined;

  function found(tenant: Tenant, admin: User, key: SigningKey): void {
    db.run(tenants.insert, tenants.values(tenant));
    db.run(users.insert, users.values(admin));
    db.run(signingKeys.insert, signingKeys.values(key));
  }

  return {
    anyUser,
    bootstrap(tenant, admin, key) {
      if (anyUser()) return 'taken';
      found(tenant, admin, key);
      return 'created';
    },
    create(tenant, admin, key) {
      if (emailTaken(admin.email)) return 'email_taken';
      found(tenant, admin, key);
      return 'created';
    },
    addUser(user) {
      if (emailTaken(user.email)) return 'email_taken';
      if (!db.get('SELECT 1 FROM tenants WHERE id = ?', [user.tenantId])) return 'no_tenant';
      db.run(users.insert, users.values(user));
      return 'created';
    },
    userByEmail: (email) =>
      users.maybe(db.get(`SELECT ${users.columns} FROM users WHERE email = ?`, [email])),
    userById: (id) => users.maybe(db.get(`SELECT ${users.columns} FROM users WHERE id = ?`, [id])),
    tenantIds: () => db.all('SELECT id FROM tenants ORDER BY created_at, rowid').map(([id]) => String(id)),
  };
}
