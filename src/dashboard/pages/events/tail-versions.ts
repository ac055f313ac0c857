// The version numbers in a query of the live tail. Events of the stream contain hashes alone, so the browser looks the
// numbers up, as the hub does for a search.
import type { Query } from '../../../event/rules/query/parse.ts';
import { bundleNamesOf, versionNumbersOf } from '../../../event/rules/query/versions.ts';
import { ApiError, call } from '../../lib/api.ts';
import { useAnswer } from '../../lib/query.ts';
import type { VersionHashes } from './tail-filter.ts';

/** Pairs of a number and a bundle. */
export const maxLookUps = 50;

interface Numbers {
  readonly numbers: readonly number[];
  /** Empty: all bundles. */
  readonly names: readonly string[];
}

/** Null if the bundle has no such version. */
async function hashOf(name: string, version: number, signal: AbortSignal): Promise<string | null> {
  try {
    return (await call('getBundleVersion', { params: { name, version } }, signal)).revision_hash;
  } catch (failure) {
    if (failure instanceof ApiError && failure.status === 404) return null;
    throw failure;
  }
}

/** One more than may be looked up. */
const listNames = async (signal: AbortSignal): Promise<readonly string[]> =>
  (await call('listBundles', { query: { limit: maxLookUps + 1 } }, signal)).map(({ name }) => name);

/** Null for too many look-ups. */
async function lookUpHashes(
  { numbers, names: exact }: Numbers,
  signal: AbortSignal,
): Promise<VersionHashes | null> {
  const names = exact.length > 0 ? exact : await listNames(signal);
  if (numbers.length * names.length > maxLookUps) return null;
  const hashesOf = async (number: number): Promise<readonly [string, readonly string[]]> => {
    const all = await Promise.all(names.map((name) => hashOf(name, number, signal)));
    return [String(number), all.filter((hash) => hash !== null)];
  };
  return Object.fromEntries(await Promise.all(numbers.map(hashesOf)));
}

/** The hashes of the numbers in a query. The stream announces further versions, which reloads them. */
export function useVersionHashes(query: Query | null) {
  const terms = query ?? { terms: [] };
  const input: Numbers = { numbers: versionNumbersOf(terms), names: bundleNamesOf(terms) };
  const hasNumbers = input.numbers.length > 0;
  const versionsQuery = useAnswer('listBundleVersions', input, (_, signal) => lookUpHashes(input, signal), {
    enabled: hasNumbers,
  });
  return { hasNumbers, versionsQuery };
}
