// The texts that signing keys sign beside the YAML itself: what a deployment is, and which key follows which. Pure.
// Their first line is no YAML mapping, so that no uploaded bundle can have the bytes of one. docs/signatures.md
// describes both.
import type { Deployment } from '../../deployment/record.ts';
import type { KeySuccession } from '../record.ts';

/** A time as these texts and the frames write it. */
export const isoTime = (ms: number): string => new Date(ms).toISOString();

/** The signed text of a deployment's attestation: the document, its environment, its time and its sequence. */
export const attestationText = (
  deployment: Pick<
    Deployment,
    'tenantId' | 'env' | 'bundleName' | 'version' | 'revisionHash' | 'sequence' | 'createdAt'
  >,
): string =>
  `reeve-deployment-v1\n${JSON.stringify([
    deployment.tenantId,
    deployment.env,
    deployment.bundleName,
    deployment.version,
    deployment.revisionHash,
    deployment.sequence,
    isoTime(deployment.createdAt),
  ])}`;

/** The text that a retiring key signs about its successor. */
export const successionText = (
  tenantId: string,
  succession: Pick<KeySuccession, 'previousKey' | 'publicKey' | 'rotatedAt'>,
): string =>
  `reeve-key-succession-v1\n${JSON.stringify([
    tenantId,
    succession.previousKey,
    succession.publicKey,
    isoTime(succession.rotatedAt),
  ])}`;
