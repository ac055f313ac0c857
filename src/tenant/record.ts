// Tenants, their users, login sessions and signing keys: the records, as the store keeps them. Times are
// epoch milliseconds.
import { dayMs } from '../shared/duration.ts';
import type { EnvRole } from '../shared/env-roles.ts';

export interface Tenant {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
}

export interface User {
  readonly id: string;
  readonly tenantId: string;
  /** Lower-cased; unique over all tenants, because a login names no tenant. */
  readonly email: string;
  readonly passwordHash: string;
  /** At least one, at most `maxEnvRoles`. */
  readonly roles: readonly EnvRole[];
  readonly createdAt: number;
}

/** A login session. Its token is known to the browser alone; the store holds SHA-256 of it. */
export interface Login {
  readonly tokenHash: string;
  readonly userId: string;
  readonly tenantId: string;
  readonly createdAt: number;
  /** Slides at use, never past createdAt + the absolute maximum (7 days). */
  readonly expiresAt: number;
  /** To the minute. */
  readonly lastSeenAt: number;
  /** Where the sign-in came from: the network of an address, never the address; null: not known. */
  readonly network: string | null;
  /** `Firefox on Linux`; null: not known. */
  readonly browser: string | null;
  /** Null: not known. */
  readonly method: LoginMethod | null;
  /** The session at the identity provider (`sid`), by which it may end the login; null: none is known. */
  readonly providerSession: string | null;
}

/** By what somebody signed in. */
export const loginMethods = ['password', 'link', 'invite', 'oidc'] as const;
export type LoginMethod = (typeof loginMethods)[number];

/** A network that a user signed in from within this time is familiar to the account. */
export const familiarMs = 30 * dayMs;

/** An Ed25519 key pair of a tenant. Exactly one per tenant is active. */
export interface SigningKey {
  readonly id: string;
  readonly tenantId: string;
  /** 64 hex characters. */
  readonly publicKey: string;
  /** The 32-byte seed, sealed (shared/ports/secrets), base64. */
  readonly sealedSeed: string;
  readonly active: boolean;
  readonly createdAt: number;
}

/**
 * A retiring signing key's statement that another one follows it: agents that pinned the old key take the new one by
 * it.
 */
export interface KeySuccession {
  readonly previousKey: string;
  readonly publicKey: string;
  readonly rotatedAt: number;
  /** Ed25519 by the previous key over `successionText` (signing/rules/attestation), 128 hex characters. */
  readonly signature: string;
}

/** Successions kept per tenant, the newest ones: an agent that was away for more rotations has to be pinned again. */
export const maxSuccessions = 16;
