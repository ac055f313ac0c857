// Tables: sorted by a press on a head, columns to choose and remembered, rows by keyboard, only the visible ones drawn,
// CSV of what is shown. The state is kept in ui/table-model.ts.
import type { RowData } from '@tanstack/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type JSX, type ReactNode, useEffect, useRef } from 'react';
import { usePrefs } from '../lib/prefs.ts';
import { counted } from '../lib/text.ts';
import { useCopyCell } from './copy-cell.ts';
import { Icon } from './icons.tsx';
import { useStepKeys } from './overlay.tsx';
import { CardOrder, useCards } from './table-cards.tsx';
import { TableMenu } from './table-menu.tsx';
import { type Column, type Model, type ModelProps, textOf, useModel } from './table-model.ts';
import './table.css';

export type { Column } from './table-model.ts';

export interface TableProps<R> extends ModelProps<R> {
  /** A press on the row, Enter on its first cell, or j and k. */
  readonly onOpen?: (row: R) => void;
  readonly chosen?: string | undefined;
  /** Heard after the first cell, where that does not name the row. */
  readonly nameOf?: (row: R) => string;
  /** More rows are wanted: the last ones came into view, or they are sorted. Called again until it brings no more. */
  readonly onEnd?: () => void;
  /** Rows are 32 pixels high, whatever the person prefers. */
  readonly dense?: boolean;
  /** What one row is, as it is counted; default `row`. */
  readonly row?: string;
  /** Stands in the bar above, before the choice of columns; absent: how many rows there are. */
  readonly bar?: ReactNode;
}

/** Rows that are read ahead so that a sort is of all of them. */
const maxSorted = 10_000;

/** Pixels that a column of width 1 has at least. */
const narrowest = 76;

const checkWidth = 36;

/** Of a card before it is measured, in pixels. */
const cardHeight = 76;

/** Of a letter of a head in bold type, and of what stands beside it in its cell: pixels. */
const [letter, besides] = [9.2, 22];

/** No word of its head is cut. */
function leastWidth({ label, width = 1 }: { readonly label: string; readonly width?: number }): number {
  const longest = Math.max(...label.split(' ').map((word) => word.length));
  return Math.round(Math.max(width * narrowest, longest * letter + besides));
}

export function Table<R extends RowData>(props: TableProps<R>): JSX.Element {
  const { name, columns, onOpen, chosen, nameOf, onSelect, onEnd, row: noun = 'row', bar } = props;
  const { compact } = usePrefs();
  const model = useModel(props);
  const visibleColumns = columns.filter(({ key }) => model.getColumn(key)?.getIsVisible());
  const { rows } = model.getRowModel();
  const isSorted = model.state.sorting.length > 0;
  const box = useRef<HTMLDivElement>(null);
  const minWidth = visibleColumns.reduce(
    (sum, column) => sum + leastWidth(column),
    onSelect ? checkWidth : 0,
  );
  const cards = useCards(box, minWidth);
  const rowHeight = cards ? cardHeight : compact || props.dense ? 32 : 40;
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
    // A sort of what happens to be loaded would be a lie: the rest is read, page after page.
    if (isNearEnd || (isSorted && rows.length < maxSorted)) onEnd?.();
  }, [last, rows.length, onEnd, isSorted]);
  const at = chosen === undefined ? -1 : rows.findIndex(({ id }) => id === chosen);
  const step = (row: (typeof rows)[number]): void => {
    onOpen?.(row.original);
    virtual.scrollToIndex(rows.indexOf(row));
  };
  useStepKeys(rows, at, onOpen && step);
  useCopyCell(box, rows, visibleColumns, onSelect ? 1 : 0);
  /** The row that was ticked last: Shift ticks all from there. */
  const ticked = useRef<string | null>(null);
  const tick = (id: string, on: boolean, withShift: boolean): void => {
    const to = rows.findIndex((row) => row.id === id);
    const from = withShift ? rows.findIndex((row) => row.id === ticked.current) : -1;
    const next = new Set(props.selected);
    for (const row of from < 0 ? [rows[to]] : rows.slice(Math.min(from, to), Math.max(from, to) + 1)) {
      if (row === undefined) continue;
      if (on) next.add(row.id);
      else next.delete(row.id);
    }
    ticked.current = id;
    onSelect?.(next);
  };
  const before = items[0]?.start ?? 0;
  const after = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  const grid = [
    ...(onSelect ? [`${checkWidth}px`] : []),
    ...visibleColumns.map((column) => `minmax(${leastWidth(column)}px, ${column.width ?? 1}fr)`),
  ].join(' ');
  return (
    <div className={`data-table ${cards ? 'as-cards' : ''}`}>
      <div className="table-bar">
        {bar ?? <span className="muted">{counted(rows.length, noun)}</span>}
        <span className="grow" />
        <span className="table-tools">
          {cards && rows.length > 1 && <CardOrder columns={visibleColumns} model={model} />}
          <TableMenu name={name} model={model} visibleColumns={visibleColumns} />
        </span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it */}
      <div ref={box} className="table-scroll" tabIndex={0} role="region" aria-label={name}>
        <div
          role="table"
          aria-label={name}
          aria-rowcount={rows.length + 1}
          className="grid-table"
          style={cards ? {} : { minWidth }}
        >
          <div role="rowgroup" className="grid-head">
            <div role="row" className="grid-row" style={cards ? {} : { gridTemplateColumns: grid }}>
              {onSelect && <SelectAll model={model} named={cards} />}
              {visibleColumns.map((column) => (
                <Head key={column.key} of={column} model={model} heard={cards} />
              ))}
            </div>
          </div>
          <div role="rowgroup" style={{ paddingTop: before, paddingBottom: Math.max(0, after) }}>
            {items.map((item) => {
              const row = rows[item.index];
              if (row === undefined) return null;
              const { id, original } = row;
              return (
                // biome-ignore lint/a11y/useKeyWithClickEvents: the button of the first cell opens it by keyboard
                <div
                  key={id}
                  role="row"
                  aria-rowindex={item.index + 2}
                  className={`grid-row ${id === chosen ? 'grid-chosen' : ''} ${onOpen ? 'grid-opens' : ''}`}
                  onClick={onOpen && ((event) => isPressOfRow(event) && onOpen(original))}
                  {...(cards
                    ? { ref: virtual.measureElement, 'data-index': item.index }
                    : { style: { gridTemplateColumns: grid, minHeight: rowHeight } })}
                >
                  {onSelect && (
                    <div role="cell">
                      <input
                        type="checkbox"
                        aria-label={`Select ${id.slice(0, 80)}`}
                        checked={row.getIsSelected()}
                        onChange={(event) =>
                          tick(id, event.target.checked, (event.nativeEvent as MouseEvent).shiftKey)
                        }
                      />
                    </div>
                  )}
                  {visibleColumns.map((column, index) => {
                    const { key, cell } = column;
                    return (
                      <div key={key} role="cell" {...placeOf(column, index, original, cards)}>
                        {index === 0 && onOpen ? (
                          <button type="button" className="cell-link" onClick={() => onOpen(original)}>
                            {cell(original)}
                            {nameOf && <span className="heard">: {nameOf(original)}</span>}
                          </button>
                        ) : (
                          cell(original)
                        )}
                      </div>
                    );
                  })}
                </div>
              );
            })}
          </div>
        </div>
      </div>
    </div>
  );
}

/** True for a press beside what can be pressed by itself, and none that selected a text. */
const isPressOfRow = ({ target }: { readonly target: EventTarget }): boolean =>
  target instanceof Element &&
  target.closest('a, button, input, label, select, summary') === null &&
  getSelection()?.isCollapsed !== false;

/** In a card a value stands under its label, and one that is empty is left out. */
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
  of: { key, label, number },
  model,
  heard,
}: {
  readonly of: Column<R>;
  readonly model: Model<R>;
  /** Only: nothing of it is shown, so nothing of it may be pressed. */
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
  named,
}: {
  readonly model: Model<R>;
  /** Its name is shown: no rows of checkboxes below say what it is. */
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
      {named && <span aria-hidden="true">All loaded rows</span>}
    </div>
  );
}
