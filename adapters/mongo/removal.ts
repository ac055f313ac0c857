// Removes documents that a filter matches, a bounded number at a time: a command of MongoDB deletes one or all.
import type { Collection, Document, Filter, FindOptions } from 'mongodb';

/**
 * Deletes the documents that a query finds; returns how many.
 * @param bounds `limit` for the first documents only, or `skip` for those after the first
 */
export async function deleteSome<R extends Document>(
  collection: Collection<R>,
  filter: Filter<R>,
  bounds: Pick<FindOptions, 'sort' | 'skip' | 'limit'>,
): Promise<number> {
  const rows = await collection.find(filter, { ...bounds, projection: { _id: 1 } }).toArray();
  if (rows.length === 0) return 0;
  const matches = { _id: { $in: rows.map(({ _id }) => _id) } } as Filter<R>;
  return (await collection.deleteMany(matches)).deletedCount;
}
