// The query of Explore in its address: its text is the only filter beside environment and time range.
import { useEffect, useMemo } from 'react';
import { eventGrammar } from '../../event/rules/query/fields.ts';
import { queryOfFilters } from '../../event/rules/query/filters.ts';
import { queryTest } from '../../event/rules/query/match.ts';
import { parseQuery, type Query, type QueryProblem, type QueryTerm } from '../../event/rules/query/parse.ts';
import { printQuery } from '../../event/rules/query/print.ts';
import { type Search, useFilters } from './search.ts';

/** Filters of the earlier console, which stored addresses contain. */
const earlierFilters = [
  'verdict',
  'tool_name',
  'agent_id',
  'decision_name',
  'mode',
  'run_id',
  'call_id',
  'search',
] as const;

export interface EventQuery {
  readonly text: string;
  /** Null if the text has a mistake. */
  readonly query: Query | null;
  readonly problem: QueryProblem | null;
  /** The hub must read arguments or reasons, so counts come from the loaded rows. */
  readonly hasText: boolean;
  readonly change: (text: string) => void;
}

const readQuery = (text: string) => parseQuery(text, eventGrammar);

/** The mistake in a text; null if there is none. */
export function problemOf(text: string): QueryProblem | null {
  const parsed = readQuery(text);
  return 'problem' in parsed ? parsed.problem : null;
}

/** The text for filters with the names of the API's parameters. */
export const textOfFilters = (filters: { readonly [parameter: string]: string | undefined }): string =>
  queryOfFilters(filters, eventGrammar);

/** The text for earlier filters in an address; null if it has none. */
function textOfEarlier(search: Search): string | null {
  const filters = Object.fromEntries(earlierFilters.map((name) => [name, search[name]]));
  if (Object.values(filters).every((value) => !value)) return null;
  return [search.q ?? '', textOfFilters(filters)].filter((part) => part !== '').join(' ');
}

export function useEventQuery(): EventQuery {
  const [search, change] = useFilters();
  const earlier = textOfEarlier(search);
  const text = earlier ?? search.q ?? '';
  useEffect(() => {
    if (earlier === null) return;
    change({ q: earlier, ...Object.fromEntries(earlierFilters.map((name) => [name, undefined])) }, true);
  });
  const [query, problem, hasText] = useMemo(() => {
    const parsed = readQuery(text);
    if ('problem' in parsed) return [null, parsed.problem, false] as const;
    return [parsed.query, null, queryTest(parsed.query).needsPayload] as const;
  }, [text]);
  return { text, query, problem, hasText, change: (next) => change({ q: next, peek: undefined }) };
}

const isSame = (a: QueryTerm, b: QueryTerm): boolean =>
  printQuery({ terms: [a] }, eventGrammar) === printQuery({ terms: [b] }, eventGrammar);

const termOf = (filters: { readonly [parameter: string]: string }): QueryTerm | undefined => {
  const parsed = readQuery(textOfFilters(filters));
  return 'query' in parsed ? parsed.query.terms[0] : undefined;
};

/** True if the query contains the term of a filter. */
export function hasFilter({ query }: EventQuery, filter: { readonly [parameter: string]: string }): boolean {
  const term = termOf(filter);
  return term !== undefined && (query?.terms.some((one) => isSame(one, term)) ?? false);
}

/** The text with the filter's term in place of another value of its field, or without the term if it is there. */
export function toggled({ query }: EventQuery, filter: { readonly [parameter: string]: string }): string {
  const term = termOf(filter);
  const terms = query?.terms ?? [];
  if (term === undefined) return printQuery({ terms }, eventGrammar);
  const isThere = terms.some((one) => isSame(one, term));
  const rest = terms.filter((one) => one.field !== term.field || one.isNegated);
  return printQuery({ terms: isThere ? rest : [...rest, term] }, eventGrammar);
}
