// The state of a table: rows in order, columns that are shown, what is selected. TanStack Table keeps it; which columns
// a person hides is remembered, their order is in the address, and what is selected belongs to the page.
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
  type SortingState,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { type ReactNode, useMemo } from 'react';
import { changePrefs, usePrefs } from '../lib/prefs.ts';
import { useFilter } from '../lib/search.ts';
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
  /** Under which name the address says how it is sorted; default `sort`. Of two tables of a page each has its own. */
  readonly sortAs?: string;
  readonly selected?: ReadonlySet<string>;
  readonly onSelect?: (selected: ReadonlySet<string>) => void;
}

const noneSelected: ReadonlySet<string> = new Set();

/** As the address says it: a column's key, with `-` for the last first. Of what is no such column: no order. */
function sortingOf<R>(text: string | undefined, columns: readonly Column<R>[]): SortingState {
  const desc = text?.startsWith('-') ?? false;
  const id = desc ? text?.slice(1) : text;
  return columns.some(({ key, sort }) => key === id && sort) && id !== undefined ? [{ id, desc }] : [];
}

const sortText = ([by]: SortingState): string | undefined => by && `${by.desc ? '-' : ''}${by.id}`;

/** The first column names the row: it cannot be hidden. */
export function useModel<R extends RowData>(props: ModelProps<R>): Model<R> {
  const { name, rows, columns, keyOf, sortAs = 'sort', selected = noneSelected, onSelect } = props;
  const { hidden } = usePrefs();
  const off = hidden[name];
  const [sortedBy, sortBy] = useFilter(sortAs);
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
  const sorting = useMemo(() => sortingOf(sortedBy, columns), [sortedBy, columns]);
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
    state: { columnVisibility, rowSelection, sorting },
    onColumnVisibilityChange: (next) => {
      const visibility = functionalUpdate(next, columnVisibility);
      const keys = Object.keys(visibility).filter((key) => visibility[key] === false);
      changePrefs({ hidden: { ...hidden, [name]: keys } });
    },
    onSortingChange: (next) => sortBy(sortText(functionalUpdate(next, sorting))),
    onRowSelectionChange: (next) => {
      const chosen: RowSelectionState = functionalUpdate(next, rowSelection);
      onSelect?.(new Set(Object.keys(chosen)));
    },
  });
}
