// The query of Explore.
import { useMemo } from 'react';
import { eventGrammar } from '../../event/rules/query/fields.ts';
import { queryOfFilters } from '../../event/rules/query/filters.ts';
import { queryTest } from '../../event/rules/query/match.ts';
import { parseQuery, type QueryTerm } from '../../event/rules/query/parse.ts';
import { printQuery, valueTerm } from '../../event/rules/query/print.ts';
import { hasTerm, type PageQuery, type QueryLanguage, toggledTerm, usePageQuery } from './page-query.ts';

type Filter = { readonly [parameter: string]: string | undefined };

/** The text for filters with the names of the API's parameters. */
export const textOfFilters = (filters: Filter): string => queryOfFilters(filters, eventGrammar);

export const eventLanguage: QueryLanguage = {
  page: 'explore',
  grammar: eventGrammar,
  earlier: [
    ...['verdict', 'tool_name', 'agent_id', 'decision_name'],
    ...['mode', 'run_id', 'call_id', 'search'],
  ],
  textOf: textOfFilters,
};

export interface EventQuery extends PageQuery {
  /** The hub must read arguments or reasons, so counts come from the loaded rows. */
  readonly hasText: boolean;
}

export function useEventQuery(): EventQuery {
  const page = usePageQuery(eventLanguage);
  const hasText = useMemo(() => page.query !== null && queryTest(page.query).needsPayload, [page.query]);
  return { ...page, hasText };
}

const termOf = (filter: Filter): QueryTerm | undefined => {
  const parsed = parseQuery(textOfFilters(filter), eventGrammar);
  return 'query' in parsed ? parsed.query.terms[0] : undefined;
};

/** True if the query contains the term of a filter. */
export function hasFilter(page: EventQuery, filter: Filter): boolean {
  const term = termOf(filter);
  return term !== undefined && hasTerm(page, term, eventGrammar);
}

/** The text with the filter's term in place of another value of its field, or without the term if it is there. */
export function toggled(page: EventQuery, filter: Filter): string {
  const term = termOf(filter);
  return term === undefined ? page.text : toggledTerm(page, term, eventGrammar);
}

/** The text with a value in place of another one of its field, or with its calls left out. */
export function withValue(page: EventQuery, field: string, value: string, isNegated: boolean): string {
  const textOf = (term: QueryTerm): string => printQuery({ terms: [term] }, eventGrammar);
  const term = valueTerm(field, value, isNegated);
  if (hasTerm(page, term, eventGrammar)) return page.text;
  const opposite = textOf(valueTerm(field, value, !isNegated));
  const others = (page.query?.terms ?? []).filter(
    (one) => textOf(one) !== opposite && (isNegated || one.isNegated || one.field !== field),
  );
  return printQuery({ terms: [...others, term] }, eventGrammar);
}

/** The text with the filter's term beside its own terms: a group of its calls. */
export function narrowed(page: EventQuery, filter: Filter): string {
  const term = termOf(filter);
  const terms = page.query?.terms ?? [];
  if (term === undefined || hasTerm(page, term, eventGrammar)) return page.text;
  return printQuery({ terms: [...terms, term] }, eventGrammar);
}
