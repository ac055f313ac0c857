// Whether a bundle is what the hub signed: its hash and its Ed25519 signature over the raw YAML bytes. Keeps no keys on disk.
import { createHash, createPublicKey, timingSafeEqual, verify } from 'node:crypto';
import type { FetchedBundle } from '../hub.ts';

/** Not checked; checked against the key that came with the first signed bundle; or against these keys (64 hex characters each). */
export type Signing = 'off' | 'first-seen' | readonly string[];

/** The bundle is not what it claims to be, or nobody known signed it. */
export class BundleRejectedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BundleRejectedError';
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

function verifies(bytes: Uint8Array, signature: Buffer, publicKey: string): boolean {
  try {
    const key = createPublicKey({
      key: Buffer.concat([derPrefix, Buffer.from(publicKey, 'hex')]),
      format: 'der',
      type: 'spki',
    });
    return verify(null, bytes, key, signature);
  } catch {
    return false;
  }
}

/** Checks bundles one after the other; remembers the first key it saw when told to trust that one. */
export class BundleVerifier {
  readonly #signing: Signing;
  #firstSeen: string | null;

  /** @param firstSeen a key remembered from an earlier run */
  constructor(signing: Signing, firstSeen: string | null = null) {
    this.#signing = signing;
    this.#firstSeen = firstSeen;
  }

  /** The key trusted since it was first seen. */
  get firstSeen(): string | null {
    return this.#firstSeen;
  }

  /** Trusts this key, as an earlier run did. */
  remember(key: string): void {
    this.#firstSeen ??= key;
  }

  /** The bundle's own SHA-256. @throws BundleRejectedError */
  check(bundle: FetchedBundle): string {
    const hash = sha256(bundle.bytes);
    if (bundle.revisionHash !== null && !same(hash, bundle.revisionHash.toLowerCase())) {
      throw new BundleRejectedError(
        `bundle ${bundle.bundleName}: its bytes do not have the stated revision hash`,
      );
    }
    if (this.#signing !== 'off') this.#checkSignature(bundle);
    return hash;
  }

  #checkSignature({ bundleName, bytes, signature, publicKey }: FetchedBundle): void {
    const encoded = signature === null ? null : signatureBytes(signature);
    if (!encoded) throw new BundleRejectedError(`bundle ${bundleName} has no usable signature`);
    const offered = publicKey !== null && isPublicKey(publicKey) ? publicKey.toLowerCase() : null;
    const trusted = Array.isArray(this.#signing) ? this.#signing : [this.#firstSeen ?? offered];
    const good = trusted.some((key) => typeof key === 'string' && verifies(bytes, encoded, key));
    if (!good) throw new BundleRejectedError(`bundle ${bundleName} is not signed by a trusted key`);
    if (this.#signing === 'first-seen') this.#firstSeen ??= offered;
  }
}

const same = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
