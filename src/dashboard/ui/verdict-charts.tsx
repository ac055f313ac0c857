// Verdicts over time: allowed, denied, asked and would-deny calls.
import { type JSX, useMemo } from 'react';
import type { Calls, VerdictCounts } from '../lib/series.ts';
import { countText, type Slot, type Track } from './chart.ts';
import { TimeChart } from './time-chart.tsx';

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

export const verdictTracks: readonly (Track & { readonly key: keyof Calls })[] = [
  { key: 'allowed', label: 'allowed', icon: 'check', color: '--bar-allow', text: countText },
  { key: 'denied', label: 'denied', icon: 'slash', color: '--bar-deny', text: countText },
  { key: 'asked', label: 'asked', icon: 'diamond', color: '--bar-ask', text: countText },
  { key: 'would_deny', label: 'would deny', icon: 'ring', color: '--bar-observe', text: countText },
];

export function VerdictChart({ buckets, bucketMs, ...rest }: VerdictChartProps): JSX.Element {
  const slots = useMemo(
    (): readonly Slot[] =>
      (buckets ?? []).map((one) => ({ at: one.at, values: verdictTracks.map(({ key }) => one[key]) })),
    [buckets],
  );
  const sums = verdictTracks.map(({ key }) => (buckets ?? []).reduce((sum, one) => sum + one[key], 0));
  return (
    <TimeChart
      {...rest}
      isPending={buckets === null}
      shape="stack"
      tracks={verdictTracks}
      slots={slots}
      absent={0}
      sums={sums}
      slotMs={bucketMs}
    />
  );
}
