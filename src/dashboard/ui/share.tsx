// A share over time as a line of steps: how many of a hundred calls were denied. Where there was no call there is no
// line.
import { type JSX, useId, useRef, useState } from 'react';
import { usePrefs } from '../lib/prefs.ts';
import { absolute, clockTime, count } from '../lib/text.ts';
import { Axis, type Bucket } from './bars.tsx';
import { ChartHead } from './chart-head.tsx';
import './bars.css';

const height = 120;

const sumOf = ({ allowed, denied, pending, observed }: Bucket): number =>
  allowed + denied + pending + observed;

export function percent(part: number, whole: number): string {
  if (whole === 0) return 'no calls';
  const value = (part / whole) * 100;
  return value > 0 && value < 0.1 ? '< 0.1 %' : `${value.toFixed(1)} %`;
}

export interface ShareProps {
  readonly title: string;
  readonly buckets: readonly Bucket[];
  readonly from: number;
  readonly until: number;
  readonly bucketMs: number;
}

export function DeniedShare({ title, buckets, from, until, bucketMs }: ShareProps): JSX.Element {
  const { utc } = usePrefs();
  const id = useId();
  const box = useRef<SVGSVGElement>(null);
  const [hover, setHover] = useState<number | null>(null);
  const [asTable, setAsTable] = useState(false);
  const slots = Math.max(1, Math.ceil((until - from) / bucketMs));
  const known = buckets.filter((bucket) => sumOf(bucket) > 0);
  const slotOf = ({ at }: Bucket): number => Math.floor((at - from) / bucketMs);
  const shareOf = (bucket: Bucket): number => bucket.denied / sumOf(bucket);
  const top = Math.max(0.01, ...known.map(shareOf));
  const denied = known.reduce((sum, one) => sum + one.denied, 0);
  const all = known.reduce((sum, one) => sum + sumOf(one), 0);
  const shown = hover === null ? null : known.find((one) => slotOf(one) === hover);
  const span =
    hover === null
      ? ''
      : `${clockTime(from + hover * bucketMs, utc)}–${clockTime(from + (hover + 1) * bucketMs, utc)}: `;
  const says =
    hover === null
      ? `${percent(denied, all)}${all === 0 ? '' : ` denied, at most ${percent(top * 1e6, 1e6)}`}`
      : `${span}${shown ? `${percent(shown.denied, sumOf(shown))} denied of ${count(sumOf(shown))}` : 'no calls'}`;
  return (
    <figure className="bars" aria-labelledby={id}>
      <ChartHead id={id} title={title} says={says} asTable={asTable} onTable={setAsTable} />
      {asTable ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it
        <section className="bars-table scroll-x" aria-label={`${title} as a table`} tabIndex={0}>
          <table className="table">
            <thead>
              <tr>
                <th scope="col">From</th>
                <th scope="col" className="number">
                  denied
                </th>
                <th scope="col" className="number">
                  of calls
                </th>
                <th scope="col" className="number">
                  share
                </th>
              </tr>
            </thead>
            <tbody>
              {known.map((one) => (
                <tr key={one.at}>
                  <td>{absolute(one.at, utc)}</td>
                  <td className="number">{count(one.denied)}</td>
                  <td className="number">{count(sumOf(one))}</td>
                  <td className="number">{percent(one.denied, sumOf(one))}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      ) : (
        <>
          <svg
            ref={box}
            viewBox={`0 0 ${slots} ${height}`}
            preserveAspectRatio="none"
            className="bars-box"
            aria-hidden="true"
            onPointerMove={({ clientX }) => {
              const { left, width } = box.current?.getBoundingClientRect() ?? { left: 0, width: 1 };
              setHover(Math.min(slots - 1, Math.max(0, Math.floor(((clientX - left) / width) * slots))));
            }}
            onPointerLeave={() => setHover(null)}
          >
            {hover !== null && <rect className="bars-hover" x={hover} y={0} width={1} height={height} />}
            {known.map((one) => {
              const tall = Math.max(1.5, (shareOf(one) / top) * (height - 4));
              return (
                <g key={one.at}>
                  <rect className="share-area" x={slotOf(one)} y={height - tall} width={1} height={tall} />
                  <rect className="bar-denied" x={slotOf(one)} y={height - tall} width={1} height={1.5} />
                </g>
              );
            })}
          </svg>
          <Axis from={from} until={until} />
        </>
      )}
    </figure>
  );
}
