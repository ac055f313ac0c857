// Figures of the hub's health: polling interval and format.

/** Polling interval, in milliseconds: no frame announces the hub's health. */
export const refetchMs = 10_000;

export const bytes = (value: number): string => {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let rest = value;
  let unit = 0;
  while (rest >= 1024 && unit < units.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  return `${rest >= 100 || unit === 0 ? Math.round(rest) : rest.toFixed(1)} ${units[unit]}`;
};

/**
 * A percentile of request durations, in milliseconds; Infinity beyond the last bound, null without requests.
 * @param bounds upper bounds, ascending
 * @param counts requests of each bucket, and one more for longer requests
 */
export function quantile(bounds: readonly number[], counts: readonly number[], share: number): number | null {
  const total = counts.reduce((sum, one) => sum + one, 0);
  if (total === 0) return null;
  let below = 0;
  for (const [i, one] of counts.entries()) {
    below += one;
    if (below >= total * share) return bounds[i] ?? Number.POSITIVE_INFINITY;
  }
  return Number.POSITIVE_INFINITY;
}
