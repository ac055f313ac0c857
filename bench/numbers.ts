// Medians, percentiles and the lines that benchmarks print.

export const median = (list: readonly number[]): number => percentile(list, 0.5);

/** @param share 0 to 1 */
export function percentile(list: readonly number[], share: number): number {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const round = (n: number, digits = 1): number => Number(n.toFixed(digits));

/** A figure beside its goal. */
export interface Verdict {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** The value must not be above (`atMost`) or below (`atLeast`) it. */
  readonly atMost?: number;
  readonly atLeast?: number;
}

export const isMet = ({ value, atMost, atLeast }: Verdict): boolean =>
  (atMost === undefined || value <= atMost) && (atLeast === undefined || value >= atLeast);

export function lineOf(verdict: Verdict): string {
  const { what, value, unit, atMost, atLeast } = verdict;
  const goal = atMost === undefined ? `≥ ${atLeast}` : `≤ ${atMost}`;
  return `  ${what}: ${value}${unit} (goal ${goal}${unit}) ${isMet(verdict) ? 'met' : 'MISSED'}`;
}

/** How often event-loop delays are sampled, in milliseconds. */
export const loopSampleMs = 1;
