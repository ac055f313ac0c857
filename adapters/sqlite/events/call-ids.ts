// Call ids of 16 bytes as words with their hashes, computed once for every table that they are looked for in.
import { randomBytes } from 'node:crypto';

/** Ids of one tenant. */
export interface CallIds {
  readonly tenant: number;
  readonly length: number;
  /** Four of each id, in the order of its bytes. */
  readonly words: Uint32Array;
  /** Two of each id, independent of each other. */
  readonly hashes: Int32Array;
}

/** Clients choose their ids: nobody outside the process may know which of them collide. */
const [key0, key1] = new Int32Array(new Uint8Array(randomBytes(8)).buffer);

/**
 * Hashes a tenant and four words as HalfSipHash-1-3 does (J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast
 * short-input PRF", 2012; the variant of 32-bit words).
 */
function hashInto(hashes: Int32Array, words: Uint32Array, i: number, tenant: number): void {
  let v0 = key0 ?? 0;
  let v1 = key1 ?? 0;
  let v2 = 0x6c796765 ^ v0;
  let v3 = 0x74656462 ^ v1;
  // The words, an end, and two more rounds without input.
  for (let round = 0; round < 8; round++) {
    const input =
      round === 0 ? tenant : round < 5 ? (words[i * 4 + round - 1] ?? 0) : round === 5 ? 0x14000000 : 0;
    v3 ^= input;
    if (round === 6) v2 ^= 0xff;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= input;
  }
  hashes[i * 2] = v1 ^ v3;
  hashes[i * 2 + 1] = v0 ^ v2;
}

/** @param bytes 16 of each id */
export function callIds(tenant: number, bytes: Uint8Array): CallIds {
  const length = bytes.length >> 4;
  const words = new Uint32Array(length * 4);
  const hashes = new Int32Array(length * 2);
  for (let i = 0, at = 0; i < length; i++) {
    for (let word = i * 4; word < i * 4 + 4; word++, at += 4)
      words[word] =
        ((bytes[at] ?? 0) << 24) |
        ((bytes[at + 1] ?? 0) << 16) |
        ((bytes[at + 2] ?? 0) << 8) |
        (bytes[at + 3] ?? 0);
    hashInto(hashes, words, i, tenant);
  }
  return { tenant, length, words, hashes };
}
