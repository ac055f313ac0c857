// The most frequent values of a field, and how much the others add up to. Pure.

/** Counts of the values of one field. */
export interface Facet {
  /** The most frequent values, most frequent first, then by value. */
  readonly top: readonly { readonly value: string; readonly count: number }[];
  /** The other values together: how many there are, and the sum of their counts. */
  readonly rest: { readonly values: number; readonly count: number };
}

/** @param limit values that are named */
export function facetOf(counts: ReadonlyMap<string, number>, limit: number): Facet {
  const all = [...counts].map(([value, count]) => ({ value, count }));
  all.sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1));
  const others = all.slice(limit);
  return {
    top: all.slice(0, limit),
    rest: { values: others.length, count: others.reduce((sum, { count }) => sum + count, 0) },
  };
}
