// The single filters that a query implies: stores have indexes for them. Pure.
import type { EventFilter } from '../filter.ts';
import type { Query } from './parse.ts';

/** The only value that a query allows for a field; undefined if it allows others. */
const onlyValue = ({ terms }: Query, name: string): string | undefined =>
  terms
    .filter(({ field, isNegated, values }) => field === name && !isNegated && values.length === 1)
    .flatMap(({ values }) => values)
    .find(({ isQuoted, text }) => isQuoted || !text.includes('*'))?.text;

/** The filter with the agent and the call of its query, where it has none of its own. */
export function narrowedByQuery<F extends EventFilter>(filter: F): F {
  const { query } = filter;
  if (query === undefined) return filter;
  const agentId = filter.agentId ?? onlyValue(query, 'agent');
  const callId = filter.callId ?? onlyValue(query, 'call');
  return {
    ...filter,
    ...(agentId === undefined ? {} : { agentId }),
    ...(callId === undefined ? {} : { callId }),
  };
}
