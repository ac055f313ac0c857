// Role changes and removals of users in MongoDB. Such a change needs two documents, the tenant's and the user's, and
// there are no transactions, so the changes of a tenant are numbered. The tenant's document takes a change only if it
// took no other since the admins were counted. Then the change is carried out on the user's document. A process that
// finds an entered change carries it out first, so a process that dies in between leaves nothing half done. A process
// that wakes up late changes nothing, because the user's document contains the number of its last change.
import type { Collection } from 'mongodb';
import { type EnvRole, isAdmin } from '../../src/shared/env-roles.ts';
import type { Tenant } from '../../src/tenant/record.ts';
import type { User } from '../../src/user/record.ts';
import { inviteForm, inviteOf } from '../../src/user/rules/invite.ts';
import { unavailable } from './failure.ts';
import type { Row } from './form.ts';

interface Change {
  readonly number: number;
  readonly userId: string;
  /** Null: the user is removed. */
  readonly roles: readonly EnvRole[] | null;
}

/** Further fields of a tenant's document, about changes of its users. */
export interface Numbered {
  /** The number of the last change. */
  readonly changes?: number;
  /** Entered change that is not known to be carried out. */
  readonly change?: Change;
}

/** Further field of a user's document: the number of its last change. */
export interface Changed {
  readonly changed?: number;
}

export interface UserChanges<U extends StoredUser & Changed> {
  readonly tenants: Collection<Row<Tenant> & Numbered>;
  readonly users: Collection<U>;
}

/** A user as MongoDB keeps it. */
export type StoredUser = Row<User>;

/** Each time another change came first. */
const maxAttempts = 200;

async function carryOut<U extends StoredUser & Changed>(
  { tenants, users }: UserChanges<U>,
  tenantId: string,
  { number, userId, roles }: Change,
): Promise<void> {
  // The driver's types do not follow a document type that is a parameter.
  const plain = users as unknown as Collection<StoredUser & Changed>;
  const open = {
    _id: userId,
    tenantId,
    $or: [{ changed: { $exists: false } }, { changed: { $lt: number } }],
  };
  if (roles === null) await plain.deleteOne(open);
  else await plain.updateOne(open, { $set: { roles, changed: number } });
  await tenants.updateOne({ _id: tenantId, 'change.number': number }, { $unset: { change: '' } });
}

/** The other admins that count: not those who are invited and have not come yet, unless the user is one of them. */
const countedBeside = (user: StoredUser) =>
  inviteOf(user) === null ? { passwordHash: { $not: inviteForm } } : {};

/**
 * Replaces a user's roles, or removes the user (null).
 * @returns the user's row before the change; null when there is no such user
 * @throws HubError unavailable when other changes came first each time
 */
export async function changeUser<U extends StoredUser & Changed>(
  c: UserChanges<U>,
  tenantId: string,
  userId: string,
  roles: readonly EnvRole[] | null,
  evenLastAdmin: boolean,
): Promise<U | null | 'last_admin'> {
  const plain = c.users as unknown as Collection<StoredUser & Changed>;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const tenant = await c.tenants.findOne({ _id: tenantId });
    if (!tenant) return null;
    if (tenant.change) {
      await carryOut(c, tenantId, tenant.change);
      continue;
    }
    const user = await plain.findOne({ _id: userId, tenantId });
    if (!user) return null;
    const staysAdmin = roles !== null && isAdmin(roles);
    if (
      isAdmin(user.roles) &&
      !staysAdmin &&
      !evenLastAdmin &&
      !(await plain.findOne({
        tenantId,
        'roles.role': 'admin',
        _id: { $ne: userId },
        ...countedBeside(user),
      }))
    ) {
      return 'last_admin';
    }
    const number = (tenant.changes ?? 0) + 1;
    const change: Change = { number, userId, roles };
    const unchanged = {
      _id: tenantId,
      change: { $exists: false },
      changes: tenant.changes ?? { $exists: false },
    };
    const { matchedCount } = await c.tenants.updateOne(unchanged, { $set: { changes: number, change } });
    if (matchedCount === 0) continue;
    await carryOut(c, tenantId, change);
    return user as U;
  }
  throw unavailable();
}
