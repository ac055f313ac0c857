// Fields of a signing key and of a key succession.
import { z } from 'zod';
import { field, instant, type RecordOf, record } from '../shared/record.ts';

/** An Ed25519 key pair of a tenant. Exactly one per tenant is active. */
const signingKeyFields = {
  id: field(z.string()),
  tenantId: field(z.string(), { wire: false }),
  /** 64 hex characters. */
  publicKey: field(z.string()),
  /** The 32-byte seed, sealed (shared/ports/secrets), base64. */
  sealedSeed: field(z.string(), { wire: false }),
  active: field(z.boolean()),
  createdAt: field(instant),
};

export type SigningKey = RecordOf<typeof signingKeyFields>;

export const signingKeyRecord = record('signing_keys', signingKeyFields);

/**
 * A retiring signing key's statement that another one follows it: agents that pinned the old key take the new one by
 * it.
 */
const successionFields = {
  previousKey: field(z.string()),
  publicKey: field(z.string()),
  rotatedAt: field(instant),
  /** Ed25519 by the previous key over `successionText` (signing/rules/attestation), 128 hex characters. */
  signature: field(z.string()),
};

export type KeySuccession = RecordOf<typeof successionFields>;

export const successionRecord = record('key_successions', {
  tenantId: field(z.string(), { wire: false }),
  ...successionFields,
});

/** Successions kept per tenant, the newest ones: an agent that was away for more rotations has to be pinned again. */
export const maxSuccessions = 16;
