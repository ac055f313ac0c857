// Hashes and Ed25519 of Node, for the offline checks of what the hub signs and chains (../evidence).
import { createHash, createPublicKey, verify as verifySignature } from 'node:crypto';
import type { EvidenceCrypto } from '../evidence/signed.ts';

/** DER in front of a raw Ed25519 public key (RFC 8410). */
const publicPrefix = Buffer.from('302a300506032b6570032100', 'hex');

function isMadeBy(key: Uint8Array, bytes: Uint8Array, signature: Uint8Array): boolean {
  try {
    const publicKey = createPublicKey({
      key: Buffer.concat([publicPrefix, key]),
      format: 'der',
      type: 'spki',
    });
    return verifySignature(null, bytes, publicKey, signature);
  } catch {
    // 32 bytes that are no point of the curve.
    return false;
  }
}

export const nodeCrypto: EvidenceCrypto = {
  sha256: async (bytes) => createHash('sha256').update(bytes).digest(),
  verify: async (key, bytes, signature) => isMadeBy(key, bytes, signature),
};
