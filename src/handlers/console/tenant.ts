// New tenants and users as records: ids, hashed password, sealed signing key. Stores nothing.
import type { SigningKey, Tenant, User } from '../../domain/tenant.ts';
import type { Hub } from './hub.ts';

export interface Credentials {
  /** Lower-cased. */
  readonly email: string;
  readonly password: string;
}

/** A tenant with its first admin and its signing key. Hashing the password takes a while. */
export async function newTenant(
  hub: Hub,
  name: string,
  credentials: Credentials,
): Promise<{ readonly tenant: Tenant; readonly admin: User; readonly key: SigningKey }> {
  const tenant = { id: hub.secrets.uuid(), name, createdAt: hub.clock.now() };
  const admin = await newUser(hub, tenant.id, credentials, true);
  return { tenant, admin, key: newSigningKey(hub, tenant.id) };
}

export async function newUser(
  hub: Hub,
  tenantId: string,
  { email, password }: Credentials,
  isAdmin: boolean,
): Promise<User> {
  const passwordHash = await hub.secrets.hashPassword(password);
  const id = hub.secrets.uuid();
  return { id, tenantId, email, passwordHash, isAdmin, createdAt: hub.clock.now() };
}

/** A fresh active key of the tenant; its seed is sealed. */
export function newSigningKey({ secrets, clock }: Hub, tenantId: string): SigningKey {
  const { publicKey, seed } = secrets.newSigningKey();
  const sealedSeed = secrets.seal('signing-key', seed);
  return { id: secrets.uuid(), tenantId, publicKey, sealedSeed, active: true, createdAt: clock.now() };
}
