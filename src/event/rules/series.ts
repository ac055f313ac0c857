// Counts of calls over time by one of their properties: widths of buckets, and sums. Pure.
import { dayMs, hourMs, minuteMs } from '../../shared/duration.ts';
import type { CountedAs } from '../record.ts';

export const seriesBy = ['total', 'agent', 'tool', 'contract', 'version'] as const;
export type SeriesBy = (typeof seriesBy)[number];

/** Counts of one value by bucket. */
export type SeriesCounts = { readonly [C in CountedAs]: readonly number[] };

export interface CallSeries extends SeriesCounts {
  /** Empty for the total. */
  readonly value: string;
}

export interface SeriesRange {
  /** Epoch milliseconds, inclusive. */
  readonly since: number;
  /** Exclusive. */
  readonly until: number;
}

const widths: readonly number[] = [minuteMs, 5 * minuteMs, 15 * minuteMs, hourMs, 6 * hourMs, dayMs];

/** The first bucket's start and the number of buckets. */
export function bucketsOf({ since, until }: SeriesRange, width: number) {
  const start = Math.floor(since / width) * width;
  return { start, count: Math.ceil((until - start) / width) };
}

/** The smallest width that keeps so many buckets; null if even a day is too short. Agents have no minutes. */
export function bucketWidth(range: SeriesRange, points: number, by: SeriesBy): number | null {
  const allowed = widths.filter((width) => by !== 'agent' || width >= hourMs);
  return allowed.find((width) => bucketsOf(range, width).count <= points) ?? null;
}

/** Adds up counts by value and bucket. */
export class SeriesSums {
  readonly #buckets: number;
  readonly #sums = new Map<string, { readonly [C in CountedAs]: number[] }>();

  constructor(buckets: number) {
    this.#buckets = buckets;
  }

  add(value: string, bucket: number, as: CountedAs, events: number): void {
    let sums = this.#sums.get(value);
    if (!sums) {
      const zeros = () => Array.from({ length: this.#buckets }, () => 0);
      sums = { allowed: zeros(), denied: zeros(), pending: zeros(), observed: zeros() };
      this.#sums.set(value, sums);
    }
    const counts = sums[as];
    if (bucket >= 0 && bucket < counts.length) counts[bucket] = (counts[bucket] ?? 0) + events;
  }

  /** In the order of the values, and empty ones for values without events; or all, by value. */
  series(values: readonly string[] | null): readonly CallSeries[] {
    const zeros = Array.from({ length: this.#buckets }, () => 0);
    const empty = { allowed: zeros, denied: zeros, pending: zeros, observed: zeros };
    const names = values ?? [...this.#sums.keys()].sort();
    return names.map((value) => ({ value, ...(this.#sums.get(value) ?? empty) }));
  }
}

/** A value's events in a range: most denials and would-be denials first, then most calls, then by name. */
export interface SeriesTotal {
  readonly value: string;
  readonly events: number;
  readonly refused: number;
}

export const byRefusals = (a: SeriesTotal, b: SeriesTotal): number =>
  b.refused - a.refused || b.events - a.events || (a.value < b.value ? -1 : 1);

/** Values of a property that have counts of their own in a range: the first in the order of `byRefusals`. */
export const maxValues: { readonly [B in SeriesBy]?: number } = { agent: 20_000, tool: 2_000 };

/** The name under which the other values are counted together. */
export const otherValues = 'other';

export interface RankedTotals {
  readonly top: readonly SeriesTotal[];
  /** There are more values than have counts of their own. */
  readonly hasOthers: boolean;
}

/** The values that have counts of their own, in their order. */
export const ownValues = (totals: ReadonlyMap<string, SeriesTotal>, max?: number): readonly SeriesTotal[] =>
  [...totals.values()].sort(byRefusals).slice(0, max ?? totals.size);

export function rankedTotals(
  totals: ReadonlyMap<string, SeriesTotal>,
  max: number | undefined,
  limit: number,
): RankedTotals {
  const own = ownValues(totals, max);
  return { top: own.slice(0, limit), hasOthers: own.length < totals.size };
}
