// The state of a call: its first verdict in one of four words, and what later reports added to it.
import type { JSX } from 'react';
import type { JsonObject } from '../../contract/record.ts';
import { type QueriedOutcome, thenWordsOf, verdictWordOf } from '../../event/rules/query/match.ts';
import { Verdict } from './parts.tsx';

/** The word of the first verdict; "expired" stands beside an approval that nobody answered. */
export const CallVerdict = ({ verdict, mode }: Readonly<{ verdict: string; mode: string }>): JSX.Element => (
  <>
    <Verdict word={verdictWordOf(verdict, mode)} />
    {verdict === 'call_approval_timeout' && <span className="tag">expired</span>}
  </>
);

/** Outcomes of the call: approved, succeeded, failed. Empty without reports; lists leave out very large ones. */
export function afterCall({
  verdict,
  payload,
  outcomes,
}: {
  readonly verdict: string;
  readonly payload: object | null;
  readonly outcomes: readonly QueriedOutcome[] | object;
}): string {
  const event = { verdict, payload: payload as JsonObject | null };
  return [...thenWordsOf(event, Array.isArray(outcomes) ? outcomes : [])]
    .map((word) => word.replaceAll('_', ' '))
    .join(', ');
}
