// Tenants and users in MongoDB. A tenant begins with one document: its admin's, which carries the tenant and its
// signing key as `founding` until both are copied to where they are read (finishFounding). The unique e-mail decides
// about it, and the unique field `first`, which only the very first one of all has, decides the bootstrap. If the
// process dies before the copying, it is done at the next start, or as soon as someone looks for the tenant. Every copy
// is an insert that may be repeated.
import type { Collection } from 'mongodb';
import type { EnvRole } from '../../src/shared/env-roles.ts';
import type { SigningKey } from '../../src/signing/record.ts';
import type { TenantStore } from '../../src/tenant/port/tenants.ts';
import type { Tenant } from '../../src/tenant/record.ts';
import type { User } from '../../src/user/record.ts';
import { unlessTaken } from './failure.ts';
import { fromRow, type Row, toRow } from './form.ts';
import { pageOf } from './page.ts';
import { newSigningDocument, type SigningDocument } from './signing.ts';
import { type Changed, changeUser, type Numbered, type StoredUser } from './user-changes.ts';

export type TenantRow = Row<Tenant> & Numbered;

export type UserRow = StoredUser &
  Changed & {
    readonly first?: true;
    readonly founding?: { readonly tenant: Row<Tenant>; readonly key: SigningKey };
  };

export interface TenantCollections {
  readonly users: Collection<UserRow>;
  readonly tenants: Collection<TenantRow>;
  readonly signing: Collection<SigningDocument>;
}

/** Copies what tenants began with to its places; of one tenant or of all. */
export async function finishFounding(c: TenantCollections, tenantId?: string): Promise<void> {
  const filter = tenantId === undefined ? {} : { 'founding.tenant._id': tenantId };
  const begun = await c.users.find({ founding: { $exists: true }, ...filter }).toArray();
  for (const { _id, founding } of begun) {
    if (!founding) continue;
    await unlessTaken(c.signing.insertOne(newSigningDocument(founding.key)));
    await unlessTaken(c.tenants.insertOne(founding.tenant));
    await c.users.updateOne({ _id }, { $unset: { founding: '' } });
  }
}

const insertUser = (c: TenantCollections, row: UserRow): Promise<boolean> =>
  unlessTaken(c.users.insertOne(row));

const insertTenant = async (
  c: TenantCollections,
  tenant: Tenant,
  admin: User,
  key: SigningKey,
  first: boolean,
): Promise<boolean> => {
  const row: UserRow = { ...toRow(admin), founding: { tenant: toRow(tenant), key } };
  if (!(await insertUser(c, first ? { ...row, first } : row))) return false;
  await finishFounding(c, tenant.id);
  return true;
};

const userIn = ({ first: _first, founding: _founding, changed: _changed, ...row }: UserRow): User =>
  fromRow<User>(row);

const userOrNull = (row: UserRow | null): User | null => row && userIn(row);

const anyUser = async (c: TenantCollections): Promise<boolean> =>
  (await c.users.findOne({}, { projection: { _id: 1 } })) !== null;

/** The user as it is after the change. */
async function changedUser(
  c: TenantCollections,
  tenantId: string,
  userId: string,
  roles: readonly EnvRole[] | null,
  evenLastAdmin = false,
) {
  await finishFounding(c, tenantId);
  const before = await changeUser(c, tenantId, userId, roles, evenLastAdmin);
  if (before === 'last_admin') return before;
  return before ? { ...userIn(before), ...(roles === null ? {} : { roles }) } : ('absent' as const);
}

async function createTenant(
  c: TenantCollections,
  tenant: Tenant,
  admin: User,
  key: SigningKey,
): Promise<'created' | 'email_taken'> {
  // Without a first tenant this one is the first, so that a bootstrap after it is refused.
  const created =
    (await insertTenant(c, tenant, admin, key, true)) || (await insertTenant(c, tenant, admin, key, false));
  return created ? 'created' : 'email_taken';
}

async function createUser(
  c: TenantCollections,
  added: User,
): Promise<'created' | 'email_taken' | 'no_tenant'> {
  const isStored = async () => (await c.tenants.findOne({ _id: added.tenantId })) !== null;
  if (!(await isStored())) {
    await finishFounding(c, added.tenantId);
    if (!(await isStored())) return 'no_tenant';
  }
  return (await insertUser(c, toRow(added))) ? 'created' : 'email_taken';
}

async function tenantIds(c: TenantCollections): Promise<readonly string[]> {
  await finishFounding(c);
  const rows = await c.tenants
    .find({ removedAt: null } as object)
    .sort({ createdAt: 1, _id: 1 })
    .toArray();
  return rows.map((row) => row._id);
}

export const mongoTenants = (c: TenantCollections): TenantStore => ({
  anyUser: () => anyUser(c),
  hasSeveral: async () => (await c.tenants.countDocuments({}, { limit: 2 })) > 1,
  async bootstrap(tenant, admin, key) {
    // The first user may have been removed since, and with that the field which decides between parallel calls.
    if (await anyUser(c)) return 'taken';
    return (await insertTenant(c, tenant, admin, key, true)) ? 'created' : 'taken';
  },
  create: (tenant, admin, key) => createTenant(c, tenant, admin, key),
  async provision(tenant, key) {
    // The key first: every reader of the tenant finds its key.
    await unlessTaken(c.signing.insertOne(newSigningDocument(key)));
    return (await unlessTaken(c.tenants.insertOne(toRow(tenant)))) ? 'created' : 'exists';
  },
  createUser: (added) => createUser(c, added),
  async getUserByEmail(email) {
    return userOrNull(await c.users.findOne({ email }));
  },
  async getUser(id) {
    return userOrNull(await c.users.findOne({ _id: id }));
  },
  listUsers: (tenantId, page) => pageOf(c.users.find({ tenantId }).sort({ email: 1 }), page, userIn),
  updateRoles: (tenantId, userId, roles, evenLastAdmin) =>
    changedUser(c, tenantId, userId, roles, evenLastAdmin),
  removeUser: (tenantId, userId) => changedUser(c, tenantId, userId, null),
  async updatePassword(userId, expected, passwordHash) {
    const filter = { _id: userId, passwordHash: expected };
    return (await c.users.updateOne(filter, { $set: { passwordHash } })).matchedCount === 1;
  },
  listIds: () => tenantIds(c),
});
