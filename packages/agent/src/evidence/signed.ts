// Hashes and typed envelopes that the hub signs and chains, for checks without the hub. Runs in Node and in browsers.

/** Hashes and signatures of where the check runs. */
export interface EvidenceCrypto {
  sha256(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array>;
  /** Ed25519. False for a key or a signature that is none. @param key 32 bytes */
  verify(
    key: Uint8Array<ArrayBuffer>,
    bytes: Uint8Array<ArrayBuffer>,
    signature: Uint8Array<ArrayBuffer>,
  ): Promise<boolean>;
}

export const textBytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

export const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** @param hex an even number of hex characters */
export const hexBytes = (hex: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));

/** Bytes that the signature of a typed payload covers (DSSE, version 1). */
export function envelopeBytes(type: string, payload: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = textBytes(`DSSEv1 ${textBytes(type).length} ${type} ${payload.length} `);
  const whole = new Uint8Array(head.length + payload.length);
  whole.set(head);
  whole.set(payload, head.length);
  return whole;
}

/** True if a mapping has no other members than these. */
export const hasOnly = (value: object, members: readonly string[]): boolean =>
  Object.keys(value).every((name) => members.includes(name));

/** The bytes of standard base64; null for another text of the same bytes, too: what is signed has one form. */
export function base64Bytes(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const binary = atob(text);
    if (btoa(binary) !== text) return null;
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}
