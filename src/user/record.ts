// A user's fields, and those of a login session, a linked account and the programs of a tenant.
import { z } from 'zod';
import { dayMs } from '../shared/duration.ts';
import type { EnvRole } from '../shared/env-roles.ts';
import type { OperatorRole } from '../shared/principal.ts';
import { field, instant, json, type RecordOf, record } from '../shared/record.ts';
import { uuid } from '../shared/schemas.ts';

const userFields = {
  id: field(z.string()),
  tenantId: field(z.string(), { wire: false }),
  /** Lower-cased; unique over all tenants, because a login names no tenant. */
  email: field(z.string()),
  passwordHash: field(z.string(), { wire: false }),
  /** At least one, at most `maxEnvRoles`. */
  roles: field(json<readonly EnvRole[], z.ZodUnknown>(z.unknown())),
  createdAt: field(instant),
};

export type User = RecordOf<typeof userFields>;

export const userRecord = record('users', userFields);

/** The ways to sign in. */
export const loginMethods = ['password', 'link', 'invite', 'oidc'] as const;
export type LoginMethod = (typeof loginMethods)[number];

/** A login session. Only the browser has its token; the store holds SHA-256 of it. */
const loginFields = {
  tokenHash: field(z.string(), { wire: false }),
  userId: field(z.string()),
  tenantId: field(z.string(), { wire: false }),
  createdAt: field(instant),
  /** Slides at use, never past createdAt + the absolute maximum (7 days). */
  expiresAt: field(instant),
  /** To the minute. */
  lastSeenAt: field(instant),
  /** Origin of the sign-in: the network of an address, never the address; null: unknown. */
  network: field(z.string().nullable()),
  /** `Firefox on Linux`; null: unknown. */
  browser: field(z.string().nullable()),
  /** Null: unknown. */
  method: field(z.enum(loginMethods).nullable()),
  /** The session at the identity provider (`sid`), by which it may end the login; null: the provider named none. */
  providerSession: field(z.string().nullable(), { wire: false }),
};

export type Login = RecordOf<typeof loginFields>;

export const loginRecord = record('logins', loginFields);

/** A user's account at the identity provider. */
const identityFields = {
  issuer: field(z.string()),
  /** The `sub` claim. */
  subject: field(z.string()),
  userId: field(z.string()),
  tenantId: field(z.string()),
  linkedAt: field(instant),
};

export type LinkedAccount = RecordOf<typeof identityFields>;

export const identityRecord = record('identities', identityFields);

/** A network that a user signed in from within this time is familiar to the account. */
export const familiarMs = 30 * dayMs;

/** A token that an admin made. The token itself is not kept. */
const operatorTokenFields = {
  /** Its `jti`. */
  id: field(uuid),
  tenantId: field(z.string(), { wire: false }),
  role: field(z.custom<OperatorRole>()),
  /** The name of the admin. */
  createdBy: field(z.string()),
  createdAt: field(instant),
  expiresAt: field(instant),
  /** Null until somebody revokes it. */
  revokedAt: field(instant.nullable(), { wire: false }),
};
export type OperatorTokenRecord = RecordOf<typeof operatorTokenFields>;
export const operatorTokenRecord = record('operator_tokens', operatorTokenFields);

/** A program with roles of its own. */
const serviceAccountFields = {
  id: field(uuid),
  tenantId: field(z.string(), { wire: false }),
  /** Unique in the tenant. */
  name: field(z.string()),
  /** As a user's. */
  roles: field(json<readonly EnvRole[], z.ZodUnknown>(z.unknown())),
  createdBy: field(z.string()),
  createdAt: field(instant),
};
export type ServiceAccount = RecordOf<typeof serviceAccountFields>;
export const serviceAccountRecord = record('service_accounts', serviceAccountFields);

/** A token of a service account. The token itself is not kept. */
const serviceTokenFields = {
  id: field(uuid),
  tenantId: field(z.string(), { wire: false }),
  accountId: field(z.string(), { wire: false }),
  label: field(z.string()),
  /** Hex SHA-256 of the whole token. */
  hash: field(z.string(), { wire: false }),
  createdBy: field(z.string()),
  createdAt: field(instant),
  /** From then on it is refused. */
  expiresAt: field(instant),
  /** To the minute. */
  lastUsedAt: field(instant.nullable()),
};
export type ServiceToken = RecordOf<typeof serviceTokenFields>;
export const serviceTokenRecord = record('service_tokens', serviceTokenFields);

/** The claims of an identity provider about an e-mail address; null: there is none. */
export const emailClaims = ({
  email,
  email_verified: isVerified,
}: {
  readonly [claim: string]: unknown;
}): { readonly email: string | null; readonly isVerified: unknown } => ({
  email: typeof email === 'string' ? email : null,
  isVerified,
});
