// Lanes over one axis of time. A lane shows periods and moments as bars, each with its words as the name.
import { Link } from '@tanstack/react-router';
import type { CSSProperties, JSX, ReactNode } from 'react';
import { chartEnd, laneLabelWidth } from './chart.ts';
import './lanes.css';

/** Both ends in epoch milliseconds. */
export interface Axis {
  readonly from: number;
  readonly until: number;
}

interface Period {
  /** Epoch milliseconds; `to` is null for what goes on, and `from` itself for a moment. */
  readonly from: number;
  readonly to: number | null;
}

export interface Bar extends Period {
  readonly key: string;
  readonly words: string;
  readonly tone: string;
  readonly link?: { readonly to: string; readonly params?: never; readonly search?: never };
}

/** Bars of a lane from items that may be many. */
const maxGroups = 100;

/** Share of the axis, 0 to 1. */
const shareOf = (at: number, { from, until }: Axis): number =>
  Math.min(1, Math.max(0, (at - from) / Math.max(1, until - from)));

/**
 * One bar for items that begin within the same hundredth of the axis, because more bars could not be told apart.
 * @param barOf receives the items of a bar in their order, and the period from the first start to the last end
 */
export function groupBars<T extends Period>(
  items: readonly T[],
  axis: Axis,
  barOf: (items: readonly [T, ...T[]], period: Period) => Bar,
): readonly Bar[] {
  const groups = new Map<number, [T, ...T[]]>();
  for (const item of items) {
    const slot = Math.floor(shareOf(item.from, axis) * maxGroups);
    const group = groups.get(slot);
    if (group) group.push(item);
    else groups.set(slot, [item]);
  }
  return [...groups.values()].map((group) => {
    const ends = group.map(({ to }) => to);
    return barOf(group, {
      from: Math.min(...group.map(({ from }) => from)),
      to: ends.includes(null) ? null : Math.max(...ends.map((end) => end ?? 0)),
    });
  });
}

/** `2 allowed, 1 denied`, by number. */
export function countWords(words: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([word, count]) => `${count} ${word}`)
    .join(', ');
}

/** As wide as a chart of lanes, so that both have one axis. */
export function Lanes({
  isWide = false,
  foot,
  children,
}: {
  /** The labels are names of things. */
  readonly isWide?: boolean;
  /** The text below the start of the axis, and below its end. */
  readonly foot?: readonly [ReactNode, ReactNode];
  readonly children: ReactNode;
}): JSX.Element {
  const label = isWide ? 'min(40%, 240px)' : `${laneLabelWidth}px`;
  const widths = { '--lane-label': label, '--lane-end': `${chartEnd}px` } as CSSProperties;
  return (
    <div style={widths}>
      <dl className="lanes">{children}</dl>
      {foot && (
        <p className="lane-ends muted">
          <span>{foot[0]}</span>
          <span>{foot[1]}</span>
        </p>
      )}
    </div>
  );
}

export function Lane({
  name,
  axis,
  bars,
  children,
}: {
  readonly name: ReactNode;
  readonly axis: Axis;
  readonly bars: readonly Bar[];
  /** Below the bars. */
  readonly children?: ReactNode;
}): JSX.Element {
  const percent = (at: number): number => shareOf(at, axis) * 100;
  return (
    <div className="lane">
      <dt>{name}</dt>
      <dd>
        {bars.length === 0 ? (
          <span className="muted">None in this range</span>
        ) : (
          <ol>
            {bars.map(({ key, from, to, words, tone, link }) => (
              <li
                key={key}
                className={`tone-${tone}`}
                title={words}
                style={{ left: `${percent(from)}%`, width: `${percent(to ?? axis.until) - percent(from)}%` }}
              >
                {link ? (
                  <Link {...link} title={words}>
                    <span className="heard">{words}</span>
                  </Link>
                ) : (
                  <span className="heard">{words}</span>
                )}
              </li>
            ))}
          </ol>
        )}
        {children}
      </dd>
    </div>
  );
}
