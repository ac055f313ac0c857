// The contract_update frame's data (document 1, Events): what a client needs to check and load a deployed bundle. Pure.
import { isoTime } from './attestation.ts';
import type { Deployment } from './deployment.ts';
import type { JsonObject } from './library.ts';
import type { KeySuccession } from './tenant.ts';

/** How `signature` is written (DECISIONS 6): hex, or standard base64 with padding for clients that verify it so. */
export type SignatureEncoding = 'hex' | 'base64';

/** The signature (hex) as clients want it. */
export const encodeSignature = (signature: string, encoding: SignatureEncoding): string =>
  encoding === 'hex' ? signature : Buffer.from(signature, 'hex').toString('base64');

/** What a client needs to check where a document stands in time and by which right its key signs. */
export const provenance = (deployment: Deployment, successions: readonly KeySuccession[]) => ({
  sequence: deployment.sequence,
  deployed_at: isoTime(deployment.createdAt),
  attestation: deployment.attestation,
  key_succession: successions.map(({ previousKey, publicKey, rotatedAt, signature }) => ({
    previous_key: previousKey,
    public_key: publicKey,
    rotated_at: isoTime(rotatedAt),
    signature,
  })),
});

/**
 * @param yaml the deployed version's bytes, over which `deployment.signature` was made
 * @param successions the tenant's, oldest first
 */
export function contractUpdate(
  deployment: Deployment,
  yaml: Uint8Array,
  encoding: SignatureEncoding,
  successions: readonly KeySuccession[],
): JsonObject {
  return {
    type: 'contract_update',
    bundle_name: deployment.bundleName,
    version: deployment.version,
    revision_hash: deployment.revisionHash,
    signature: encodeSignature(deployment.signature, encoding),
    public_key: deployment.publicKey,
    yaml_bytes: Buffer.from(yaml.buffer, yaml.byteOffset, yaml.byteLength).toString('base64'),
    env: deployment.env,
    tenant_id: deployment.tenantId,
    ...provenance(deployment, successions),
  };
}
