// The state of a table: rows in order, columns that are shown, what is selected. TanStack Table keeps it; which columns
// a person hides is remembered, and what is selected belongs to the page.
import {
  columnVisibilityFeature,
  createSortedRowModel,
  functionalUpdate,
  type Row as ModelRow,
  type ReactTable,
  type RowData,
  type RowSelectionState,
  rowSelectionFeature,
  rowSortingFeature,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { type ReactNode, useMemo } from 'react';
import { changePrefs, usePrefs } from '../lib/prefs.ts';
import { keptRows } from './table-rows.ts';

export interface Column<R> {
  readonly key: string;
  readonly label: string;
  readonly cell: (row: R) => ReactNode;
  /** Absent: the column cannot be sorted. */
  readonly sort?: (row: R) => string | number;
  /** As it stands in CSV; absent: the sort value. */
  readonly text?: (row: R) => string;
  readonly number?: boolean;
  /** A part of the width; default 1. */
  readonly width?: number;
  /** Where rows are cards: it needs no label, or stands beside the name of the row. Absent: it has its label. */
  readonly inCard?: 'plain' | 'beside';
}

/** The whole of a cell as text. */
export const textOf = <R>({ text, sort }: Column<R>, row: R): string =>
  text?.(row) ?? String(sort?.(row) ?? '');

const features = tableFeatures({
  columnVisibilityFeature,
  coreRowModel: keptRows,
  rowSelectionFeature,
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
});

type Features = typeof features;
export type Model<R extends RowData> = ReactTable<Features, R>;
export type ModelRowOf<R extends RowData> = ModelRow<Features, R>;

/** `agent-9` before `agent-10`. Much faster than comparing by locale each time. */
const words = new Intl.Collator('en', { numeric: true });

function compared<R extends RowData>(a: ModelRowOf<R>, b: ModelRowOf<R>, column: string): number {
  const x = a.getValue<string | number>(column);
  const y = b.getValue<string | number>(column);
  return typeof x === 'number' && typeof y === 'number' ? x - y : words.compare(String(x), String(y));
}

export interface ModelProps<R> {
  /** What it lists, in the plural: also the name under which its columns are remembered. */
  readonly name: string;
  readonly rows: readonly R[];
  readonly columns: readonly Column<R>[];
  readonly keyOf: (row: R) => string;
  readonly selected?: ReadonlySet<string>;
  readonly onSelect?: (selected: ReadonlySet<string>) => void;
}

const noneSelected: ReadonlySet<string> = new Set();

/** The first column names the row: it cannot be hidden. */
export function useModel<R extends RowData>(props: ModelProps<R>): Model<R> {
  const { name, rows, columns, keyOf, selected = noneSelected, onSelect } = props;
  const { hidden } = usePrefs();
  const off = hidden[name];
  const defs = useMemo(
    () =>
      columns.map(({ key, label, sort }, index) => ({
        id: key,
        header: label,
        ...(sort ? { accessorFn: sort } : {}),
        enableHiding: index > 0,
        sortFn: compared<R>,
        sortDescFirst: false,
        sortUndefined: false as const,
      })),
    [columns],
  );
  const columnVisibility = useMemo(
    () => Object.fromEntries((off ?? []).filter((key) => key !== columns[0]?.key).map((key) => [key, false])),
    [off, columns],
  );
  const rowSelection = useMemo(
    () => Object.fromEntries([...selected].map((id): [string, true] => [id, true])),
    [selected],
  );
  return useTable<Features, R>({
    features,
    columns: defs,
    data: rows,
    getRowId: keyOf,
    enableMultiSort: false,
    enableRowSelection: onSelect !== undefined,
    state: { columnVisibility, rowSelection },
    onColumnVisibilityChange: (next) => {
      const shown = functionalUpdate(next, columnVisibility);
      const keys = Object.keys(shown).filter((key) => shown[key] === false);
      changePrefs({ hidden: { ...hidden, [name]: keys } });
    },
    onRowSelectionChange: (next) => {
      const chosen: RowSelectionState = functionalUpdate(next, rowSelection);
      onSelect?.(new Set(Object.keys(chosen)));
    },
  });
}
