// The verdict ribbon and the sparkline: the calls of one thing by verdict, and over time. Heights differ by verdict, so
// that a ribbon needs no colours.
import type { JSX } from 'react';
import type { Calls } from '../lib/series.ts';
import { count, counted } from '../lib/text.ts';
import './ribbon.css';

/** Left to right. */
const kinds = [
  ['denied', 'denied'],
  ['asked', 'asked'],
  ['would_deny', 'would deny'],
  ['allowed', 'allowed'],
] as const;

export const sumOf = ({ allowed, denied, would_deny: would, asked: pending }: Calls): number =>
  allowed + denied + would + pending;

/** `4 denied, 1 asked`; empty without calls. */
export const wordsOf = (calls: Calls): string =>
  kinds
    .filter(([key]) => calls[key] > 0)
    .map(([key, word]) => `${count(calls[key])} ${word}`)
    .join(', ');

export function Ribbon({ calls }: { readonly calls: Calls }): JSX.Element {
  const words = wordsOf(calls);
  return (
    <span className="ribbon" role="img" aria-label={words || 'no calls'} title={words}>
      {kinds.map(([key, word]) =>
        calls[key] === 0 ? null : (
          <span key={key} className={`ribbon-${word.replace(' ', '-')}`} style={{ flexGrow: calls[key] }} />
        ),
      )}
    </span>
  );
}

const [width, height] = [96, 20];

export interface SparklineProps {
  /** All calls of each bucket, and the denied ones. */
  readonly totals: readonly number[];
  readonly denied: readonly number[];
  /** The greatest total in the column: all sparklines of a column have one scale. */
  readonly max: number;
}

export function Sparkline({ totals, denied, max }: SparklineProps): JSX.Element {
  const step = width / Math.max(1, totals.length);
  const tall = (value: number): number =>
    value === 0 ? 0 : Math.max(1, (value / Math.max(1, max)) * height);
  const bar = (value: number, at: number): string =>
    value === 0 ? '' : `M${at * step} ${height}h${step * 0.8}v${-tall(value)}h${-step * 0.8}z`;
  const sum = totals.reduce((all, one) => all + one, 0);
  const words = `${counted(sum, 'call')}, at most ${count(Math.max(0, ...totals))} at a time, last ${count(totals.at(-1) ?? 0)}`;
  return (
    <svg className="sparkline" role="img" aria-label={words} viewBox={`0 0 ${width} ${height}`}>
      <path className="sparkline-calls" d={totals.map(bar).join('')} />
      <path className="sparkline-denied" d={denied.map(bar).join('')} />
    </svg>
  );
}
