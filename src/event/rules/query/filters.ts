// The text of a query for the single filters of stored addresses. Pure; runs in browsers.

import { snakeKeys } from '../../../shared/snake-keys.ts';
import { thenChoices, verdictChoices } from '../../record/words.ts';
import type { QueryGrammar } from './fields.ts';
import type { QueryTerm } from './parse.ts';
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
