// Verdicts over time: allowed, denied, asked and would-deny calls.
import { type JSX, useMemo } from 'react';
import { count } from '../lib/text.ts';
import type { Slot, Track } from './chart.ts';
import { TimeChart } from './time-chart.tsx';
import type { VerdictCounts } from './verdict-counts.ts';

export interface VerdictChartProps {
  readonly title: string;
  /** Null while the data loads. */
  readonly buckets: readonly VerdictCounts[] | null;
  readonly from: number;
  readonly until: number;
  readonly bucketMs: number;
  /** Vertical lines, in epoch milliseconds. */
  readonly marks?: readonly number[];
  readonly onRange?: (from: number, until: number) => void;
}

const number = (value: number | null): string => count(value ?? 0);

const verdicts: readonly (Track & { readonly key: 'allowed' | 'denied' | 'pending' | 'observed' })[] = [
  { key: 'allowed', label: 'allowed', icon: 'check', color: '--bar-allow', text: number },
  { key: 'denied', label: 'denied', icon: 'slash', color: '--bar-deny', text: number },
  { key: 'pending', label: 'asked', icon: 'hand', color: '--bar-ask', text: number },
  { key: 'observed', label: 'would deny', icon: 'eye', color: '--bar-observe', text: number },
];

export function VerdictChart({ buckets, bucketMs, ...rest }: VerdictChartProps): JSX.Element {
  const slots = useMemo(
    (): readonly Slot[] =>
      (buckets ?? []).map((one) => ({ at: one.at, values: verdicts.map(({ key }) => one[key]) })),
    [buckets],
  );
  const sums = verdicts.map(({ key }) => (buckets ?? []).reduce((sum, one) => sum + one[key], 0));
  return (
    <TimeChart
      {...rest}
      isPending={buckets === null}
      shape="stack"
      tracks={verdicts}
      slots={slots}
      absent={0}
      sums={sums}
      slotMs={bucketMs}
    />
  );
}
