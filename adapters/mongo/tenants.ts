// Tenants and users in MongoDB. A tenant begins with one document: its admin's, which carries the tenant and its signing key as
// `founding` until both are copied to where they are read (settle). The unique e-mail decides about it, and the unique field `first`,
// which only the very first one of all has, decides the bootstrap. If the process dies before the copying, it is done at the next
// start, or as soon as someone looks for the tenant; every copy is an insert that may be repeated.
import type { Collection } from 'mongodb';
import type { SigningKey, Tenant, User } from '../../src/domain/tenant.ts';
import type { TenantStore } from '../../src/ports/identity.ts';
import { unlessTaken } from './failure.ts';
import { fromRow, type Row, toRow } from './form.ts';
import { newSigningHead, type SigningHead } from './signing.ts';

export type TenantRow = Row<Tenant>;

export type UserRow = Row<User> & {
  readonly first?: true;
  readonly founding?: { readonly tenant: TenantRow; readonly key: SigningKey };
};

export interface TenantCollections {
  readonly users: Collection<UserRow>;
  readonly tenants: Collection<TenantRow>;
  readonly signing: Collection<SigningHead>;
}

/** Copies what tenants began with to its places; of one tenant or of all. */
export async function settle(c: TenantCollections, tenantId?: string): Promise<void> {
  const filter = tenantId === undefined ? {} : { 'founding.tenant._id': tenantId };
  const begun = await c.users.find({ founding: { $exists: true }, ...filter }).toArray();
  for (const { _id, founding } of begun) {
    if (!founding) continue;
    await unlessTaken(c.signing.insertOne(newSigningHead(founding.key)));
    await unlessTaken(c.tenants.insertOne(founding.tenant));
    await c.users.updateOne({ _id }, { $unset: { founding: '' } });
  }
}

export function mongoTenants(c: TenantCollections): TenantStore {
  const inserted = (row: UserRow): Promise<boolean> => unlessTaken(c.users.insertOne(row));
  const found = async (tenant: Tenant, admin: User, key: SigningKey, first: boolean): Promise<boolean> => {
    const row: UserRow = { ...toRow(admin), founding: { tenant: toRow(tenant), key } };
    if (!(await inserted(first ? { ...row, first } : row))) return false;
    await settle(c, tenant.id);
    return true;
  };
  const user = (row: UserRow | null): User | null => {
    if (row === null) return null;
    const { first: _first, founding: _founding, ...rest } = row;
    return fromRow<User>(rest);
  };
  return {
    async anyUser() {
      return (await c.users.findOne({}, { projection: { _id: 1 } })) !== null;
    },
    async bootstrap(tenant, admin, key) {
      return (await found(tenant, admin, key, true)) ? 'created' : 'taken';
    },
    async create(tenant, admin, key) {
      // Without a first tenant this one is the first, so that a bootstrap after it is refused.
      const created = (await found(tenant, admin, key, true)) || (await found(tenant, admin, key, false));
      return created ? 'created' : 'email_taken';
    },
    async addUser(added) {
      const known = async () => (await c.tenants.findOne({ _id: added.tenantId })) !== null;
      if (!(await known())) {
        await settle(c, added.tenantId);
        if (!(await known())) return 'no_tenant';
      }
      return (await inserted(toRow(added))) ? 'created' : 'email_taken';
    },
    async userByEmail(email) {
      return user(await c.users.findOne({ email }));
    },
    async userById(id) {
      return user(await c.users.findOne({ _id: id }));
    },
    async tenantIds() {
      await settle(c);
      const rows = await c.tenants.find().sort({ createdAt: 1, _id: 1 }).toArray();
      return rows.map((row) => row._id);
    },
  };
}
