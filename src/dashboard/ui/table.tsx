// Tables: sortable and selectable columns, keyboard navigation, virtual rows, CSV export. ui/table-model.ts has the
// state.
import { Link } from '@tanstack/react-router';
import type { RowData } from '@tanstack/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type JSX, type MouseEvent, type ReactNode, type RefObject, useEffect, useRef } from 'react';
import type { ThingLink } from '../lib/address.ts';
import { usePrefs } from '../lib/prefs.ts';
import { counted } from '../lib/text.ts';
import { type AddTerm, CellTerms } from './cell-terms.tsx';
import { useCopyCell } from './copy-cell.ts';
import { Icon } from './icons.tsx';
import { useStepKeys } from './keys.ts';
import { CardOrder, useCards } from './table-cards.tsx';
import { TableMenu } from './table-menu.tsx';
import {
  type Column,
  type Model,
  type ModelProps,
  type ModelRowOf,
  textOf,
  useModel,
} from './table-model.ts';
import './table.css';

export type { Column } from './table-model.ts';

export interface TableProps<R> extends ModelProps<R> {
  /** Called on a click on the row, on Space or Enter in its first cell, and on j and k. */
  readonly onOpen?: (row: R) => void;
  /** The page of a row: Enter in its first cell leads there. */
  readonly linkOf?: (row: R) => ThingLink | undefined;
  /** Accessible name of a list that is a grid; absent for a plain table. */
  readonly grid?: string;
  readonly chosen?: string | undefined;
  /** Accessible addition to the first cell, if the cell does not identify the row. */
  readonly nameOf?: (row: R) => string;
  /** Called to load more rows: at the end of the list, and before a sort. Calls repeat until no rows are added. */
  readonly onEnd?: () => void;
  /** Rows are 32 pixels high, whatever density the person prefers. */
  readonly dense?: boolean;
  /** Adds the value under the pointer to the query, for columns with a field. */
  readonly onTerm?: AddTerm;
  /** Singular noun for a row. Default: `row`. */
  readonly row?: string;
  /** Content of the bar above the table; a text is muted. Default: the number of rows. */
  readonly bar?: ReactNode;
}

/** Maximum of rows that load before a sort, so that it covers all of them. */
const maxSorted = 10_000;

/** Minimum width of a column with share 1, in pixels. */
const narrowest = 76;

const checkWidth = 36;

/** Height of a card before its measurement, in pixels. */
const cardHeight = 76;

/** Width of a bold letter, and of the rest of a header cell, in pixels. */
const [letter, besides] = [9.2, 22];

/** Minimum width that keeps the words of a column's header whole. */
function leastWidth({ label, width = 1 }: { readonly label: string; readonly width?: number }): number {
  const longest = Math.max(...label.split(' ').map((word) => word.length));
  return Math.round(Math.max(width * narrowest, longest * letter + besides));
}

/** The rows in sight, and the request for more of them. */
function useWindow<R extends RowData>(
  box: RefObject<HTMLDivElement | null>,
  rows: readonly ModelRowOf<R>[],
  rowHeight: number,
  cards: boolean,
  more: { readonly isSorted: boolean; readonly onEnd: (() => void) | undefined },
) {
  const { isSorted, onEnd } = more;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 10,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was measured is of the other form
  useEffect(() => virtual.measure(), [cards, rowHeight]);
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    const isNearEnd = rows.length > 0 && last >= rows.length - 5;
    // A sort of a part of the rows would mislead, so the other pages load first.
    if (isNearEnd || (isSorted && rows.length < maxSorted)) onEnd?.();
  }, [last, rows.length, onEnd, isSorted]);
  const before = items[0]?.start ?? 0;
  const after = Math.max(0, virtual.getTotalSize() - (items.at(-1)?.end ?? 0));
  return { virtual, items, space: { paddingTop: before, paddingBottom: after } };
}

/** Ticks a row; with Shift, all rows from the one with the latest tick. */
function useTick<R extends RowData>(
  rows: readonly ModelRowOf<R>[],
  { selected, onSelect }: Pick<TableProps<R>, 'selected' | 'onSelect'>,
) {
  const ticked = useRef<string | null>(null);
  return (id: string, on: boolean, withShift: boolean): void => {
    const to = rows.findIndex((row) => row.id === id);
    const from = withShift ? rows.findIndex((row) => row.id === ticked.current) : -1;
    const next = new Set(selected);
    for (const row of from < 0 ? [rows[to]] : rows.slice(Math.min(from, to), Math.max(from, to) + 1)) {
      if (row === undefined) continue;
      if (on) next.add(row.id);
      else next.delete(row.id);
    }
    ticked.current = id;
    onSelect?.(next);
  };
}

export function Table<R extends RowData>(props: TableProps<R>): JSX.Element {
  const { name, columns, onOpen, chosen, onSelect, row: noun = 'row', bar } = props;
  const { compact } = usePrefs();
  const model = useModel(props);
  const visibleColumns = columns.filter(({ key }) => model.getColumn(key)?.getIsVisible());
  const { rows } = model.getRowModel();
  const box = useRef<HTMLDivElement>(null);
  const minWidth = visibleColumns.reduce(
    (sum, column) => sum + leastWidth(column),
    onSelect ? checkWidth : 0,
  );
  const cards = useCards(box, minWidth);
  const rowHeight = cards ? cardHeight : compact || props.dense ? 32 : 40;
  const isSorted = model.state.sorting.length > 0;
  const { virtual, items, space } = useWindow(box, rows, rowHeight, cards, { isSorted, onEnd: props.onEnd });
  const at = chosen === undefined ? -1 : rows.findIndex(({ id }) => id === chosen);
  const step = (row: (typeof rows)[number]): void => {
    onOpen?.(row.original);
    virtual.scrollToIndex(rows.indexOf(row));
  };
  useStepKeys(rows, at, onOpen && step);
  useCopyCell(box, rows, visibleColumns);
  const tick = useTick(rows, props);
  const grid = [
    ...(onSelect ? [`${checkWidth}px`] : []),
    ...visibleColumns.map((column) => `minmax(${leastWidth(column)}px, ${column.width ?? 1}fr)`),
  ].join(' ');
  return (
    <div className={`data-table ${cards ? 'as-cards' : ''}`}>
      <div className="table-bar">
        {typeof bar === 'object' ? bar : <span className="muted">{bar ?? counted(rows.length, noun)}</span>}
        <span className="grow" />
        <span className="table-tools">
          {cards && rows.length > 1 && <CardOrder columns={visibleColumns} model={model} />}
          <TableMenu name={name} model={model} visibleColumns={visibleColumns} />
        </span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it */}
      <div ref={box} className="table-scroll" tabIndex={0} role="region" aria-label={name}>
        {/* biome-ignore lint/a11y/useAriaPropsSupportedByRole: both roles take a name */}
        <div
          role={props.grid === undefined ? 'table' : 'grid'}
          aria-label={props.grid ?? name}
          aria-rowcount={rows.length + 1}
          className="grid-table"
          style={cards ? {} : { minWidth }}
        >
          <div role="rowgroup" className="grid-head">
            <div role="row" className="grid-row" style={cards ? {} : { gridTemplateColumns: grid }}>
              {onSelect && <SelectAll model={model} named={cards} />}
              {visibleColumns.map((column) => (
                <Head key={column.key} column={column} model={model} heard={cards} />
              ))}
            </div>
          </div>
          <div role="rowgroup" style={space}>
            {items.map(({ index }) => {
              const row = rows[index];
              const place = cards
                ? { ref: virtual.measureElement, 'data-index': index }
                : { style: { gridTemplateColumns: grid, minHeight: rowHeight } };
              return (
                row && (
                  <Row
                    key={row.id}
                    {...{ row, index, place, cards, tick }}
                    columns={visibleColumns}
                    table={props}
                  />
                )
              );
            })}
          </div>
        </div>
        {props.onTerm && !cards && (
          <CellTerms box={box} rows={rows} columns={visibleColumns} onTerm={props.onTerm} />
        )}
      </div>
    </div>
  );
}

interface RowProps<R extends RowData> {
  readonly row: ModelRowOf<R>;
  readonly index: number;
  /** Visible columns. */
  readonly columns: readonly Column<R>[];
  readonly cards: boolean;
  /** Attributes that give the row its place: a measured height, or the widths of the columns. */
  readonly place: object;
  readonly tick: (id: string, on: boolean, withShift: boolean) => void;
  readonly table: TableProps<R>;
}

function Row<R extends RowData>({
  row,
  index: at,
  columns,
  cards,
  place,
  tick,
  table: { grid, chosen, onOpen, onSelect, linkOf, nameOf },
}: RowProps<R>): JSX.Element {
  const { id, original } = row;
  const cellRole = grid === undefined ? 'cell' : 'gridcell';
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the button of the first cell opens it by keyboard
    <div
      role="row"
      aria-rowindex={at + 2}
      className={`grid-row ${id === chosen ? 'grid-chosen' : ''} ${onOpen ? 'grid-opens' : ''}`}
      onClick={onOpen && ((event) => isPressOfRow(event) && onOpen(original))}
      {...place}
    >
      {onSelect && (
        <div role={cellRole}>
          <input
            type="checkbox"
            aria-label={`Select ${id.slice(0, 80)}`}
            checked={row.getIsSelected()}
            onChange={({ target, nativeEvent }) =>
              tick(id, target.checked, (nativeEvent as globalThis.MouseEvent).shiftKey)
            }
          />
        </div>
      )}
      {columns.map((column, index) => (
        <div key={column.key} role={cellRole} {...placeOf(column, index, original, cards)}>
          {index === 0 && (onOpen || linkOf) ? (
            <Opener row={original} onOpen={onOpen} link={linkOf?.(original)}>
              {column.cell(original)}
              {nameOf && <span className="heard">: {nameOf(original)}</span>}
            </Opener>
          ) : (
            column.cell(original)
          )}
        </div>
      ))}
    </div>
  );
}

/**
 * The content of a first cell: a link to the row's page, which a plain press opens as a peek; without a page a button.
 */
function Opener<R>({
  row,
  onOpen,
  link,
  children,
}: {
  readonly row: R;
  readonly onOpen: ((row: R) => void) | undefined;
  readonly link: ThingLink | undefined;
  readonly children: ReactNode;
}): JSX.Element {
  if (link === undefined) {
    return (
      <button type="button" className="cell-link" onClick={() => onOpen?.(row)}>
        {children}
      </button>
    );
  }
  const press = (event: MouseEvent): void => {
    const isPlain = event.detail > 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey;
    if (!onOpen || !isPlain) return;
    event.preventDefault();
    onOpen(row);
  };
  return (
    <Link
      {...link}
      className="cell-link"
      onClick={press}
      onKeyDown={(event) => {
        if (event.key !== ' ' || !onOpen) return;
        event.preventDefault();
        onOpen(row);
      }}
    >
      {children}
    </Link>
  );
}

/** True for a click that hit no control and selected no text. */
const isPressOfRow = ({ target }: { readonly target: EventTarget }): boolean =>
  target instanceof Element &&
  target.closest('a, button, input, label, select, summary') === null &&
  getSelection()?.isCollapsed !== false;

/** A value of a card, with its label. Empty values are left out. */
function placeOf<R>(
  column: Column<R>,
  index: number,
  row: R,
  cards: boolean,
): { readonly className: string; readonly 'data-label'?: string } {
  const { number, label, inCard, sort } = column;
  if (!cards) return { className: number ? 'number' : '' };
  if (index === 0) return { className: 'card-name' };
  if (sort && textOf(column, row) === '') return { className: 'heard' };
  if (inCard === 'beside') return { className: 'card-beside' };
  return { className: 'card-value', ...(inCard === 'plain' || !sort ? {} : { 'data-label': label }) };
}

const sortNames = { asc: 'ascending', desc: 'descending' } as const;

function Head<R extends RowData>({
  column: { key, label, number },
  model,
  heard,
}: {
  readonly column: Column<R>;
  readonly model: Model<R>;
  /** Only for screen readers: it has no visible part to click. */
  readonly heard: boolean;
}): JSX.Element {
  const column = model.getColumn(key);
  const sorted = column?.getIsSorted() || undefined;
  return (
    <div
      role="columnheader"
      className={heard ? 'heard' : number ? 'number' : ''}
      aria-sort={sorted === undefined ? undefined : sortNames[sorted]}
    >
      {column?.getCanSort() && !heard ? (
        <button type="button" className="sort" onClick={() => column.toggleSorting()}>
          {label}
          {sorted && <Icon name={sorted === 'desc' ? 'down' : 'up'} />}
        </button>
      ) : (
        label
      )}
    </div>
  );
}

function SelectAll<R extends RowData>({
  model,
  named: labels,
}: {
  readonly model: Model<R>;
  /** The label is visible, because no column of checkboxes explains it. */
  readonly named: boolean;
}): JSX.Element {
  const all = model.getIsAllRowsSelected();
  const some = !all && model.getIsSomeRowsSelected();
  return (
    <div role="columnheader">
      <input
        type="checkbox"
        aria-label="Select all loaded rows"
        ref={(input) => {
          if (input) input.indeterminate = some;
        }}
        checked={all}
        onChange={() => model.toggleAllRowsSelected(!all, { deselectAll: true })}
      />
      {labels && <span aria-hidden="true">All loaded rows</span>}
    </div>
  );
}
