// Lanes over one axis of time. A lane shows periods and moments as bars, each with its words as the name.
import { Link } from '@tanstack/react-router';
import { type CSSProperties, type JSX, type PointerEvent, type ReactNode, useRef } from 'react';
import { groupBy } from '../../shared/group-by.ts';
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
  /** Stands beside the bar, if no other bar is near. */
  readonly label?: string;
  readonly link?: { readonly to: string; readonly params?: never; readonly search?: never };
}

/** Bars of a lane from items that may be many. */
const maxGroups = 100;

/** Share of the axis that a label takes, and from which on it stands at the left of its bar. */
const [labelRoom, nearEnd] = [0.05, 0.9];

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
  const groups = groupBy(items, ({ from }) => Math.floor(shareOf(from, axis) * maxGroups));
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
  return [...groupBy(words, (word) => word)]
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([word, { length }]) => `${length} ${word}`)
    .join(', ');
}

/** As wide as a chart of lanes, so that both have one axis. A line through all lanes marks the time at the pointer. */
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
  const line = useRef<HTMLSpanElement>(null);
  /** The line follows the pointer without a render: lanes may have hundreds of bars. */
  const follow = ({ clientX }: PointerEvent): void => {
    const { current } = line;
    const place = current?.parentElement?.getBoundingClientRect();
    if (!current || !place) return;
    current.hidden = clientX < place.left || clientX > place.right;
    current.style.left = `${clientX - place.left}px`;
  };
  const leave = (): void => {
    if (line.current) line.current.hidden = true;
  };
  return (
    <div style={widths}>
      <div className="lanes-moment" onPointerMove={follow} onPointerLeave={leave}>
        <dl className="lanes">{children}</dl>
        <span className="lanes-axis" aria-hidden="true">
          <span ref={line} className="lanes-line" hidden />
        </span>
      </div>
      {foot && (
        <p className="lane-ends row apart muted">
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
  none = 'None in this range',
  children,
}: {
  readonly name: ReactNode;
  readonly axis: Axis;
  readonly bars: readonly Bar[];
  /** In place of bars. */
  readonly none?: string;
  /** Below the bars. */
  readonly children?: ReactNode;
}): JSX.Element {
  const percent = (at: number): number => shareOf(at, axis) * 100;
  /** Of several bars that are near each other, the last has a label. */
  const hasRoom = (at: number): boolean =>
    !bars.some(({ from }) => from > at && shareOf(from, axis) - shareOf(at, axis) < labelRoom);
  return (
    <div className="lane">
      <dt>{name}</dt>
      <dd>
        {bars.length === 0 ? (
          <span className="muted">{none}</span>
        ) : (
          <ol>
            {bars.map(({ key, from, to, words, tone, label, link }) => (
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
                {label && hasRoom(from) && (
                  <span
                    className={shareOf(from, axis) > nearEnd ? 'lane-mark lane-mark-left' : 'lane-mark'}
                    aria-hidden="true"
                  >
                    {label}
                  </span>
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
