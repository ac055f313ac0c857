// Draws a chart over time with uPlot on a canvas: axes with round times, and bars or steps in the colours of the theme.
// The caller passes the highlighted time and range, so pointer and keyboard work alike.
import { dayMs } from '../../shared/duration.ts';
import './browser-language.ts';
import { type JSX, useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { clockTime, dayName } from '../lib/text.ts';
import type { Drawing, SlotRange } from './chart.ts';

/** Minimum height of a value above zero, in pixels: one denial among many calls stays visible. */
const leastTall = 1.5;
/** Share of a slot that is empty beside its bar. */
const gap = 0.16;
/** Minimum distance between labels of the time axis, in pixels. */
const labelSpace = 72;

export interface PlotProps {
  readonly drawing: Drawing;
  readonly at: number | null;
  readonly range: SlotRange | null;
}

export default function Plot(props: PlotProps): JSX.Element {
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

const heightOf = ({ shape }: Drawing, values: readonly (number | null)[]): number =>
  shape === 'stack'
    ? values.reduce<number>((sum, value) => sum + (value ?? 0), 0)
    : Math.max(0, ...values.map((value) => value ?? 0));

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
  const none = (): null => null;
  return {
    ...sizeOf(place),
    ms: 1,
    padding: [8, 22, 0, 0],
    tzDate: (at) => (utc ? uPlot.tzDate(new Date(at), 'Etc/UTC') : new Date(at)),
    legend: { show: false },
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: false, y: false },
      bind: {
        mousedown: none as never,
        mouseup: none as never,
        click: none as never,
        dblclick: none as never,
        mousemove: none as never,
        mouseleave: none as never,
        mouseenter: none as never,
      },
    },
    scales: {
      x: { time: true, range: () => [latest.current.from, latest.current.until] },
      y: {
        range: () => {
          const { slots } = latest.current;
          return [0, Math.max(1, ...slots.map(({ values }) => heightOf(latest.current, values))) * 1.04];
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
      {
        ...axis,
        size: 44,
        space: 28,
        incrs: [1, 2, 5]
          .flatMap((step) => Array.from({ length: 12 }, (_, power) => step * 10 ** power))
          .sort((a, b) => a - b),
        values: (_, splits) => splits.map((value) => `${short.format(value)}${latest.current.unit}`),
      },
    ],
    series: [
      {},
      ...latest.current.tracks.map(({ color: token = '--accent' }): uPlot.Series => {
        const steps = latest.current.shape === 'steps';
        return {
          fill: steps ? () => `${color(token)()}${quarter}` : color(token),
          stroke: color(token),
          width: steps ? 1.5 : 0,
          points: { show: false },
          paths: (u, series) =>
            steps ? stepsOf(u, series, latest.current) : barsOf(u, series, latest.current),
        };
      }),
    ],
  };
}

/** Opacity of the area below a line, as the suffix of a six-digit colour. */
const quarter = '40';

const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

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
      const left = u.valToPos(at, 'x', true);
      const width = u.valToPos(at + slotMs, 'x', true) - left;
      fill.rect(left + (width * gap) / 2, y, width * (1 - gap), tall);
    }
  }
  return { fill, stroke: null };
}

/** A step line with a filled area. Slots without a value leave a gap. */
function stepsOf(u: uPlot, series: number, { slots, slotMs }: Drawing): uPlot.Series.Paths {
  const [fill, stroke] = [new Path2D(), new Path2D()];
  const ground = u.valToPos(0, 'y', true);
  let before: number | null = null;
  for (const { at, values } of slots) {
    const value = values[series - 1] ?? null;
    if (value !== null) {
      const [left, right] = [u.valToPos(at, 'x', true), u.valToPos(at + slotMs, 'x', true)];
      const y = u.valToPos(value, 'y', true);
      fill.rect(left, y, right - left, ground - y);
      if (before === null) stroke.moveTo(left, y);
      else stroke.lineTo(left, y);
      stroke.lineTo(right, y);
    }
    before = value;
  }
  return { fill, stroke };
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
