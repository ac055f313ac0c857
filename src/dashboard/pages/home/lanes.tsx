// The lanes of the overview: all, denied, asked and would-deny calls over one time axis, with the deployments above it.
// A selected range opens in Explore.
import { Link, useNavigate } from '@tanstack/react-router';
import { type JSX, useMemo } from 'react';
import { linkTo } from '../../lib/address.ts';
import type { Reply } from '../../lib/api.ts';
import { usePrefs } from '../../lib/prefs.ts';
import { useCall } from '../../lib/query.ts';
import { fixedRange, type Span } from '../../lib/range.ts';
import { useEnv } from '../../lib/search.ts';
import { barsOf } from '../../lib/series.ts';
import { clockTime, count, counted, middleCut, visible } from '../../lib/text.ts';
import { chartEnd, laneLabelWidth, type Track } from '../../ui/chart.ts';
import { TimeChart } from '../../ui/time-chart.tsx';

const number = (value: number | null): string => count(value ?? 0);
const tracks: readonly Track[] = [
  { key: 'calls', label: 'calls', color: '--line-strong', text: number },
  { key: 'denied', label: 'denied', icon: 'slash', color: '--bar-deny', text: number },
  { key: 'asked', label: 'asked', icon: 'hand', color: '--bar-ask', text: number },
  { key: 'would_deny', label: 'would deny', icon: 'eye', color: '--bar-observe', text: number },
];

export interface LanesProps {
  readonly series: Reply<'statsSeries'>;
  readonly span: Span;
}

export function Lanes({ series, span }: LanesProps): JSX.Element {
  const navigate = useNavigate();
  const markers = useMarkers(span);
  const { start, bucket_seconds: seconds, series: list } = series;
  const [from, slotMs] = [Date.parse(start), seconds * 1000];
  const [total] = list;
  const values = useMemo(() => {
    if (!total) return [];
    const { totals } = barsOf(total);
    return totals.map((calls, at) => [
      calls,
      total.denied[at] ?? 0,
      total.asked[at] ?? 0,
      total.would_deny[at] ?? 0,
    ]);
  }, [total]);
  const slots = useMemo(
    () => values.map((one, at) => ({ at: from + at * slotMs, values: one })),
    [values, from, slotMs],
  );
  const marks = useMemo(() => markers.map(({ at }) => at), [markers]);
  const until = from + Math.max(1, values.length) * slotMs;
  return (
    <>
      <Markers markers={markers} from={from} until={until} />
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

interface Marker {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly version: number;
  readonly words: string;
}

/** The deployments in the range, the earliest first. */
function useMarkers({ from, until }: Span): readonly Marker[] {
  const env = useEnv();
  const { data } = useCall('listDeployments', { query: { limit: 200, ...(env ? { env } : {}) } });
  return useMemo(
    () =>
      (data ?? [])
        .map((one) => ({
          id: one.id,
          at: Date.parse(one.created_at),
          version: one.bundle_version,
          words: `${middleCut(visible(one.bundle_name), 60)} v${one.bundle_version} to ${one.env} by ${middleCut(visible(one.deployed_by), 60)}`,
        }))
        .filter(({ at }) => at >= from && at < until)
        .sort((a, b) => a.at - b.at),
    [data, from, until],
  );
}

/** Share of the axis below which neighbours become one marker with their number. */
const together = 0.035;

function Markers({
  markers,
  from,
  until,
}: {
  readonly markers: readonly Marker[];
  readonly from: number;
  readonly until: number;
}): JSX.Element | null {
  const { utc } = usePrefs();
  const share = (at: number): number => (at - from) / (until - from);
  const groups: Marker[][] = [];
  for (const marker of markers) {
    const last = groups.at(-1);
    if (last?.[0] && share(marker.at) - share(last[0].at) < together) last.push(marker);
    else groups.push([marker]);
  }
  return (
    <ul
      className="markers"
      aria-label="Deployments in this range"
      style={{ marginLeft: `${laneLabelWidth}px`, marginRight: `${chartEnd}px` }}
    >
      {groups.map((group) => {
        const [first] = group;
        if (!first) return null;
        const words = group.map(({ at, words: own }) => `${clockTime(at, utc)} ${own}`).join('\n');
        const link = group.length === 1 ? linkTo.deployment(first.id) : { to: '/changes' };
        return (
          <li key={first.id} style={{ left: `${share(first.at) * 100}%` }}>
            <Link {...link} className="marker" title={words}>
              {group.length === 1 ? `v${first.version}` : group.length}
              <span className="heard">
                {group.length === 1
                  ? `: deployed ${words}`
                  : ` ${counted(group.length, 'deployment')}: ${words}`}
              </span>
            </Link>
          </li>
        );
      })}
    </ul>
  );
}
