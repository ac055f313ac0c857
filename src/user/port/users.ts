// Store port of users. Every write is durable when its promise resolves.

import type { EnvRole } from '../../shared/env-roles.ts';
import type { Page, PageRequest } from '../../shared/ports/page.ts';
import type { User } from '../record.ts';

/** A tenant's users. */
export interface UserStore {
  /** True when any user exists in any tenant. */
  anyUser(): Promise<boolean>;
  createUser(user: User): Promise<'created' | 'email_taken' | 'no_tenant'>;
  /** @param email lower-cased */
  getUserByEmail(email: string): Promise<User | null>;
  getUser(id: string): Promise<User | null>;
  /** Users of a tenant, by e-mail. */
  listUsers(tenantId: string, page: PageRequest): Promise<Page<User>>;
  /**
   * Replaces a user's roles; `last_admin`: nothing changed, and a tenant never loses its last one, whatever is asked at
   * once. An invited admin who has not come yet is no other admin, unless the user is invited as well.
   * @param evenLastAdmin true where the identity provider decides about roles
   */
  updateRoles(
    tenantId: string,
    userId: string,
    roles: readonly EnvRole[],
    evenLastAdmin?: boolean,
  ): Promise<User | 'absent' | 'last_admin'>;
  /** Removes a user, but never the last admin of the tenant. The user's logins stay: `LoginStore.removeOfUser`. */
  removeUser(tenantId: string, userId: string): Promise<User | 'absent' | 'last_admin'>;
  /** Replaces the password's hash if it still is `expected`; false when it is not. */
  updatePassword(userId: string, expected: string, passwordHash: string): Promise<boolean>;
}
