// Queries as text. The same terms have one text, and the text parses to the same terms. Pure; runs in browsers.
import type { FieldKind, QueryGrammar } from './fields.ts';
import type { Query, QueryPathPart, QueryTerm, QueryValue } from './parse.ts';

const inQuotes = (text: string): string => `"${text.replace(/[\\"]/g, '\\$&')}"`;

/** A key that needs no quotes in a path. */
const plainKey = /^[^\s"():.[\]]+$/;

export const pathText = (path: readonly QueryPathPart[]): string =>
  path
    .map(
      ({ key, isList }) => `.${key === '' || plainKey.test(key) ? key : inQuotes(key)}${isList ? '[]' : ''}`,
    )
    .join('');

/** A value of a term or of a list, in quotes only where it needs them. */
export function valueText({ text, isQuoted }: QueryValue, kind: FieldKind | null, isInList: boolean): string {
  // A word in quotes would be a phrase.
  if (kind === null || kind === 'words') return isQuoted ? inQuotes(text) : text;
  const needsQuotes =
    text === '' ||
    /[\s"()]/.test(text) ||
    /^[<>]/.test(text) ||
    (isInList && text.includes(',')) ||
    (isQuoted && text.includes('*'));
  return needsQuotes ? inQuotes(text) : text;
}

function termText(term: QueryTerm, grammar: QueryGrammar): string {
  const { field, path = [], operator, values, isNegated } = term;
  const kind = field === null ? null : (grammar.fields.find(({ name }) => name === field)?.kind ?? 'text');
  const isList = values.length > 1;
  const texts = values.map((value) => valueText(value, kind, isList)).join(',');
  const name = field === null ? '' : `${field}${pathText(path)}:${operator === '=' ? '' : operator}`;
  return `${isNegated ? '-' : ''}${name}${isList ? `(${texts})` : texts}`;
}

/** The text of a query: one space between terms, quotes only where a text needs them. */
export const printQuery = ({ terms }: Query, grammar: QueryGrammar): string =>
  terms.map((term) => termText(term, grammar)).join(' ');

/** A term for one value of a field, such as a facet's; the value stands for itself alone. */
export const valueTerm = (field: string | null, value: string, isNegated = false): QueryTerm => ({
  isNegated,
  field,
  operator: '=',
  values: [{ text: value, isQuoted: true }],
  start: 0,
  end: 0,
});
