// Pages of the hosted API's lists: an object with the items and what stands beside them, never larger than an answer
// may be.

/** Bytes of a page's items; with what stands around them an answer holds 4 MiB. */
const maxItems = 4 * 1024 * 1024 - 65_536;

/** The first items that fit one answer; at least one. */
export function fitting<T>(items: readonly T[]): readonly T[] {
  let bytes = 0;
  const end = items.findIndex((item, i) => {
    bytes += Buffer.byteLength(JSON.stringify(item)) + 1;
    return i > 0 && bytes > maxItems;
  });
  return end < 0 ? items : items.slice(0, end);
}
