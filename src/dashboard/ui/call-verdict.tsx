// The state of a call: its first verdict in one of four words, and what later reports added to it.
import type { JSX } from 'react';
import type { JsonObject } from '../../contract/record.ts';
import { type QueriedOutcome, thenWordsOf, verdictWordOf } from '../../event/rules/query/match.ts';
import { camelKeys, type SnakeKeys } from '../../shared/snake-keys.ts';
import { Verdict } from './parts.tsx';

/** An outcome as the API returns it. */
type OutcomeOfReply = SnakeKeys<QueriedOutcome>;

/** A report's own words. */
export interface ReportWords {
  readonly verdict: string;
  readonly mode: string;
}

/** The word of any report about a call: its own one, but "would deny" for a denial in mode observe. */
export const ReportVerdict = ({ verdict, mode }: ReportWords): JSX.Element => {
  const word = verdictWordOf(verdict, mode);
  return <Verdict word={word === 'would_deny' ? word : verdict} />;
};

/** The word of the first verdict; "expired" stands beside an approval that nobody answered. */
export const CallVerdict = ({ verdict, mode }: ReportWords): JSX.Element => (
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
  readonly outcomes: readonly OutcomeOfReply[] | object;
}): string {
  const event = { verdict, payload: payload as JsonObject | null };
  const ends = Array.isArray(outcomes) ? outcomes.map((one: OutcomeOfReply) => camelKeys(one)) : [];
  return [...thenWordsOf(event, ends)].map((word) => word.replaceAll('_', ' ')).join(', ');
}
