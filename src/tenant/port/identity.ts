// Store ports of tenants, users, logins, API keys and signing keys. Every write is durable when its promise resolves.

import type { ApiKey } from '../../key/record.ts';
import type { EnvRole } from '../../shared/env-roles.ts';
import type { Env } from '../../shared/ids.ts';
import type { Page, PageRequest } from '../../shared/ports/page.ts';
import type { KeySuccession, SigningKey } from '../../signing/record.ts';
import type { Login, User } from '../../user/record.ts';
import type { Tenant } from '../record.ts';

/** Tenants and their users. */
export interface TenantStore {
  /** True when any user exists in any tenant. */
  anyUser(): Promise<boolean>;
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
  addUser(user: User): Promise<'created' | 'email_taken' | 'no_tenant'>;
  /** @param email lower-cased */
  userByEmail(email: string): Promise<User | null>;
  userById(id: string): Promise<User | null>;
  /** Users of a tenant, by e-mail. */
  users(tenantId: string, page: PageRequest): Promise<Page<User>>;
  /**
   * Replaces a user's roles; `last_admin`: nothing changed, and a tenant never loses its last one, whatever is asked at
   * once. @param evenLastAdmin true where the identity provider decides about roles
   */
  setRoles(
    tenantId: string,
    userId: string,
    roles: readonly EnvRole[],
    evenLastAdmin?: boolean,
  ): Promise<User | 'absent' | 'last_admin'>;
  /** Removes a user, but never the last admin of the tenant. The user's logins stay: `LoginStore.removeOfUser`. */
  removeUser(tenantId: string, userId: string): Promise<User | 'absent' | 'last_admin'>;
  /** Replaces the password's hash if it still is `expected`; false when it is not. */
  setPassword(userId: string, expected: string, passwordHash: string): Promise<boolean>;
  /** Ids of tenants, oldest first. */
  tenantIds(): Promise<readonly string[]>;
}

/** Logins, by the hash of their token. */
export interface LoginStore {
  put(login: Login): Promise<void>;
  /** The login when it exists and has not expired at `now`. */
  get(tokenHash: string, now: number): Promise<Login | null>;
  /** Moves the expiry and the last use; harmless when the login is gone. */
  extend(tokenHash: string, expiresAt: number, now: number): Promise<void>;
  /** A user's that have not expired at `now`, the newest `limit`. */
  ofUser(userId: string, now: number, limit: number): Promise<readonly Login[]>;
  /** Logins of a session at the identity provider that have not expired at `now`, at most `limit`. */
  ofProviderSession(session: string, now: number, limit: number): Promise<readonly Login[]>;
  remove(tokenHash: string): Promise<void>;
  /** All of a user's, but the one with the hash `except`. */
  removeOfUser(userId: string, except?: string): Promise<void>;
  /** Removes expired ones; returns how many. */
  sweep(now: number): Promise<number>;
  /**
   * Remembers that the user signed in from a network (the newest `maxNetworks` of each user); never moves a time
   * backwards.
   */
  signedInFrom(userId: string, network: string, now: number): Promise<void>;
  /** True if the user signed in from the network at `since` or later. */
  hasSignedInFrom(userId: string, network: string, since: number): Promise<boolean>;
  /** Forgets networks that nobody signed in from since `before`; returns how many. */
  forgetNetworks(before: number): Promise<number>;
}

/** Networks that a user signed in from and that are remembered. */
export const maxNetworks = 100;

/** API keys. A revoked one stays known. */
export interface KeyStore {
  /** @throws HubError conflict when its id is taken, also by a revoked one */
  insert(key: ApiKey): Promise<void>;
  /** Not revoked, newest first. */
  list(tenantId: string, page: PageRequest): Promise<Page<ApiKey>>;
  /** The key with this hash, revoked or not. */
  byHash(hash: string): Promise<ApiKey | null>;
  /** The key when this call revoked it; null when unknown or revoked before. */
  revoke(tenantId: string, id: string, now: number): Promise<ApiKey | null>;
  /** Records uses; never moves a time backwards. */
  used(uses: readonly { readonly id: string; readonly at: number }[]): Promise<void>;
}

/** A new key's signature for a current deployment. */
export interface NewSignature {
  readonly deploymentId: string;
  readonly signature: string;
  readonly attestation: string;
}

/** A tenant's signing keys, one of them active. */
export interface SigningStore {
  active(tenantId: string): Promise<SigningKey | null>;
  /** Adds the tenant's first key; `exists` when it has an active one. */
  add(key: SigningKey): Promise<'created' | 'exists'>;
  /** The statements that lead from earlier keys to the active one, oldest first, at most `maxSuccessions`. */
  successions(tenantId: string): Promise<readonly KeySuccession[]>;
  /**
   * Makes `next` the active key in place of `expectedId` and puts the new signatures on the current deployments, in one
   * step. The seed of the key that retires is not kept. `succession` joins the kept ones; null removes all of them:
   * nothing leads to the new key. `changed` (nothing written) when the active key is another, or the current
   * deployments are not exactly those of `signatures`.
   */
  rotate(
    tenantId: string,
    expectedId: string,
    next: SigningKey,
    signatures: readonly NewSignature[],
    succession: KeySuccession | null,
  ): Promise<'rotated' | 'changed'>;
}

export type KeyScope = Env | null;
