// Reads files of decision bundles for `reeve-agent verify`; what is checked is in ../evidence/bundle.ts.
import { open } from 'node:fs/promises';
import { type BundleVerdict, checkBundle as check } from '../evidence/bundle.ts';
import { readStrictJson } from '../rules/strict-json.ts';
import { nodeCrypto } from './signed.ts';

/** Bytes: more than a bundle ever has. */
const maxFile = 32 * 1024 * 1024;

/** The bundle that a file holds; null for a file of something else, and for one that can be read in two ways. */
export async function readBundle(file: string): Promise<unknown> {
  const handle = await open(file).catch(() => null);
  if (handle === null) return null;
  try {
    const { size } = await handle.stat();
    if (size > maxFile) return null;
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await handle.readFile());
    const value = readStrictJson(text, { numbers: 'written' });
    return typeof value === 'object' && value !== null && 'payload' in value ? value : null;
  } catch {
    return null;
  } finally {
    await handle.close();
  }
}

/** @param keys public keys that are trusted, as 64 hex characters each; none: the signature is not checked */
export const checkBundle = (value: unknown, keys: readonly string[]): Promise<BundleVerdict> =>
  check(value, keys, nodeCrypto);
