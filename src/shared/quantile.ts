// Quantiles of histograms.

/**
 * The upper bound of the bucket with the quantile; Infinity beyond the last bound, null without values.
 * @param bounds upper bounds, ascending
 * @param counts values of each bucket, and one more for larger values
 * @param share such as 0.99
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
