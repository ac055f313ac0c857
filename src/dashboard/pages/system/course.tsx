// The answering node's health over the last 24 hours as charts: lag, store, disk and memory.
import { type JSX, useMemo } from 'react';
import { dayMs } from '../../../shared/duration.ts';
import type { Reply } from '../../lib/api.ts';
import { usePrefs } from '../../lib/prefs.ts';
import { useCall, useIsAnswered } from '../../lib/query.ts';
import { milliseconds, minuteTime } from '../../lib/text.ts';
import type { Shape, Track, ValueAxis } from '../../ui/chart.ts';
import { Data } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { TimeChart } from '../../ui/time-chart.tsx';
import { bytes, bytesAxis, lagBoundMs, refetchMs } from './figures.ts';

/** Polling interval, in milliseconds: a point lasts five minutes. */
const seriesRefetchMs = 60_000;

type Series = Reply<'healthSeries'>;
type Point = Series['points'][number];

interface FigureTrack extends Track {
  readonly read: (point: Point) => number | null;
  /** Sentence in place of a figure that the node does not know. */
  readonly absence: string;
}

interface FigureChart {
  readonly title: string;
  readonly shape: Shape;
  readonly axis?: ValueAxis;
  readonly tracks: readonly FigureTrack[];
}

const msText = (value: number | null): string => (value === null ? '–' : milliseconds(value));
const bytesText = (value: number | null): string => (value === null ? '–' : bytes(value));

const noDisk = 'The node has no figures of the disk: the database servers own their disks.';
const noLag = 'The node has no figures of its lag.';

const charts: readonly FigureChart[] = [
  {
    title: 'Lag',
    shape: 'lanes',
    tracks: [
      {
        ...{ key: 'p99', label: '99th percentile', color: '--accent', text: msText, absence: noLag },
        read: (point) => point.loop_lag_ms,
      },
      {
        ...{ key: 'max', label: 'maximum', color: '--bar-observe', text: msText, absence: noLag },
        read: (point) => point.loop_lag_max_ms,
      },
    ],
  },
  {
    title: 'Store',
    shape: 'lanes',
    tracks: [
      {
        ...{ key: 'size', label: 'size', color: '--accent', text: bytesText },
        absence: 'The database server does not report its size.',
        read: (point) => point.store_bytes,
      },
      {
        ...{ key: 'commits', label: 'commits', color: '--bar-observe', text: msText },
        absence: 'No commits of events in this period.',
        read: (point) => point.commit_ms,
      },
    ],
  },
  {
    title: 'Disk',
    shape: 'stack',
    axis: bytesAxis,
    tracks: [
      {
        ...{ key: 'used', label: 'used', color: '--line-strong', text: bytesText, absence: noDisk },
        read: ({ disk_total_bytes: total, disk_free_bytes: free }) =>
          total === null || free === null ? null : total - free,
      },
      {
        ...{ key: 'free', label: 'free', color: '--accent', text: bytesText, absence: noDisk },
        read: (point) => point.disk_free_bytes,
      },
    ],
  },
  {
    title: 'Memory',
    shape: 'stack',
    axis: bytesAxis,
    tracks: [
      {
        ...{ key: 'resident', label: 'resident', color: '--accent', text: bytesText },
        absence: 'The node has no figures of its memory.',
        read: (point) => point.memory_bytes,
      },
    ],
  },
];

/** @param reserveBytes free bytes that the hub keeps for decisions; null: unknown */
export function Course({ reserveBytes }: { readonly reserveBytes: number | null }): JSX.Element {
  // After the state of the hub: a browser has six connections, and the frame needs some of them.
  const enabled = useIsAnswered();
  const healthSeriesQuery = useCall('healthSeries', {}, { refetchMs: seriesRefetchMs, enabled });
  const notes: { readonly [title: string]: string | undefined } = {
    Lag: `A 99th percentile of ${lagBoundMs} ms or more is a problem.`,
    Store: 'Size of the database, and 99th percentile of the commits of events.',
    ...(reserveBytes
      ? {
          Disk: `Below ${bytes(2 * reserveBytes)} free, disk space is low. Below ${bytes(reserveBytes)}, only decisions are stored.`,
        }
      : {}),
  };
  return (
    <section className="card" aria-label="Last 24 hours">
      <h2>Last 24 hours</h2>
      <QueryResult query={healthSeriesQuery}>
        {(series) => (
          <>
            <Source series={series} />
            <div className="course">
              {charts.map((chart) => (
                <CourseChart key={chart.title} chart={chart} series={series} note={notes[chart.title]} />
              ))}
            </div>
          </>
        )}
      </QueryResult>
    </section>
  );
}

/** End of the last point, in epoch milliseconds. */
const endOf = ({ points, started_at, interval_seconds: seconds }: Series): number =>
  Date.parse(points.at(-1)?.at ?? started_at) + seconds * 1000;

function Source({ series }: { readonly series: Series }): JSX.Element {
  const { utc } = usePrefs();
  const healthClusterQuery = useCall('healthCluster', {}, { refetchMs });
  const startedAt = Date.parse(series.started_at);
  const isWhole = endOf(series) - startedAt >= dayMs;
  return (
    <p className="muted">
      The node <Data text={series.node} max={60} /> keeps these figures in its memory
      {isWhole ? '' : `, since its start at ${minuteTime(startedAt, utc)}`}.
      {healthClusterQuery.data?.mode === 'cluster' && ' Other nodes have their own.'}
    </p>
  );
}

interface CourseChartProps {
  readonly chart: FigureChart;
  readonly series: Series;
  readonly note: string | undefined;
}

function CourseChart({ chart, series, note }: CourseChartProps): JSX.Element {
  const { title, shape, axis } = chart;
  const { points, interval_seconds: seconds } = series;
  const { tracks, slots, absences } = useMemo(() => {
    const isKnown = ({ read }: FigureTrack): boolean => points.some((point) => read(point) !== null);
    const knownTracks = chart.tracks.filter(isKnown);
    return {
      tracks: knownTracks,
      slots: points.map((point) => ({
        at: Date.parse(point.at),
        values: knownTracks.map(({ read }) => read(point)),
      })),
      absences: new Set(chart.tracks.filter((track) => !isKnown(track)).map(({ absence }) => absence)),
    };
  }, [chart, points]);
  const until = endOf(series);
  return (
    <div className="course-chart">
      <h3>{title}</h3>
      {tracks.length > 0 && (
        <TimeChart
          {...{ title, shape, tracks, slots, until }}
          {...(axis ? { axis } : {})}
          absent={null}
          sums={slots.at(-1)?.values ?? []}
          sumsName="Now"
          from={until - dayMs}
          slotMs={seconds * 1000}
        />
      )}
      {[...absences].map((absence) => (
        <p key={absence}>{absence}</p>
      ))}
      {note && tracks.length > 0 && <p className="muted">{note}</p>}
    </div>
  );
}
