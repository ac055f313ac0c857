// Checks signed decision bundles in the browser: with Web Crypto, or with tweetnacl if Web Crypto or its Ed25519 is
// missing.
import { sha256 } from '@noble/hashes/sha2.js';
import {
  type BundleVerdict,
  checkBundle,
  keyIdOf as idOf,
} from '../../../packages/agent/src/evidence/bundle.ts';
import { ChainCheck } from '../../../packages/agent/src/evidence/chain.ts';
import type { EvidenceCrypto } from '../../../packages/agent/src/evidence/signed.ts';
import { pause } from './browser.ts';
import { ownKey, readStored, writeStored } from './prefs.ts';

/** A signature check, and its display name. */
interface Checker extends EvidenceCrypto {
  readonly name: string;
}

async function checkerOf(subtle: SubtleCrypto | undefined): Promise<Checker> {
  const digest: EvidenceCrypto['sha256'] = subtle
    ? async (bytes) => new Uint8Array(await subtle.digest('SHA-256', bytes))
    : async (bytes) => sha256(bytes);
  if (subtle && (await knowsEd25519(subtle))) {
    return {
      name: 'Web Crypto',
      sha256: digest,
      async verify(key, bytes, signature) {
        try {
          const imported = await subtle.importKey('raw', key, 'Ed25519', false, ['verify']);
          return await subtle.verify('Ed25519', imported, signature, bytes);
        } catch {
          // 32 bytes that are not a point on the curve.
          return false;
        }
      },
    };
  }
  const { default: nacl } = await import('tweetnacl');
  return {
    name: 'tweetnacl',
    sha256: digest,
    verify: async (key, bytes, signature) =>
      key.length === nacl.sign.publicKeyLength &&
      signature.length === nacl.sign.signatureLength &&
      nacl.sign.detached.verify(bytes, signature, key),
  };
}

/** The base point of the curve, a key that every implementation takes. */
const anyKey = Uint8Array.from({ length: 32 }, (_, i) => (i === 0 ? 0x58 : 0x66));

async function knowsEd25519(subtle: SubtleCrypto): Promise<boolean> {
  try {
    await subtle.importKey('raw', anyKey, 'Ed25519', false, ['verify']);
    return true;
  } catch {
    return false;
  }
}

const checker = (): Promise<Checker> =>
  checkerOf((globalThis.crypto as { readonly subtle?: SubtleCrypto } | undefined)?.subtle);

export interface Checked extends BundleVerdict {
  /** Display name of the signature check. */
  readonly by: string;
  /** Name of the signing key; null if it is not trusted. */
  readonly keyId: string | null;
}

/** @param keys trusted public keys, as 64 hex characters each */
export async function verifyBundle(bundle: unknown, keys: readonly string[]): Promise<Checked> {
  const checks = await checker();
  const verdict = await checkBundle(bundle, keys, checks);
  return {
    ...verdict,
    by: checks.name,
    keyId: verdict.signedBy === null ? null : await idOf(verdict.signedBy, checks),
  };
}

/** Result of a chain's check. */
export interface ChainVerdict {
  /** The first fault with its line number; null if there is none. */
  readonly wrong: string | null;
  readonly summary: string;
  /** Name of the pinned key that signed the head; null if none did. */
  readonly keyId: string | null;
  readonly by: string;
}

/** Lines checked before the page gets a turn. */
const turn = 500;

/**
 * @param lines links of the audit chain and its signed heads, in the hub's export format
 * @param keys trusted public keys, as 64 hex characters each
 * @param onLine called from time to time with the number of checked lines
 */
export async function verifyChain(
  lines: readonly string[],
  keys: readonly string[],
  onLine: (checked: number) => void,
): Promise<ChainVerdict> {
  const checks = await checker();
  const check = new ChainCheck(keys, checks);
  const verdict = async (wrong: string | null): Promise<ChainVerdict> => ({
    wrong,
    summary: wrong === null ? check.summary() : '',
    keyId: check.signedBy === null ? null : await idOf(check.signedBy, checks),
    by: checks.name,
  });
  for (const [i, line] of lines.entries()) {
    const wrong = line.trim() === '' ? null : await check.take(line);
    if (wrong !== null) return verdict(`line ${i + 1} ${wrong}`);
    if (i % turn === turn - 1) {
      onLine(i + 1);
      await pause(0);
    }
  }
  const end = check.end();
  return verdict(end === null ? null : `the chain ${end}`);
}

export const keyIdOf = async (key: string): Promise<string> => idOf(key, await checker());

export const isKey = (text: string): boolean => /^[0-9a-f]{64}$/i.test(text);

/** The keys that the person pinned in this browser. */
export function pinnedKeys(): readonly string[] {
  try {
    const stored: unknown = JSON.parse(readStored(ownKey('pinned-keys')) ?? '[]');
    return Array.isArray(stored) ? stored.filter((one) => typeof one === 'string' && isKey(one)) : [];
  } catch {
    return [];
  }
}

export const pinKeys = (keys: readonly string[]): void =>
  writeStored(ownKey('pinned-keys'), JSON.stringify(keys));
