// Signatures, and by what clients check them, as replies and frames write both.
import { z } from 'zod';
import type { Deployment } from '../../deployment/record.ts';
import type { VendorNames } from '../../shared/vendor-names.ts';
import type { KeySuccession } from '../../signing/record.ts';
import { isoTime } from '../../signing/rules/attestation.ts';
import { instant } from './fields.ts';

/** Hex, or standard base64 with padding for clients that verify it so. */
export type SignatureEncoding = VendorNames['signatureEncoding'];

/** The signature (hex) as clients want it. Not for browsers. */
export const encodeSignature = (signature: string, encoding: SignatureEncoding): string =>
  encoding === 'hex' ? signature : Buffer.from(signature, 'hex').toString('base64');

export const keySuccession = z.object({
  previous_key: z.string(),
  public_key: z.string(),
  rotated_at: instant,
  signature: z.string(),
});

/** Fields by which a client checks where a document stands in time, and by which right its key signs. */
export const provenanceFields = {
  sequence: z.number().int(),
  deployed_at: instant,
  attestation: z.string().nullable(),
  key_succession: z.array(keySuccession),
};

/** The fields of `provenanceFields`. @param successions the tenant's, oldest first */
export const provenance = (deployment: Deployment, successions: readonly KeySuccession[]) => ({
  sequence: deployment.sequence,
  deployed_at: isoTime(deployment.createdAt),
  attestation: deployment.attestation,
  key_succession: renderSuccessions(successions),
});

export const renderSuccessions = (successions: readonly KeySuccession[]) =>
  successions.map(({ previousKey, publicKey, rotatedAt, signature }) => ({
    previous_key: previousKey,
    public_key: publicKey,
    rotated_at: isoTime(rotatedAt),
    signature,
  }));
