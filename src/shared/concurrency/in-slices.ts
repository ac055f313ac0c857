/** Results in the order of the items. `size` reads run at once. */
export async function inSlices<T, R>(
  items: readonly T[],
  size: number,
  read: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  for (let from = 0; from < items.length; from += size)
    results.push(...(await Promise.all(items.slice(from, from + size).map(read))));
  return results;
}
