// The changes that a replay found, as the end of a sentence: how many calls would get another decision, and which one.
// Below it, the limits of the sums.
import type { JSX } from 'react';
import { count } from '../lib/text.ts';

/** A change in the API's counts, its colour, and its text. */
export type ReplayChange<K extends string> = readonly [change: K, tone: string, words: string];

export function ReplayChanges<K extends string>({
  changes,
  totals,
}: {
  readonly changes: readonly ReplayChange<K>[];
  readonly totals: { readonly [change in K | 'unchanged']: number };
}): JSX.Element {
  return (
    <>
      {count(totals.unchanged)} unchanged
      {changes
        .filter(([change]) => totals[change] > 0)
        .map(([change, tone, words]) => (
          <span key={change}>
            , <strong className={tone}>{count(totals[change])}</strong> {words}
          </span>
        ))}
    </>
  );
}

export interface ReplayCaveatsProps {
  /** Number of uncertain results. */
  readonly uncertain: number;
  /** The time limit ended the replay before the last call. */
  readonly truncated: boolean;
}

export function ReplayCaveats({ uncertain, truncated }: ReplayCaveatsProps): JSX.Element {
  return (
    <>
      {uncertain > 0 && (
        <p className="numbers">
          {count(uncertain)} uncertain: a person decides, or the record of the call is incomplete.
        </p>
      )}
      {truncated && (
        <p className="field-error">
          The time limit ended the replay before it checked all calls. The totals cover checked calls only.
        </p>
      )}
    </>
  );
}
