// The query of a page in its address (`q`), parsed with the grammar of the page. Filters of stored addresses become
// terms of its text, which is the only filter beside environment and time range.
import { useEffect, useMemo } from 'react';
import type { QueryGrammar } from '../../event/rules/query/fields.ts';
import { parseQuery, type Query, type QueryProblem, type QueryTerm } from '../../event/rules/query/parse.ts';
import { printQuery, valueTerm } from '../../event/rules/query/print.ts';
import { type Search, useFilters } from './search.ts';

/** Fields by which a page can be searched. */
export interface QueryLanguage {
  /** Name of the page in saved views. */
  readonly page: string;
  readonly grammar: QueryGrammar;
  /** Filters of stored addresses. */
  readonly earlier: readonly string[];
  /** The text for such filters. */
  readonly textOf: (filters: Search) => string;
}

export interface PageQuery {
  /** Pages send nothing while the text has a mistake. */
  readonly text: string;
  /** Null if the text has a mistake. */
  readonly query: Query | null;
  /** The mistake; null if the text has none. */
  readonly problem: QueryProblem | null;
  readonly change: (text: string) => void;
}

/** The text for single values, by parameter; a field of null is a phrase without a field. */
export const textOfValues =
  (grammar: QueryGrammar, fields: { readonly [parameter: string]: string | null }) =>
  (filters: Search): string => {
    const terms = Object.entries(filters).flatMap(([name, value]) =>
      value ? [valueTerm(fields[name] ?? null, value)] : [],
    );
    const text = printQuery({ terms }, grammar);
    const parsed = parseQuery(text, grammar);
    // Words of the API become words of the screen.
    return 'query' in parsed ? printQuery(parsed.query, grammar) : text;
  };

/** The text for the filters of a stored address; null if it has none. */
function textOfEarlier(search: Search, { earlier, textOf }: QueryLanguage): string | null {
  const filters = Object.fromEntries(earlier.map((name) => [name, search[name]]));
  if (Object.values(filters).every((value) => !value)) return null;
  return [search.q ?? '', textOf(filters)].filter((part) => part !== '').join(' ');
}

export function usePageQuery(language: QueryLanguage): PageQuery {
  const [search, change] = useFilters();
  const earlier = textOfEarlier(search, language);
  const text = earlier ?? search.q ?? '';
  useEffect(() => {
    if (earlier === null) return;
    change({ q: earlier, ...Object.fromEntries(language.earlier.map((name) => [name, undefined])) }, true);
  });
  const read = useMemo(() => parseQuery(text, language.grammar), [text, language]);
  return {
    text,
    ...('problem' in read ? { query: null, problem: read.problem } : { query: read.query, problem: null }),
    change: (next) => change({ q: next, peek: undefined }),
  };
}

/** True if the query contains the term. */
export function hasTerm({ query }: PageQuery, term: QueryTerm, grammar: QueryGrammar): boolean {
  const text = printQuery({ terms: [term] }, grammar);
  return query?.terms.some((one) => printQuery({ terms: [one] }, grammar) === text) ?? false;
}

/** The text with the term in place of another one of its field, or without the term if it is there. */
export function toggledTerm(page: PageQuery, term: QueryTerm, grammar: QueryGrammar): string {
  const rest = (page.query?.terms ?? []).filter((one) => one.field !== term.field || one.isNegated);
  const text = printQuery({ terms: [term] }, grammar);
  const others = rest.filter((one) => printQuery({ terms: [one] }, grammar) !== text);
  return printQuery({ terms: hasTerm(page, term, grammar) ? others : [...others, term] }, grammar);
}
