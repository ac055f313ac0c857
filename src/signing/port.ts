// Store port of a tenant's signing keys. Every write is durable when its promise resolves.

import type { KeySuccession, SigningKey } from './record.ts';

/** A new key's signature for a current deployment. */
export interface NewSignature {
  readonly deploymentId: string;
  readonly signature: string;
  readonly attestation: string;
}

/** A tenant's signing keys, one of them active. */
export interface SigningStore {
  getActive(tenantId: string): Promise<SigningKey | null>;
  /** Adds the tenant's first key; `exists` when it has an active one. */
  create(key: SigningKey): Promise<'created' | 'exists'>;
  /** The statements that lead from earlier keys to the active one, oldest first, at most `maxSuccessions`. */
  listSuccessions(tenantId: string): Promise<readonly KeySuccession[]>;
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
