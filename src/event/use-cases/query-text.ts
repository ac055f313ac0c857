// Queries as requests name them: parsed, and with the hashes of the versions that they name by number.
import { HubError } from '../../shared/error.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { QueryGrammar } from '../rules/query/fields.ts';
import {
  parseQuery,
  type Query,
  type QueryProblem,
  type QueryTerm,
  type QueryValue,
} from '../rules/query/parse.ts';

/** Bundles that a version's number is looked up in, where the query names none. */
const maxBundles = 200;

const numberPattern = /^v?([1-9]\d{0,8})$/;

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

const exactValues = ({ terms }: Query, name: string): readonly string[] =>
  terms
    .filter(({ field, isNegated }) => field === name && !isNegated)
    .flatMap(({ values }) => values.filter(({ isQuoted, text }) => isQuoted || !text.includes('*')))
    .map(({ text }) => text);

export type QueryReader = (principal: Principal, text: string, grammar: QueryGrammar) => Promise<Query>;

export function createQueryReader({ store }: Pick<AppPorts, 'store'>): QueryReader {
  async function namesOf(tenantId: string, query: Query): Promise<readonly string[]> {
    const names = exactValues(query, 'bundle');
    if (names.length > 0) return names;
    const { items } = await store.bundles.list(tenantId, null, { limit: maxBundles, offset: 0 });
    return items.map(({ name }) => name);
  }

  /** The hashes of the versions of this number; the value itself stays, because a hash may look like a number. */
  async function hashesOf(
    tenantId: string,
    names: readonly string[],
    value: QueryValue,
  ): Promise<readonly QueryValue[]> {
    const number = Number(numberPattern.exec(value.text)?.[1]);
    if (!Number.isSafeInteger(number)) return [value];
    const versions = await Promise.all(names.map((name) => store.bundles.getVersion(tenantId, name, number)));
    const hashes = versions.filter((version) => version !== null).map(({ revisionHash }) => revisionHash);
    return [value, ...[...new Set(hashes)].map((text) => ({ text, isQuoted: false }))];
  }

  return async ({ tenantId }, text, grammar) => {
    const query = queryOf(text, grammar);
    const isByNumber = query.terms.some(
      ({ field, values }) => field === 'version' && values.some((value) => numberPattern.test(value.text)),
    );
    if (!isByNumber) return query;
    const names = await namesOf(tenantId, query);
    const resolved = async (term: QueryTerm): Promise<QueryTerm> =>
      term.field === 'version'
        ? {
            ...term,
            values: (await Promise.all(term.values.map((value) => hashesOf(tenantId, names, value)))).flat(),
          }
        : term;
    return { terms: await Promise.all(query.terms.map(resolved)) };
  };
}
