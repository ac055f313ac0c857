// Reads a whole table in the order of its key, some rows at a time.
import type { Database, Row, SqlValue } from '../database.ts';
import type { Table } from '../table.ts';

export interface PageOf {
  readonly table: string;
  /** Columns that identify a row. */
  readonly key: readonly string[];
  /** Columns that are read; the key's follow. */
  readonly columns: string;
  /** Rows in a page. */
  readonly size: number;
  /** A condition; true for all rows by default. */
  readonly where?: string;
  readonly params?: readonly SqlValue[];
}

/** Rows without the columns of the key. */
export function* pages(
  db: Database,
  { table, key, columns, size, where = 'true', params = [] }: PageOf,
): Generator<readonly Row[]> {
  const names = key.join(', ');
  const marks = key.map(() => '?').join(', ');
  let last: readonly SqlValue[] | null = null;
  for (;;) {
    const rows: readonly Row[] = db.all(
      `SELECT ${columns}, ${names} FROM ${table} WHERE ${where} ${last ? `AND (${names}) > (${marks})` : ''}
         ORDER BY ${names} LIMIT ?`,
      [...params, ...(last ?? []), size],
    );
    if (rows.length > 0) yield rows.map((row) => row.slice(0, -key.length));
    const end = rows.at(-1);
    if (rows.length < size || !end) return;
    last = end.slice(-key.length) as readonly SqlValue[];
  }
}

/** Records of one table, page by page. */
export function* records<T>(
  db: Database,
  from: Pick<Table<T>, 'columns' | 'read'>,
  table: string,
  { key = ['rowid'], size = 500 }: Partial<Pick<PageOf, 'key' | 'size'>> = {},
): Generator<readonly T[]> {
  for (const rows of pages(db, { table, key, columns: from.columns, size }))
    yield rows.map((row) => from.read(row));
}
