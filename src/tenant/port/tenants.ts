// Store port of tenants. Every write is durable when its promise resolves.

import type { SigningKey } from '../../signing/record.ts';
import type { UserStore } from '../../user/port/users.ts';
import type { User } from '../../user/record.ts';
import type { Tenant } from '../record.ts';

/** Tenants, with the store of their users. */
export interface TenantStore extends UserStore {
  /** True when there are two tenants or more. */
  hasSeveral(): Promise<boolean>;
  /**
   * Creates the first tenant, its admin and signing key in one step. Exactly one of any number of parallel calls is
   * `created`, ever.
   */
  bootstrap(tenant: Tenant, admin: User, key: SigningKey): Promise<'created' | 'taken'>;
  /** A further tenant with its admin and signing key, in one step. */
  create(tenant: Tenant, admin: User, key: SigningKey): Promise<'created' | 'email_taken'>;
  /**
   * A tenant without people, with its signing key. Of calls with one id one is `created`; the others change nothing.
   */
  provision(tenant: Tenant, key: SigningKey): Promise<'created' | 'exists'>;
  /** Ids of tenants, oldest first. */
  listIds(): Promise<readonly string[]>;
}
