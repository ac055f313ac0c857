// The state of a table, in TanStack Table: sort order, visible columns, selection. The browser stores hidden columns,
// the address contains the sort order, and the page owns the selection.
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
import { type ReactNode, useMemo, useRef } from 'react';
import { changePrefs, usePrefs } from '../lib/prefs.ts';
import { useFilter } from '../lib/search.ts';
import { keptRows, sharedRows } from './table-rows.ts';

export interface Column<R> {
  readonly key: string;
  readonly label: string;
  readonly cell: (row: R) => ReactNode;
  /** Sort value. Undefined: the column cannot be sorted. */
  readonly sort?: (row: R) => string | number;
  /** Text in CSV. Default: the sort value. */
  readonly text?: (row: R) => string;
  readonly number?: boolean;
  /** Field of the page's query that its text is a value of. Undefined: none. */
  readonly field?: string;
  /** False: the text of this row is no value of the field. Default: true. */
  readonly hasTerm?: (row: R) => boolean;
  /** Share of the table's width. Default: 1. */
  readonly width?: number;
  /** Distance to the left edge at which the column stays in sight, in pixels. Undefined: it scrolls. */
  readonly left?: number;
  /** Hidden until a person chooses it from the menu of the table. */
  readonly isOptional?: boolean;
  /** Position in a card: without a label, or beside the name of the row. Default: below it, with its label. */
  readonly inCard?: 'plain' | 'beside';
}

/** The complete text of a cell. */
export const textOf = <R>({ text, sort }: Column<R>, row: R): string =>
  text?.(row) ?? String(sort?.(row) ?? '');

/** The column and the row of a cell on the page; null for a cell of another kind, such as that of a checkbox. */
export function placeOfCell<R>(
  cell: Element,
  rows: readonly { readonly original: R }[],
  columns: readonly Column<R>[],
): { readonly row: R; readonly column: Column<R> } | null {
  const cells = [...(cell.parentElement?.children ?? [])];
  // Cells without a column stand first. The head is row 1.
  const column = columns[cells.indexOf(cell) - (cells.length - columns.length)];
  const row = rows[Number(cell.parentElement?.ariaRowIndex) - 2];
  return row && column ? { row: row.original, column } : null;
}

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

/** Sorts `agent-9` before `agent-10`. One collator is much faster than `localeCompare`. */
const words = new Intl.Collator('en', { numeric: true });

function compared<R extends RowData>(a: ModelRowOf<R>, b: ModelRowOf<R>, column: string): number {
  const x = a.getValue<string | number>(column);
  const y = b.getValue<string | number>(column);
  return typeof x === 'number' && typeof y === 'number' ? x - y : words.compare(String(x), String(y));
}

export interface ModelProps<R> {
  /** Plural noun for the rows, and the key of the stored columns. */
  readonly name: string;
  /** Cells and acts may get an equal object instead, from before a reload. */
  readonly rows: readonly R[];
  readonly columns: readonly Column<R>[];
  readonly keyOf: (row: R) => string;
  /** Parameter of the address for the sort order. Default: `sort`. Two tables on a page need two names. */
  readonly sortAs?: string;
  readonly selected?: ReadonlySet<string>;
  readonly onSelect?: (selected: ReadonlySet<string>) => void;
}

const noneSelected: ReadonlySet<string> = new Set();

/** Reads a column key from the address, `-` first for descending. An unknown column means no order. */
function sortingOf<R>(text: string | undefined, columns: readonly Column<R>[]): SortingState {
  const desc = text?.startsWith('-') ?? false;
  const id = desc ? text?.slice(1) : text;
  return columns.some(({ key, sort }) => key === id && sort) && id !== undefined ? [{ id, desc }] : [];
}

const sortText = ([by]: SortingState): string | undefined => by && `${by.desc ? '-' : ''}${by.id}`;

/** A person cannot hide the first column, because it names the row. */
export function useModel<R extends RowData>(props: ModelProps<R>): Model<R> {
  const { name, rows, columns, keyOf, sortAs = 'sort', selected = noneSelected, onSelect } = props;
  const { hidden } = usePrefs();
  const latestRows = useRef<readonly R[]>([]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key of a row depends on the row alone
  const data = useMemo(() => sharedRows(latestRows.current, rows, keyOf), [rows]);
  latestRows.current = data;
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
  const columnVisibility = useMemo(() => {
    const off = hidden[name] ?? columns.filter((one) => one.isOptional).map(({ key }) => key);
    return Object.fromEntries(off.filter((key) => key !== columns[0]?.key).map((key) => [key, false]));
  }, [hidden, name, columns]);
  const sorting = useMemo(() => sortingOf(sortedBy, columns), [sortedBy, columns]);
  const rowSelection = useMemo(
    () => Object.fromEntries([...selected].map((id): [string, true] => [id, true])),
    [selected],
  );
  return useTable<Features, R>({
    features,
    columns: defs,
    data,
    getRowId: keyOf,
    enableMultiSort: false,
    enableRowSelection: onSelect !== undefined,
    state: { columnVisibility, rowSelection, sorting },
    onColumnVisibilityChange: (next) => {
      const visibility = functionalUpdate(next, columnVisibility);
      const keys = Object.keys(visibility).filter((key) => visibility[key] === false);
      changePrefs(({ hidden }) => ({ hidden: { ...hidden, [name]: keys } }));
    },
    onSortingChange: (next) => sortBy(sortText(functionalUpdate(next, sorting))),
    onRowSelectionChange: (next) => {
      const chosen: RowSelectionState = functionalUpdate(next, rowSelection);
      onSelect?.(new Set(Object.keys(chosen)));
    },
  });
}
