// Figures of the hub's health: how often they are asked for, and how they are written.

/** The hub tells of its health when it is asked: no frame does. */
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
 * The time within which a share of requests was answered, in milliseconds; Infinity beyond the last bound, null without
 * requests.
 * @param bounds upper ones, ascending
 * @param counts of each bound alone, and one more for what took longer
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
