// What a chart over time is given, and the words for its moments.
import { dayMs } from '../../domain/duration.ts';
import { clockTime, dayName } from '../lib/text.ts';
import type { IconName } from './icons.tsx';

/** One value over time: its word and sign, and the colour when it is drawn. */
export interface Track {
  readonly key: string;
  readonly label: string;
  readonly icon?: IconName;
  /** A colour of styles/tokens.css, such as `--bar-allow`; absent: the value is said and not drawn. */
  readonly color?: string;
  readonly text: (value: number | null) => string;
}

export interface Slot {
  /** Epoch milliseconds of its begin. */
  readonly at: number;
  /** In the order of the tracks; null where nothing is known. */
  readonly values: readonly (number | null)[];
}

/** `stack` draws bars upon each other, `steps` a line over its area. */
export type Shape = 'stack' | 'steps';

export interface Drawing {
  readonly shape: Shape;
  /** Follows a value at the axis. */
  readonly unit: string;
  /** Those that are drawn; the first is the lowest of a stack. */
  readonly tracks: readonly Track[];
  /** Every slot from the first to the last, without a hole; values in the order of `tracks`. */
  readonly slots: readonly Slot[];
  readonly from: number;
  readonly until: number;
  readonly slotMs: number;
  /** Times are said in UTC. */
  readonly utc: boolean;
}

/** Indexes of slots, both included. */
export type SlotRange = readonly [first: number, last: number];

/** `12:00–12:30`, with the day where the whole is longer than a day, and days alone where it is of whole days. */
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
