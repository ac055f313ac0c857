// Pages of lists: rows are taken from a cursor until the page is full.
import { BSON, type Document, type FindCursor } from 'mongodb';
import { maxPageBytes, type Page, type PageRequest } from '../../src/shared/ports/page.ts';

/** Documents that the server sends at once: few enough that those after a full page are little. */
const batch = 64;

export async function pageOf<R extends Document, T>(
  cursor: FindCursor<R>,
  { limit, offset }: PageRequest,
  read: (row: R) => T,
): Promise<Page<T>> {
  const items: T[] = [];
  let bytes = 0;
  const rows = cursor
    .skip(offset)
    .limit(limit + 1)
    .batchSize(batch);
  for await (const row of rows) {
    if (items.length === limit || bytes >= maxPageBytes) return { items, more: true };
    bytes += BSON.calculateObjectSize(row);
    items.push(read(row));
  }
  return { items, more: false };
}

/** The page of a list that is in memory. */
export const pageIn = <T, U>(
  all: readonly T[],
  { limit, offset }: PageRequest,
  read: (item: T) => U,
): Page<U> => ({
  items: all.slice(offset, offset + limit).map(read),
  more: all.length > offset + limit,
});
