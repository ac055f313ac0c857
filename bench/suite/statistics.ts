// Seeded randomness, medians, and the bootstrap interval of a change between two groups of rounds.

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The middle value, or the mean of the two middle values; NaN for an empty list. */
export function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** (largest − smallest) ÷ median; 0 for one value, null where the median is 0 or absent. */
export function spreadOf(values: readonly number[]): number | null {
  const middle = medianOf(values);
  if (!(middle > 0)) return null;
  return (Math.max(...values) - Math.min(...values)) / middle;
}

/** The slope of the line of least squares; null for fewer than two different x. */
export function slopeOf(xs: readonly number[], ys: readonly number[]): number | null {
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanX, meanY] = [mean(xs), mean(ys)];
  const spread = xs.reduce((sum, x) => sum + (x - meanX) ** 2, 0);
  if (!(spread > 0)) return null;
  return xs.reduce((sum, x, n) => sum + (x - meanX) * ((ys[n] ?? meanY) - meanY), 0) / spread;
}

export interface Change {
  /** Median of the second group ÷ median of the first − 1. From 0 to more: infinite; from 0 to 0: 0. */
  readonly change: number;
  /** 95 % bootstrap interval of the change. */
  readonly low: number;
  readonly high: number;
}

const resamples = 2000;

/** Of values that are not negative. */
const shareOfChange = (before: number, after: number): number => (after === before ? 0 : after / before - 1);

/**
 * The change of the median from `before` to `after`, with a percentile bootstrap interval of 95 %.
 * @param random decides the resamples
 */
export function changeBetween(
  before: readonly number[],
  after: readonly number[],
  random: () => number,
): Change {
  const resampledMedian = (values: readonly number[]): number =>
    medianOf(values.map(() => values[Math.floor(random() * values.length)] ?? Number.NaN));
  const changes = Array.from({ length: resamples }, () => {
    const median = resampledMedian(after);
    return shareOfChange(resampledMedian(before), median);
  }).sort((a, b) => (a === b ? 0 : a - b));
  const quantile = (share: number): number => changes[Math.floor(share * (resamples - 1))] ?? Number.NaN;
  return {
    change: shareOfChange(medianOf(before), medianOf(after)),
    low: quantile(0.025),
    high: quantile(0.975),
  };
}
