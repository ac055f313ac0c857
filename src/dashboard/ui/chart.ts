// The input of a chart over time, and the text for its times.
import { dayMs } from '../../shared/duration.ts';
import { clockTime, count, dayName } from '../lib/text.ts';
import type { IconName } from './icons.tsx';

/** One value over time: its label, its icon, and its colour if the chart draws it. */
export interface Track {
  readonly key: string;
  readonly label: string;
  readonly icon?: IconName;
  /** A colour from styles/tokens.css, such as `--bar-allow`. Undefined: the value appears as text only. */
  readonly color?: string;
  readonly text: (value: number | null) => string;
}

/** The text of a number of things; none while it is unknown. */
export const countText = (value: number | null): string => count(value ?? 0);

export interface Slot {
  /** Start of the slot, in epoch milliseconds. */
  readonly at: number;
  /** One value for each track, in the same order; null if the value is unknown. */
  readonly values: readonly (number | null)[];
}

/** `stack` draws stacked bars; `lanes` draws the bars of each track in a lane with its own scale. */
export type Shape = 'stack' | 'lanes';

/** The axis beside a stack. */
export interface ValueAxis {
  /** Distances between its labels, ascending. The first one with room between the labels counts. */
  readonly steps: readonly number[];
  readonly text: (value: number) => string;
}

/** Width of the labels beside lanes and beside a stack, and of the space at the right of every chart, in pixels. */
export const laneLabelWidth = 76;
export const stackLabelWidth = 44;
export const chartEnd = 22;

export interface Drawing {
  readonly shape: Shape;
  /** Drawn tracks. The first one is at the bottom of a stack. */
  readonly tracks: readonly Track[];
  /** All slots from the first to the last, without gaps. Values are in the order of `tracks`. */
  readonly slots: readonly Slot[];
  readonly from: number;
  readonly until: number;
  readonly slotMs: number;
  /** Vertical lines, in epoch milliseconds. */
  readonly marks: readonly number[];
  /** Undefined: numbers. */
  readonly axis: ValueAxis | undefined;
  /** Times appear in UTC. */
  readonly utc: boolean;
}

/** Indexes of the first and the last slot. */
export type SlotRange = readonly [first: number, last: number];

/** `12:00–12:30`; with the day if the chart covers more than a day; only days if the slots are whole days. */
export function spanName(from: number, until: number, whole: number, utc: boolean): string {
  const midnight = (at: number): boolean => clockTime(at, utc) === '00:00';
  if (midnight(from) && midnight(until)) {
    const [first, last] = [dayName(from, utc), dayName(until - 1, utc)];
    return first === last ? first : `${first}–${last}`;
  }
  const times = (at: number): string =>
    whole > dayMs ? `${dayName(at, utc)} ${clockTime(at, utc)}` : clockTime(at, utc);
  const sameDay = dayName(from, utc) === dayName(until, utc);
  return `${times(from)}–${sameDay ? clockTime(until, utc) : times(until)}`;
}
