// Pages of the hosted API's lists: as many items as one answer holds, with what stands beside them.
import { maxOffset } from './hosted-fields.ts';
import { shortened } from './listed.ts';

/** Bytes of the items of a page; with what stands around them an answer holds 4 MiB. */
export const maxPageBytes = 4 * 1024 * 1024 - 65_536;

/** The first items that fit into one answer; at least one if there is one. */
export function fitting<T>(items: readonly T[]): T[] {
  let bytes = 0;
  const end = items.findIndex((item, i) => {
    bytes += Buffer.byteLength(JSON.stringify(item)) + 1;
    return i > 0 && bytes > maxPageBytes;
  });
  return end < 0 ? [...items] : items.slice(0, end);
}

interface Asked {
  readonly limit: number;
  readonly offset: number;
  readonly cursor?: string | undefined;
}

export interface HostedPage<T> {
  readonly items: T[];
  readonly limit: number;
  readonly offset: number;
  readonly has_more: boolean;
  readonly next_offset: number | null;
}

/**
 * The items that fit, shortened as lists are (listed.ts).
 * @param more true when the list goes on after these items
 */
export function pageOf<T extends object>(items: readonly T[], query: Asked, more: boolean): HostedPage<T> {
  const fittingItems = fitting(items.map((item) => shortened(item) as T));
  const goesOn = more || fittingItems.length < items.length;
  return { items: fittingItems, ...pageFieldsOf(query, goesOn ? fittingItems.length : null) };
}

/** Fields beside the items. @param passed how far the page went in the list; null: to its end */
export const pageFieldsOf = (query: Asked, passed: number | null) => ({
  limit: query.limit,
  offset: query.offset,
  has_more: passed !== null,
  next_offset: nextOffset(query, passed),
});

function nextOffset({ offset, cursor }: Asked, passed: number | null): number | null {
  // After an empty page the same offset would give that page again: only its cursor leads on.
  if (passed === null || passed === 0 || cursor !== undefined) return null;
  return offset + passed > maxOffset ? null : offset + passed;
}
