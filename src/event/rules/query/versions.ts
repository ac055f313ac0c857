// Numbers of stored versions in a query. Events contain the hashes of their documents alone, so a reader of queries
// looks the hashes up. Pure; runs in browsers and in the hub.
import type { Query, QueryTerm, QueryValue } from './parse.ts';

const numberPattern = /^v?([1-9]\d{0,8})$/;
/** The number of a version; null for a hash. */
const numberOf = ({ text }: QueryValue): number | null => {
  const digits = numberPattern.exec(text)?.[1];
  return digits === undefined ? null : Number(digits);
};

/** The numbers that the query contains, each once. */
export const versionNumbersOf = ({ terms }: Query): readonly number[] => [
  ...new Set(
    terms
      .filter(({ field }) => field === 'version')
      .flatMap(({ values }) => values.map(numberOf).filter((number) => number !== null)),
  ),
];

/** The bundles that the query names exactly, each once. */
export const bundleNamesOf = ({ terms }: Query): readonly string[] => [
  ...new Set(
    terms
      .filter(({ field, isNegated }) => field === 'bundle' && !isNegated)
      .flatMap(({ values }) => values.filter(({ isQuoted, text }) => isQuoted || !text.includes('*')))
      .map(({ text }) => text),
  ),
];

/** The query with the hashes of each number. The number stays beside them, because a hash may look like a number. */
export function withVersionHashes({ terms }: Query, hashesOf: (number: number) => readonly string[]): Query {
  const withHashes = (value: QueryValue): readonly QueryValue[] => [
    value,
    ...hashesOf(numberOf(value) ?? 0).map((text) => ({ text, isQuoted: false })),
  ];
  const resolve = (term: QueryTerm): QueryTerm =>
    term.field === 'version' ? { ...term, values: term.values.flatMap(withHashes) } : term;
  return { terms: terms.map(resolve) };
}
