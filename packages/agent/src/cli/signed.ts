// What the hub signs and chains, as the offline checks read it: canonical JSON, typed envelopes, Ed25519.
import { createHash, createPublicKey, verify as verifySignature } from 'node:crypto';

/** DER in front of a raw Ed25519 public key (RFC 8410). */
const publicPrefix = Buffer.from('302a300506032b6570032100', 'hex');

/** Hex. */
export const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');

/** JSON with its keys in order and without blanks, as the hub hashes and signs it. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([key, field]) => `${JSON.stringify(key)}:${canonicalJson(field)}`);
  return `{${fields.join(',')}}`;
}

/** What a signature covers of a typed payload (DSSE, version 1). */
export function envelopeBytes(type: string, payload: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(`DSSEv1 ${Buffer.byteLength(type)} ${type} ${payload.length} `),
    payload,
  ]);
}

/** True when one of the keys made the signature. @param keys 64 hex characters each */
export const isSignedBy = (keys: readonly string[], bytes: Buffer, signature: string): boolean =>
  keys.some((hex) => {
    const key = createPublicKey({
      key: Buffer.concat([publicPrefix, Buffer.from(hex, 'hex')]),
      format: 'der',
      type: 'spki',
    });
    return verifySignature(null, bytes, key, Buffer.from(signature, 'base64'));
  });
