// Queries as requests name them: parsed, and with the hashes of the versions that they name by number.
import { inSlices } from '../../shared/concurrency/in-slices.ts';
import { HubError } from '../../shared/error.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { QueryGrammar } from '../rules/query/fields.ts';
import { parseQuery, type Query, type QueryProblem } from '../rules/query/parse.ts';
import { bundleNamesOf, versionNumbersOf, withVersionHashes } from '../rules/query/versions.ts';

/** Bundles that a version's number is looked up in, where the query names none. */
const maxBundles = 200;
/** Look-ups of a number in a bundle: of a query, and of these at once. */
const maxLookUps = 1_000;
const lookUpsAtOnce = 8;

export const queryRefusal = ({ position, expected }: QueryProblem): HubError =>
  new HubError('validation_failed', `The query is not valid: position ${position}: expected ${expected}.`, {
    fields: [{ field: ['q', position], message: `position ${position}: expected ${expected}` }],
  });

/** @throws HubError validation_failed with the position and the text that was expected */
export function queryOf(text: string, grammar: QueryGrammar): Query {
  const parsed = parseQuery(text, grammar);
  if ('problem' in parsed) throw queryRefusal(parsed.problem);
  return parsed.query;
}

export type QueryReader = (principal: Principal, text: string, grammar: QueryGrammar) => Promise<Query>;

export function createQueryReader({ store }: Pick<AppPorts, 'store'>): QueryReader {
  async function namesOf(tenantId: string, query: Query): Promise<readonly string[]> {
    const names = bundleNamesOf(query);
    if (names.length > 0) return names;
    const { items } = await store.bundles.list(tenantId, null, { limit: maxBundles, offset: 0 });
    return items.map(({ name }) => name);
  }

  /** The hashes of the versions of each number. @throws HubError validation_failed for too many look-ups */
  async function hashesByNumber(tenantId: string, query: Query, numbers: readonly number[]) {
    const names = await namesOf(tenantId, query);
    const count = numbers.length * names.length;
    if (count > maxLookUps) {
      const { start = 0, end = 0 } = query.terms.find(({ field }) => field === 'version') ?? {};
      const expected = `at most ${maxLookUps} pairs of a version number and a bundle, got ${count}`;
      throw queryRefusal({ position: start, length: end - start, expected });
    }
    const lookUps = numbers.flatMap((number) => names.map((name) => ({ number, name })));
    const hashes = new Map<number, Set<string>>(numbers.map((number) => [number, new Set()]));
    await inSlices(lookUps, lookUpsAtOnce, async ({ number, name }) => {
      const version = await store.bundles.getVersion(tenantId, name, number);
      if (version) hashes.get(number)?.add(version.revisionHash);
    });
    return hashes;
  }

  return async ({ tenantId }, text, grammar) => {
    const query = queryOf(text, grammar);
    const numbers = versionNumbersOf(query);
    if (numbers.length === 0) return query;
    const hashes = await hashesByNumber(tenantId, query, numbers);
    return withVersionHashes(query, (number) => [...(hashes.get(number) ?? [])]);
  };
}
