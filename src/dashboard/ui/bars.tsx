// Counts over time as stacked bars, one colour per verdict: the figures under the pointer in words, a range by
// dragging, the same numbers as a table one key away.
import { type JSX, useId, useRef, useState } from 'react';
import { usePrefs } from '../lib/prefs.ts';
import { absolute, clockTime, count, dayName } from '../lib/text.ts';
import { ChartHead } from './chart-head.tsx';
import './bars.css';

export interface Bucket {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly allowed: number;
  readonly denied: number;
  readonly pending: number;
  readonly observed: number;
}

const series = ['allowed', 'denied', 'pending', 'observed'] as const;
const words = { allowed: 'allowed', denied: 'denied', pending: 'asked', observed: 'observed' } as const;
const height = 120;

export interface BarsProps {
  readonly title: string;
  readonly buckets: readonly Bucket[];
  readonly from: number;
  readonly until: number;
  readonly bucketMs: number;
  /** A range was dragged; without it nothing can be. */
  readonly onRange?: (from: number, until: number) => void;
}

export function Bars({ title, buckets, from, until, bucketMs, onRange }: BarsProps): JSX.Element {
  const { utc } = usePrefs();
  const id = useId();
  const box = useRef<SVGSVGElement>(null);
  const [hover, setHover] = useState<number | null>(null);
  const [drag, setDrag] = useState<number | null>(null);
  const [asTable, setAsTable] = useState(false);
  const slots = Math.max(1, Math.ceil((until - from) / bucketMs));
  const bySlot = new Map(buckets.map((bucket) => [Math.floor((bucket.at - from) / bucketMs), bucket]));
  const sumOf = (bucket: Bucket): number => series.reduce((sum, name) => sum + bucket[name], 0);
  const top = Math.max(1, ...buckets.map(sumOf));
  const total = Object.fromEntries(
    series.map((name) => [name, buckets.reduce((sum, one) => sum + one[name], 0)]),
  );
  const slotAt = (clientX: number): number => {
    const { left, width } = box.current?.getBoundingClientRect() ?? { left: 0, width: 1 };
    return Math.min(slots - 1, Math.max(0, Math.floor(((clientX - left) / width) * slots)));
  };
  const shown = hover === null ? null : (bySlot.get(hover) ?? null);
  const timeOf = (slot: number): number => from + slot * bucketMs;
  const says =
    hover === null
      ? series.map((name) => `${count(total[name] ?? 0)} ${words[name]}`).join(' · ')
      : `${clockTime(timeOf(hover), utc)}–${clockTime(timeOf(hover + 1), utc)}: ${series.map((name) => `${count(shown?.[name] ?? 0)} ${words[name]}`).join(' · ')}`;
  return (
    <figure className="bars" aria-labelledby={id}>
      <ChartHead id={id} title={title} says={says} asTable={asTable} onTable={setAsTable} />
      {asTable ? (
        <Table buckets={buckets} utc={utc} />
      ) : (
        <>
          <svg
            ref={box}
            viewBox={`0 0 ${slots} ${height}`}
            preserveAspectRatio="none"
            className={`bars-box ${onRange ? 'bars-drag' : ''}`}
            aria-hidden="true"
            onPointerMove={(event) => setHover(slotAt(event.clientX))}
            onPointerLeave={() => setHover(null)}
            onPointerDown={(event) => {
              if (!onRange) return;
              event.currentTarget.setPointerCapture(event.pointerId);
              setDrag(slotAt(event.clientX));
            }}
            onPointerUp={(event) => {
              if (drag === null) return;
              const end = slotAt(event.clientX);
              setDrag(null);
              if (end !== drag) onRange?.(timeOf(Math.min(drag, end)), timeOf(Math.max(drag, end) + 1));
            }}
          >
            {hover !== null && <rect className="bars-hover" x={hover} y={0} width={1} height={height} />}
            {drag !== null && hover !== null && (
              <rect
                className="bars-range"
                x={Math.min(drag, hover)}
                y={0}
                width={Math.abs(hover - drag) + 1}
                height={height}
              />
            )}
            {[...bySlot].map(([slot, bucket]) => {
              let y = height;
              return series.map((name) => {
                if (bucket[name] === 0) return null;
                const tall = Math.max(1.5, (bucket[name] / top) * (height - 4));
                y -= tall;
                return (
                  <rect
                    key={`${slot}${name}`}
                    className={`bar-${name}`}
                    x={slot + 0.08}
                    y={y}
                    width={0.84}
                    height={tall}
                  />
                );
              });
            })}
          </svg>
          <Axis from={from} until={until} />
        </>
      )}
    </figure>
  );
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const steps = [
  hourMs / 12,
  hourMs / 6,
  hourMs / 4,
  hourMs / 2,
  hourMs,
  2 * hourMs,
  3 * hourMs,
  6 * hourMs,
  12 * hourMs,
  dayMs,
  5 * dayMs,
];

/** Round times below a chart. */
export function Axis({ from, until }: { readonly from: number; readonly until: number }): JSX.Element {
  const { utc } = usePrefs();
  return (
    <div className="bars-axis numbers" aria-hidden="true">
      {ticksOf(from, until).map((at) => (
        <span key={at} style={{ left: `${((at - from) / (until - from)) * 100}%` }}>
          {until - from > 2 * dayMs ? dayName(at, utc) : clockTime(at, utc)}
        </span>
      ))}
    </div>
  );
}

/** Round times, at most six. */
function ticksOf(from: number, until: number): number[] {
  const step = steps.find((one) => (until - from) / one <= 6) ?? 10 * dayMs;
  const first = Math.ceil(from / step) * step;
  return Array.from(
    { length: Math.max(0, Math.floor((until - first) / step) + 1) },
    (_, index) => first + index * step,
  ).filter((at) => at < until - (until - from) * 0.03);
}

const Table = ({
  buckets,
  utc,
}: {
  readonly buckets: readonly Bucket[];
  readonly utc: boolean;
}): JSX.Element => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it
  <section className="bars-table scroll-x" aria-label="Counts over time" tabIndex={0}>
    <table className="table">
      <thead>
        <tr>
          <th scope="col">From</th>
          {series.map((name) => (
            <th key={name} scope="col" className="number">
              {words[name]}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {buckets.map((bucket) => (
          <tr key={bucket.at}>
            <td>{absolute(bucket.at, utc)}</td>
            {series.map((name) => (
              <td key={name} className="number">
                {count(bucket[name])}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </section>
);
