// Ed25519 and SHA-256 over what a hub signs: the bytes of a document, its attestation, and who follows a signing key.
// Says whether a signature fits; whom to trust is verifier.ts.
import { createHash, createPublicKey, verify } from 'node:crypto';

/** A signing key's statement that another one follows it. Times are kept as they were written: they are signed. */
export interface Succession {
  readonly previousKey: string;
  readonly publicKey: string;
  readonly rotatedAt: string;
  readonly signature: string;
}

/** Content of an attestation: the document in force, its environment, its time, and its predecessors. */
export interface Attested {
  readonly tenantId: string;
  readonly env: string;
  readonly bundleName: string;
  readonly version: number;
  /** Hex SHA-256 of the YAML bytes. */
  readonly revisionHash: string;
  readonly sequence: number;
  readonly deployedAt: string;
}

/** The bundle is not what it claims to be, is not in force any more, or nobody known signed it. */
export class BundleRejectedError extends Error {
  /** The file whose deletion makes the agent trust the hub again; null when the bundle would still be refused. */
  readonly pinFile: string | null;

  constructor(message: string, pinFile: string | null = null) {
    super(message);
    this.name = 'BundleRejectedError';
    this.pinFile = pinFile;
  }
}

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const hexKey = /^[0-9a-fA-F]{64}$/;
const derPrefix = Buffer.from('302a300506032b6570032100', 'hex');

/** True for the text of a public key. */
export const isPublicKey = (text: string): boolean => hexKey.test(text);

/** 64 bytes, written in hex or base64 (standard or URL-safe); null otherwise. */
function signatureBytes(text: string): Buffer | null {
  if (/^[0-9a-fA-F]{128}$/.test(text)) return Buffer.from(text, 'hex');
  if (!/^[A-Za-z0-9+/_-]{86}(==)?$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === 64 ? bytes : null;
}

/** True when the key made this signature (hex or base64) over these bytes. Never throws. */
export function verifies(bytes: Uint8Array, signature: string, publicKey: string): boolean {
  const encoded = signatureBytes(signature);
  if (!encoded || !isPublicKey(publicKey)) return false;
  try {
    const key = createPublicKey({
      key: Buffer.concat([derPrefix, Buffer.from(publicKey, 'hex')]),
      format: 'der',
      type: 'spki',
    });
    return verify(null, bytes, key, encoded);
  } catch {
    // 32 bytes that are no point of the curve.
    return false;
  }
}

/** True when the key attests exactly this. */
export const attests = (signature: string, publicKey: string, stated: Attested): boolean =>
  verifies(
    statement('reeve-deployment-v1', [
      stated.tenantId,
      stated.env,
      stated.bundleName,
      stated.version,
      stated.revisionHash,
      stated.sequence,
      stated.deployedAt,
    ]),
    signature,
    publicKey,
  );

/** The trusted keys, oldest first, and after them every key that one of them leads to. */
export function withSuccessors(
  trusted: readonly string[],
  tenantId: string | null,
  successions: readonly Succession[],
): readonly string[] {
  const keys = [...trusted];
  for (const { previousKey, publicKey, rotatedAt, signature } of successions) {
    if (!keys.includes(previousKey) || keys.includes(publicKey) || !isPublicKey(publicKey)) continue;
    const stated = statement('reeve-key-succession-v1', [tenantId, previousKey, publicKey, rotatedAt]);
    if (verifies(stated, signature, previousKey)) keys.push(publicKey);
  }
  return keys;
}

const statement = (kind: string, stated: readonly unknown[]): Buffer =>
  Buffer.from(`${kind}\n${JSON.stringify(stated)}`, 'utf8');
