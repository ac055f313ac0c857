// The rows of a table's model, in the order of its data. A row is reused while its data is the same object: a live list
// changes many times a second, and most of its thousands of rows stay the same.
import { replaceEqualDeep } from '@tanstack/react-query';
import { constructRow, type Row, type RowModel, type Table, type TableFeatures } from '@tanstack/react-table';

// biome-ignore lint/suspicious/noExplicitAny: the library makes row models before it knows the type of the data
type Any = any;
type Model = RowModel<TableFeatures, Any>;
type AnyRow = Row<TableFeatures, Any>;

/** Discards all rows when the columns change, because a row caches its sort values. */
export function keptRows(table: Table<TableFeatures, Any>): () => Model {
  let rowsByData = new WeakMap<object, AnyRow>();
  let last: { readonly data: unknown; readonly columns: unknown; readonly model: Model } | null = null;
  return () => {
    const { data, columns } = table.options;
    if (last?.data === data && last.columns === columns) return last.model;
    if (last?.columns !== columns) rowsByData = new WeakMap();
    const rows = data.map((original: object, index: number) => {
      const kept = rowsByData.get(original);
      const row = kept ?? constructRow(table, table.getRowId(original, index), original, index, 0);
      row.index = index;
      if (!kept) rowsByData.set(original, row);
      return row;
    });
    let byId: Model['rowsById'] | undefined;
    const model: Model = {
      rows,
      flatRows: rows,
      get rowsById() {
        byId ??= Object.fromEntries(rows.map((row) => [row.id, row]));
        return byId;
      },
    };
    last = { data, columns, model };
    return model;
  };
}

/**
 * The rows of a list after a reload. A row that equals the one before with the same key is that object. The cache of
 * queries compares by position alone, so a new first row would make all of them new.
 */
export function sharedRows<R>(
  before: readonly R[],
  rows: readonly R[],
  keyOf: (row: R) => string,
): readonly R[] {
  // Another page, or nothing new.
  if (before.every((row, at) => row === rows[at])) return rows;
  const byKey = new Map(before.map((row) => [keyOf(row), row]));
  return rows.map((row) => replaceEqualDeep(byKey.get(keyOf(row)), row));
}
