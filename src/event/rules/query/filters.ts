// Between a query's text and the single filters of lists: stored addresses become text, and text becomes the
// parameters of lists that take no query. Pure; runs in browsers.

import { snakeKeys } from '../../../shared/snake-keys.ts';
import { thenChoices, verdictChoices } from '../../record/words.ts';
import type { QueryGrammar } from './fields.ts';
import type { Query, QueryProblem, QueryTerm } from './parse.ts';
import { printQuery, valueTerm } from './print.ts';

/** The single filters of the list of events, by parameter. */
const eventFields: { readonly [parameter: string]: string | null } = snakeKeys({
  agentId: 'agent',
  toolName: 'tool',
  mode: 'mode',
  env: 'env',
  decisionName: 'contract',
  runId: 'run',
  callId: 'call',
  search: null,
});

/** Words for later reports: a filter by one of them finds calls by the outcome, not by the first verdict. */
const laterWords = ['approved', 'denied', 'expired', 'failed', 'warned'] as const;

function verdictTerm(word: string): QueryTerm | null {
  for (const choice of laterWords) {
    const words: readonly string[] = thenChoices[choice];
    if (words.includes(word) && word.startsWith('call_')) return valueTerm('then', choice);
  }
  for (const [choice, words] of Object.entries(verdictChoices)) {
    if (choice === word || (words as readonly string[]).includes(word)) return valueTerm('verdict', choice);
  }
  return null;
}

/** The text for the single filters of a stored address; a verdict that the language has no word for is left out. */
export function queryOfFilters(
  filters: { readonly [parameter: string]: string | undefined },
  grammar: QueryGrammar,
): string {
  const terms: QueryTerm[] = [];
  for (const [parameter, value] of Object.entries(filters)) {
    if (value === undefined || value === '') continue;
    if (parameter === 'verdict') {
      const term = verdictTerm(value);
      if (term) terms.push(term);
    } else if (Object.hasOwn(eventFields, parameter)) {
      terms.push(valueTerm(eventFields[parameter] ?? null, value));
    }
  }
  return printQuery({ terms }, grammar);
}

/** A parameter of a list, or the parameters for each word of a field of kind `choice`. */
export type ParameterOf = string | { readonly [word: string]: { readonly [parameter: string]: string } };

export type ListParameters =
  | { readonly parameters: { readonly [parameter: string]: string } }
  | {
      readonly problem: QueryProblem;
    };

/**
 * The parameters of a list that takes no query: each field once, with one whole value.
 * @param table parameter by field; the key '' is for words without a field
 */
export function parametersOf(query: Query, table: { readonly [field: string]: ParameterOf }): ListParameters {
  const parameters: { [parameter: string]: string } = {};
  for (const term of query.terms) {
    const fail = (expected: string): ListParameters => ({
      problem: { position: term.start, length: term.end - term.start, expected },
    });
    const target = Object.hasOwn(table, term.field ?? '') ? table[term.field ?? ''] : undefined;
    const [value, ...others] = term.values;
    if (target === undefined) return fail('a field that this page can filter by');
    if (term.isNegated || others.length > 0 || value === undefined || term.operator !== '=') {
      return fail('one value without - and without brackets on this page');
    }
    const additions = typeof target === 'string' ? { [target]: value.text } : target[value.text];
    if (additions === undefined) return fail(`one of ${Object.keys(target).join(', ')}`);
    if (term.field !== null && !value.isQuoted && value.text.includes('*')) {
      return fail('a whole value without * on this page');
    }
    for (const [parameter, text] of Object.entries(additions)) {
      if (Object.hasOwn(parameters, parameter)) return fail('each field once on this page');
      parameters[parameter] = text;
    }
  }
  return { parameters };
}
