// Draws a chart over time with uPlot on a canvas: axes with round times, and bars in the colours of the theme.
// The caller passes the highlighted time and range, so pointer and keyboard work alike.
import { dayMs } from '../../shared/duration.ts';
import './browser-language.ts';
import { type JSX, useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { clockTime, dayName } from '../lib/text.ts';
import {
  chartEnd,
  type Drawing,
  laneLabelWidth,
  type SlotRange,
  stackLabelWidth,
  type ValueAxis,
} from './chart.ts';

/** Minimum height of a value above zero, in pixels: one denial among many calls stays visible. */
const leastTall = 1.5;
/** Share of a slot that is empty beside its bar. */
const gap = 0.16;
/** Minimum distance between labels of the time axis, in pixels. */
const labelSpace = 72;

export default function Plot(
  props: Readonly<{ drawing: Drawing; at: number | null; range: SlotRange | null }>,
): JSX.Element {
  const { drawing, at, range } = props;
  const { utc } = drawing;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(drawing);
  latest.current = drawing;
  useEffect(() => {
    const place = box.current;
    if (!place) return;
    const chart = new uPlot(optionsOf(place, latest, utc), dataOf(latest.current), place);
    plot.current = chart;
    const size = new ResizeObserver(() => chart.setSize(sizeOf(place)));
    size.observe(place);
    const theme = new MutationObserver(() => chart.redraw(false, true));
    theme.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => {
      size.disconnect();
      theme.disconnect();
      chart.destroy();
      plot.current = null;
    };
  }, [utc]);
  useEffect(() => plot.current?.setData(dataOf(drawing)), [drawing]);
  // After every render: the update is cheap.
  useEffect(() => {
    if (plot.current) mark(plot.current, drawing, at, range);
  });
  return <div ref={box} className="plot" aria-hidden="true" />;
}

const sizeOf = (place: HTMLElement): { width: number; height: number } => ({
  width: Math.max(1, place.clientWidth),
  height: Math.max(1, place.clientHeight),
});

const dataOf = ({ slots, tracks }: Drawing): uPlot.AlignedData => [
  slots.map(({ at }) => at),
  ...tracks.map((_, track) => slots.map(({ values }) => values[track] ?? null)),
];

const heightOf = (values: readonly (number | null)[]): number =>
  values.reduce<number>((sum, value) => sum + (value ?? 0), 0);

/** Events that uPlot would handle by itself. */
const pointerEvents = [
  ...['mousedown', 'mouseup', 'mousemove', 'mouseleave', 'mouseenter'],
  ...['click', 'dblclick'],
];

function optionsOf(place: HTMLElement, latest: { readonly current: Drawing }, utc: boolean): uPlot.Options {
  const style = getComputedStyle(place);
  const color = (token: string) => (): string => style.getPropertyValue(token).trim();
  const { fontFamily } = style;
  const axis: uPlot.Axis = {
    stroke: color('--muted'),
    font: `12px ${fontFamily}`,
    grid: { stroke: color('--line'), width: 1 },
    ticks: { stroke: color('--line'), width: 1, size: 4 },
  };
  const isLanes = latest.current.shape === 'lanes';
  return {
    ...sizeOf(place),
    ms: 1,
    padding: [8, chartEnd, 0, 0],
    tzDate: (at) => (utc ? uPlot.tzDate(new Date(at), 'Etc/UTC') : new Date(at)),
    legend: { show: false },
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: false, y: false },
      bind: Object.fromEntries(pointerEvents.map((name) => [name, () => null])),
    },
    scales: {
      x: { time: true, range: () => [latest.current.from, latest.current.until] },
      y: {
        range: () => {
          const { slots, shape, tracks } = latest.current;
          if (shape === 'lanes') return [0, tracks.length];
          return [0, Math.max(1, ...slots.map(({ values }) => heightOf(values))) * 1.04];
        },
      },
    },
    axes: [
      {
        ...axis,
        size: 28,
        space: labelSpace,
        values: (_, splits, _axis, _space, step) =>
          splits.map((at) => {
            const time = clockTime(at, utc);
            return step >= dayMs || time === '00:00' ? dayName(at, utc) : time;
          }),
      },
      isLanes
        ? lanesOf(latest, axis)
        : {
            ...axis,
            size: stackLabelWidth,
            space: 28,
            incrs: [...(latest.current.axis ?? numberAxis).steps],
            values: (_, splits) => splits.map((latest.current.axis ?? numberAxis).text),
          },
    ],
    series: [
      {},
      ...latest.current.tracks.map(({ color: token = '--accent' }): uPlot.Series => {
        return {
          fill: color(token),
          width: 0,
          points: { show: false },
          paths: (u, series) => (isLanes ? laneOf : barsOf)(u, series, latest.current),
        };
      }),
    ],
    hooks: { draw: [(u) => drawMarks(u, latest.current.marks, color('--muted')())] },
  };
}

const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

const numberAxis: ValueAxis = {
  steps: [1, 2, 5]
    .flatMap((step) => Array.from({ length: 12 }, (_, power) => step * 10 ** power))
    .sort((a, b) => a - b),
  text: (value) => short.format(value),
};

/** The left side and the width of a bar. */
function sidesOf(u: uPlot, at: number, slotMs: number): readonly [left: number, width: number] {
  const left = u.valToPos(at, 'x', true);
  const width = u.valToPos(at + slotMs, 'x', true) - left;
  return [left + (width * gap) / 2, width * (1 - gap)];
}

/** The bars of one track, stacked on the tracks below it. */
function barsOf(u: uPlot, series: number, { slots, slotMs }: Drawing): uPlot.Series.Paths {
  const fill = new Path2D();
  const ground = u.valToPos(0, 'y', true);
  const least = leastTall * uPlot.pxRatio;
  for (const { at, values } of slots) {
    let y = ground;
    for (const [index, value] of values.entries()) {
      if (!value || index >= series) continue;
      const tall = Math.max(least, ground - u.valToPos(value, 'y', true));
      y -= tall;
      if (index !== series - 1) continue;
      const [left, width] = sidesOf(u, at, slotMs);
      fill.rect(left, y, width, tall);
    }
  }
  return { fill, stroke: null };
}

/** Share of a lane that its tallest bar fills. */
const laneFill = 0.84;

/** The axis beside lanes: the name of each, at its middle. */
const lanesOf = ({ current }: { readonly current: Drawing }, axis: uPlot.Axis): uPlot.Axis => ({
  ...axis,
  size: laneLabelWidth,
  grid: { show: false },
  ticks: { show: false },
  splits: () => current.tracks.map((_, track) => current.tracks.length - track - 0.6),
  values: () => current.tracks.map(({ label }) => label),
});

/** The bars of one track in its lane. The first track is at the top. */
function laneOf(u: uPlot, series: number, { slots, slotMs, tracks }: Drawing): uPlot.Series.Paths {
  const fill = new Path2D();
  const base = tracks.length - series;
  const max = Math.max(1, ...slots.map(({ values }) => values[series - 1] ?? 0));
  const ground = u.valToPos(base, 'y', true);
  const least = leastTall * uPlot.pxRatio;
  for (const { at, values } of slots) {
    const value = values[series - 1] ?? 0;
    const [left, width] = sidesOf(u, at, slotMs);
    const scaled = ground - u.valToPos(base + (value / max) * laneFill, 'y', true);
    const tall = value === 0 ? uPlot.pxRatio / 2 : Math.max(least, scaled);
    fill.rect(left, ground - tall, width, tall);
  }
  return { fill, stroke: null };
}

function drawMarks(u: uPlot, marks: readonly number[], color: string): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.fillStyle = color;
  for (const at of marks) {
    const x = Math.round(u.valToPos(at, 'x', true));
    ctx.fillRect(x, bbox.top, uPlot.pxRatio, bbox.height);
  }
  ctx.restore();
}

/** Highlights the current time and the selected range. */
function mark(u: uPlot, { from, slotMs }: Drawing, at: number | null, range: SlotRange | null): void {
  const left = (slot: number): number => u.valToPos(from + slot * slotMs, 'x');
  const slotWidth = left(1) - left(0);
  u.root.style.setProperty('--slot', `${slotWidth}px`);
  const height = u.over.clientHeight;
  u.setCursor(
    { left: at === null ? -10 : left(at) + slotWidth / 2, top: at === null ? -10 : height / 2 },
    false,
  );
  const [first, end] = range ? [left(range[0]), left(range[1] + 1)] : [0, 0];
  u.setSelect({ left: first, top: 0, width: end - first, height: range ? height : 0 }, false);
}
