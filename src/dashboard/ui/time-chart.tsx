// A chart over time: figures with an icon and a colour for each. It has a range selection by pointer or keyboard, and
// the same numbers as a table. ui/plot.tsx draws it, and loads with the first chart.
import {
  type JSX,
  type KeyboardEvent,
  lazy,
  type PointerEvent,
  Suspense,
  useId,
  useMemo,
  useState,
} from 'react';
import { changePrefs, usePrefs } from '../lib/prefs.ts';
import { whenAnswered } from '../lib/query.ts';
import {
  type Drawing,
  type Shape,
  type Slot,
  type SlotRange,
  spanName,
  type Track,
  type ValueAxis,
} from './chart.ts';
import './chart.css';
import { Icon } from './icons.tsx';
import { useKeys } from './keys.ts';
import { Button } from './parts.tsx';

// The drawing loads after the hub's answers, because the figures do not need it.
const Plot = lazy(() =>
  whenAnswered()
    .then(() => import('./plot.tsx'))
    .catch(() => ({ default: NotLoaded })),
);
const ChartTable = lazy(() => import('./chart-table.tsx'));

const NotLoaded = (): JSX.Element => (
  <p className="muted">
    The chart did not load. The table below contains the same data. To try again, reload the page.
  </p>
);

export interface TimeChartProps {
  /** Name of the chart and of its table. */
  readonly title: string;
  readonly shape: Shape;
  readonly tracks: readonly Track[];
  /** In chronological order. Empty slots may be missing. */
  readonly slots: readonly Slot[];
  /** Value of each track in a missing slot. */
  readonly absent: 0 | null;
  /** Sums over the whole period, in the order of the tracks. */
  readonly sums: readonly (number | null)[];
  /** Name of other values in place of sums, such as `Now`. */
  readonly sumsName?: string;
  /** Of a stack. Default: numbers. */
  readonly axis?: ValueAxis;
  readonly from: number;
  readonly until: number;
  readonly slotMs: number;
  /** Vertical lines, in epoch milliseconds. */
  readonly marks?: readonly number[];
  /** The slots are UTC days. Default: times appear in the person's time zone. */
  readonly utc?: boolean;
  /** The data is loading. The chart has its final height and no figures. */
  readonly isPending?: boolean;
  /** Called with a selected range. Undefined: ranges cannot be selected. */
  readonly onRange?: (from: number, until: number) => void;
}

export function TimeChart(props: TimeChartProps): JSX.Element {
  const { title, tracks, slots, sums, from, until, slotMs, isPending = false, onRange } = props;
  const { sumsName = 'Total' } = props;
  const prefs = usePrefs();
  const { chartsAsTables: asTable } = prefs;
  const utc = props.utc ?? prefs.utc;
  const id = useId();
  const bySlot = useMemo(
    () => new Map(slots.map(({ at: start, values: of }) => [slotOf(start, from, slotMs), of])),
    [slots, from, slotMs],
  );
  const drawing = useDrawing(props, bySlot, utc);
  const [at, setAt] = useState<number | null>(null);
  const [anchor, setAnchor] = useState<number | null>(null);
  const toggle = (): void => changePrefs({ chartsAsTables: !asTable });
  useKeys({ T: toggle });
  const range: SlotRange | null =
    at === null || anchor === null ? null : [Math.min(at, anchor), Math.max(at, anchor)];
  const timesOf = ([first, last]: SlotRange): readonly [number, number] => [
    from + first * slotMs,
    from + (last + 1) * slotMs,
  ];
  const nameOf = (of: SlotRange): string => spanName(...timesOf(of), until - from, utc);
  const valuesAt = (slot: number): readonly (number | null)[] =>
    bySlot.get(slot) ?? tracks.map(() => props.absent);
  const values = at === null ? sums : valuesAt(at);
  const sentence = (of: readonly (number | null)[]): string =>
    tracks.map(({ label, text }, track) => `${text(of[track] ?? null)} ${label}`).join(', ');
  const choose = (of: SlotRange): void => {
    setAnchor(null);
    onRange?.(...timesOf(of));
  };
  return (
    <figure className="chart" aria-labelledby={id}>
      <figcaption className="chart-head">
        <span id={id} className="heard">
          {title}
        </span>
        <span className="chart-says row wrap numbers">
          <span className="chart-when">
            {range ? nameOf(range) : at === null ? sumsName : nameOf([at, at])}
          </span>
          {tracks.map(({ key, label, icon, color, text }, track) => (
            <span key={key} className="chart-track">
              {color && <span className="chart-swatch" style={{ background: `var(${color})` }} />}
              {icon && <Icon name={icon} />}
              {label} {/* As wide as the sum: nothing moves while the pointer goes through the moments. */}
              <strong style={{ minWidth: `${text(sums[track] ?? null).length}ch` }}>
                {isPending ? '–' : text(values[track] ?? null)}
              </strong>
            </span>
          ))}
        </span>
        <Button kind="quiet" aria-pressed={asTable} aria-keyshortcuts="Shift+T" onClick={toggle}>
          {asTable ? 'Show chart' : 'Show table'}
        </Button>
      </figcaption>
      {isPending ? (
        <div className="chart-place" aria-busy="true" />
      ) : asTable ? (
        <Suspense fallback={<div className="chart-place" />}>
          <ChartTable title={title} tracks={tracks} slots={slots} slotMs={slotMs} utc={utc} />
        </Suspense>
      ) : drawing.slots.every(({ values: of }) => of.every((value) => value === props.absent)) ? (
        <p className="chart-empty muted">No data in this period.</p>
      ) : (
        <Moments
          {...{ title, drawing, at, anchor, range }}
          canChoose={onRange !== undefined}
          valueText={
            at === null
              ? `${sumsName}: ${sentence(sums)}`
              : `${nameOf([at, at])}: ${sentence(valuesAt(at))}${range && range[0] !== range[1] ? `. ${nameOf(range)} selected, press Enter to show` : ''}`
          }
          onAt={setAt}
          onAnchor={setAnchor}
          onChoose={choose}
        />
      )}
    </figure>
  );
}

const slotOf = (at: number, from: number, slotMs: number): number => Math.floor((at - from) / slotMs);

const noMarks: readonly number[] = [];

/**
 * All slots of the period, with the tracks that have a colour.
 * @param bySlot the values of each slot that has some, by its index
 */
function useDrawing(
  { shape, tracks, absent, from, until, slotMs, marks = noMarks, axis }: TimeChartProps,
  bySlot: ReadonlyMap<number, Slot['values']>,
  utc: boolean,
): Drawing {
  return useMemo(() => {
    const drawn = tracks.flatMap((track, index) => (track.color ? [{ track, index }] : []));
    return {
      shape,
      tracks: drawn.map(({ track }) => track),
      slots: Array.from({ length: Math.max(1, Math.ceil((until - from) / slotMs)) }, (_, slot) => ({
        at: from + slot * slotMs,
        values: drawn.map(({ index }) => {
          const values = bySlot.get(slot);
          return values ? (values[index] ?? null) : absent;
        }),
      })),
      from,
      until,
      slotMs,
      marks,
      axis,
      utc,
    };
  }, [shape, tracks, bySlot, absent, from, until, slotMs, marks, axis, utc]);
}

interface MomentsProps {
  readonly title: string;
  readonly drawing: Drawing;
  readonly at: number | null;
  readonly anchor: number | null;
  readonly range: SlotRange | null;
  readonly canChoose: boolean;
  readonly valueText: string;
  readonly onAt: (at: number | null) => void;
  readonly onAnchor: (anchor: number | null) => void;
  readonly onChoose: (range: SlotRange) => void;
}

/** The drawing as a slider over its slots, for pointer, touch and keyboard. */
function Moments(props: MomentsProps): JSX.Element {
  const { title, drawing, at, anchor, range, canChoose, valueText, onAt, onAnchor, onChoose } = props;
  const id = useId();
  const last = drawing.slots.length - 1;
  const slotAt = ({ clientX, currentTarget }: PointerEvent<HTMLElement>): number | null => {
    const place = currentTarget.querySelector('.u-over')?.getBoundingClientRect();
    if (!place || place.width === 0) return null;
    const slot = Math.floor(((clientX - place.left) / place.width) * drawing.slots.length);
    return Math.min(last, Math.max(0, slot));
  };
  const leave = (): void => {
    onAt(null);
    onAnchor(null);
  };
  const press = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const from = at ?? last;
    const page = Math.max(1, Math.round(last / 10));
    const to: { readonly [key: string]: number } = {
      ArrowLeft: at === null ? last : from - 1,
      ArrowRight: at === null ? last : from + 1,
      PageUp: from + page,
      PageDown: from - page,
      Home: 0,
      End: last,
    };
    const next = to[event.key];
    if (next !== undefined) {
      onAnchor(event.shiftKey && canChoose ? (anchor ?? from) : null);
      onAt(Math.min(last, Math.max(0, next)));
    } else if (event.key === 'Enter' && canChoose && at !== null) onChoose(range ?? [at, at]);
    else if (event.key === 'Escape' && at !== null) leave();
    else return;
    event.preventDefault();
  };
  return (
    <>
      <div
        role="slider"
        tabIndex={0}
        className={`chart-place ${canChoose ? 'chart-choose' : ''}`}
        aria-label={title}
        aria-describedby={id}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={at ?? last}
        aria-valuetext={valueText}
        onKeyDown={press}
        onBlur={leave}
        onPointerMove={(event) => onAt(slotAt(event))}
        onPointerLeave={leave}
        onPointerCancel={leave}
        onPointerDown={(event) => {
          if (!canChoose || event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          const slot = slotAt(event);
          onAt(slot);
          onAnchor(slot);
        }}
        onPointerUp={() => {
          if (range === null) return;
          if (range[0] === range[1]) onAnchor(null);
          else onChoose(range);
        }}
      >
        <Suspense fallback={null}>
          <Plot drawing={drawing} at={at} range={range} />
        </Suspense>
      </div>
      <p id={id} className="heard">
        Use the arrow keys to move between times.
        {canChoose && ' Hold Shift to select a range. Press Enter to show it, or Escape to clear it.'} Press
        Shift+T to show a table.
      </p>
    </>
  );
}
