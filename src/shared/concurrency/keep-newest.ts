// Bounds maps that are filled one entry at a time.

/** Deletes the entry that was added first once the map has more than `max`. To be called after each addition. */
export function keepNewest<K>(map: Map<K, unknown>, max: number): void {
  if (map.size <= max) return;
  const oldest = map.keys().next();
  if (!oldest.done) map.delete(oldest.value);
}
