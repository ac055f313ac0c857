// The lanes of the overview: all, denied, asked and would-deny calls over one time axis, with the deployments above it.
// A selected range opens in Explore.
import { useNavigate } from '@tanstack/react-router';
import { type JSX, useMemo } from 'react';
import type { Reply } from '../../lib/api.ts';
import { fixedRange } from '../../lib/range.ts';
import { barsOf } from '../../lib/series.ts';
import { countText, laneLabelWidth, type Track } from '../../ui/chart.ts';
import { DeploymentMarkers, useDeploymentMarkers } from '../../ui/deployment-markers.tsx';
import { TimeChart } from '../../ui/time-chart.tsx';
import { verdictTracks } from '../../ui/verdict-charts.tsx';

const unusual = verdictTracks.filter(({ key }) => key !== 'allowed');
const tracks: readonly Track[] = [
  { key: 'calls', label: 'calls', color: '--line-strong', text: countText },
  ...unusual,
];

export function Lanes({ series }: { readonly series: Reply<'statsSeries'> }): JSX.Element {
  const navigate = useNavigate();
  const { start, bucket_seconds: seconds, series: list } = series;
  const [from, slotMs] = [Date.parse(start), seconds * 1000];
  const [total] = list;
  const values = useMemo(() => {
    if (!total) return [];
    const { totals } = barsOf(total);
    return totals.map((calls, at) => [calls, ...unusual.map(({ key }) => total[key][at] ?? 0)]);
  }, [total]);
  const slots = useMemo(
    () => values.map((one, at) => ({ at: from + at * slotMs, values: one })),
    [values, from, slotMs],
  );
  const until = from + Math.max(1, values.length) * slotMs;
  const { markers, marks } = useDeploymentMarkers(from, until);
  return (
    <>
      <DeploymentMarkers markers={markers} from={from} until={until} labelWidth={laneLabelWidth} />
      <TimeChart
        title="Calls over time"
        shape="lanes"
        tracks={tracks}
        slots={slots}
        absent={0}
        sums={tracks.map((_, track) => values.reduce((sum, one) => sum + (one[track] ?? 0), 0))}
        from={from}
        until={until}
        slotMs={slotMs}
        marks={marks}
        onRange={(since, to) =>
          void navigate({ to: '/explore', search: fixedRange({ from: since, until: to }) as never })
        }
      />
    </>
  );
}
