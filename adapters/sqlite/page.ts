// Pages of lists: first which rows, then the rows one by one until the page is full. Rows that no page shows are never
// read.
import { maxPageBytes, type Page, type PageRequest } from '../../src/shared/ports/page.ts';
import type { Database, Row, SqlValue } from './database.ts';

interface PageQuery<T> {
  /** Finds the rows in their order; the first column names one. LIMIT and OFFSET are added. */
  readonly which: string;
  readonly params: readonly SqlValue[];
  /** Reads the row of one name, its first parameter. */
  readonly row: string;
  /** Its others. */
  readonly rowParams?: readonly SqlValue[];
  read(row: Row): T;
}

/** Bytes of a row's texts, and of what stands beside them. */
const sizeOf = (row: Row): number =>
  row.reduce<number>((sum, value) => sum + (typeof value === 'string' ? Buffer.byteLength(value) : 8), 0);

/** The rows of these names, until they hold `maxPageBytes`. */
export function rowsOf<T>(
  db: Database,
  names: readonly SqlValue[],
  limit: number,
  { row: sql, rowParams = [], read }: Pick<PageQuery<T>, 'row' | 'rowParams' | 'read'>,
): Page<T> {
  const items: T[] = [];
  let bytes = 0;
  for (const name of names.slice(0, limit)) {
    if (bytes >= maxPageBytes) break;
    const row = db.get(sql, [name, ...rowParams]);
    if (!row) continue;
    bytes += sizeOf(row);
    items.push(read(row));
  }
  return { items, more: names.length > items.length };
}

export function pageOf<T>(db: Database, { limit, offset }: PageRequest, query: PageQuery<T>): Page<T> {
  return db.snapshot(() => {
    const rows = db.all(`${query.which} LIMIT ? OFFSET ?`, [...query.params, limit + 1, offset]);
    const names = rows.map(([name]) => name as SqlValue);
    return rowsOf(db, names, limit, query);
  });
}
