// The count and digest of a kind of records. Neither depends on the order in which records are read.
import { hash } from 'node:crypto';
import { canonicalJson } from '../../shared/json/canonical.ts';

const modulus = 2n ** 256n;
/** Half of a surrogate pair in JSON: MongoDB and Redis keep a replacement character instead. */
const halfPair = /\\ud[89a-f][0-9a-f]{2}/i;

export interface KindDigest {
  readonly records: number;
  /** Sum of the SHA-256 over each record's canonical JSON, modulo 2^256, in hexadecimal. */
  readonly digest: string;
}

export class Digest {
  #records = 0;
  #sum = 0n;

  /** @returns characters of the record's JSON */
  add(record: object): number {
    const text = canonicalJson(record);
    this.#records++;
    this.#sum = (this.#sum + BigInt(`0x${hash('sha256', text, 'hex')}`)) % modulus;
    return text.length;
  }

  get value(): KindDigest {
    return { records: this.#records, digest: this.#sum.toString(16).padStart(64, '0') };
  }
}

/** The value with whole characters in all of its texts. */
function whole(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/\p{Surrogate}/gu, '\ufffd');
  if (Array.isArray(value)) return value.map(whole);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, whole(field)]));
}

/** The record as MongoDB and Redis can keep it. */
export const storable = <T extends object>(record: T): T =>
  halfPair.test(JSON.stringify(record)) ? (whole(record) as T) : record;
