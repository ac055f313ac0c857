// Tables: sortable and selectable columns, keyboard navigation, virtual rows, CSV export. ui/table-model.ts has the
// state, ui/table-layout.ts the widths.
import type { RowData } from '@tanstack/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type JSX,
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { usePrefs } from '../lib/prefs.ts';
import { onFirstInput, usePlace } from '../lib/scroll.ts';
import { counted, maxRows } from '../lib/text.ts';
import { type AddTerm, CellTerms } from './cell-terms.tsx';
import { useCopyCell } from './copy-cell.ts';
import { followDrag } from './drag.ts';
import { Icon } from './icons.tsx';
import { useStepKeys } from './keys.ts';
import { useTouch } from './narrow.ts';
import { CardOrder, useCards } from './table-cards.tsx';
import { type Layout, pinOfChecks, useLayout, widthStep } from './table-layout.ts';
import { TableMenu } from './table-menu.tsx';
import { type Column, type Model, type ModelProps, type ModelRowOf, useModel } from './table-model.ts';
import { Row, type RowActs } from './table-row.tsx';
import './table.css';

export type { Column } from './table-model.ts';

export interface TableProps<R> extends ModelProps<R>, Omit<RowActs<R>, 'onTick'> {
  /** Accessible name of a list that is a grid; absent for a plain table. */
  readonly grid?: string;
  readonly chosen?: string | undefined;
  /** Called to load more rows: at the end of the list, and before a sort. Calls repeat until no rows are added. */
  readonly onEnd?: () => void;
  /** Adds the value under the pointer to the query, for columns with a field. */
  readonly onTerm?: AddTerm;
  /** Called with true while the pointer is over the buttons that add a value, then with false. */
  readonly onTermHover?: (isOver: boolean) => void;
  /** Singular noun for a row. Default: `row`. */
  readonly row?: string;
  /** Content of the bar above the table; a text is muted. Default: the number of rows. */
  readonly bar?: ReactNode;
}

/** Height of a card before its measurement, in pixels. */
const cardHeight = 76;

interface WindowProps {
  readonly name: string;
  /** In pixels; of cards, before they are measured. */
  readonly rowHeight: number;
  readonly cards: boolean;
  /** Index of the chosen row, -1 for none. */
  readonly at: number;
  readonly isSorted: boolean;
  readonly onEnd: (() => void) | undefined;
}

/** The rows in sight, and the request for more of them. */
function useWindow<R extends RowData>(
  box: RefObject<HTMLDivElement | null>,
  rows: readonly ModelRowOf<R>[],
  { name, rowHeight, cards, at, isSorted, onEnd }: WindowProps,
) {
  const { read, keep } = usePlace(name);
  const [initial] = useState(read);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 10,
    initialOffset: initial * rowHeight,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    const isNearEnd = rows.length > 0 && last >= rows.length - 5;
    // A sort of a part of the rows would mislead, so the other pages load first.
    if (isNearEnd || (isSorted && rows.length < maxRows)) onEnd?.();
  }, [last, rows.length, onEnd, isSorted]);
  const isRestored = useRef(initial === 0);
  // A list that became shorter never reaches the place. It must not move under a person who reads it.
  useEffect(
    () =>
      onFirstInput(() => {
        isRestored.current = true;
      }),
    [],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: more rows make room for the place
  useEffect(() => {
    if (isRestored.current || rows.length === 0) return;
    isRestored.current = rows.length > initial;
    virtual.scrollToIndex(initial, { align: 'start' });
  }, [rows.length]);
  const place = useRef({ first: initial, cards, rowHeight });
  // An open peek makes rows cards. The chosen row, or else the first one, stays in sight.
  useEffect(() => {
    const { range } = virtual;
    if (place.current.cards !== cards || place.current.rowHeight !== rowHeight) {
      const isInSight = range !== null && at >= range.startIndex && at <= range.endIndex;
      virtual.measure();
      const goal = isInSight ? at : place.current.first;
      const go = (): void => virtual.scrollToIndex(goal, { align: isInSight ? 'center' : 'start' });
      go();
      // Rows in sight are measured when they are drawn, and move it.
      requestAnimationFrame(() => requestAnimationFrame(go));
      place.current = { ...place.current, cards, rowHeight };
    } else if (isRestored.current && range !== null) {
      place.current.first = range.startIndex;
      keep(range.startIndex);
    }
  });
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

interface ScrolledRowsProps<R extends RowData> {
  readonly table: TableProps<R>;
  readonly model: Model<R>;
  /** Visible columns. */
  readonly columns: readonly Column<R>[];
  readonly box: RefObject<HTMLDivElement | null>;
  /** Pixels. */
  readonly minWidth: number;
  /** `grid-template-columns` */
  readonly template: string;
  readonly cards: boolean;
  /** The head. */
  readonly children: ReactNode;
}

/** The head of a table, and the rows in sight. Scrolling renders this component, but neither the model nor the menu. */
function ScrolledRows<R extends RowData>(props: ScrolledRowsProps<R>): JSX.Element {
  const { table, model, columns, box, minWidth, cards, children: head } = props;
  const { name, chosen, onOpen, onSelect, onTerm, onTermHover, grid } = table;
  const { compact } = usePrefs();
  const isTouch = useTouch();
  const { rows } = model.getRowModel();
  const rowHeight = cards ? cardHeight : isTouch ? 44 : compact ? 28 : 32;
  const isSorted = model.state.sorting.length > 0;
  const at = chosen === undefined ? -1 : rows.findIndex(({ id }) => id === chosen);
  const { virtual, items, space } = useWindow(box, rows, {
    ...{ name, rowHeight, cards, at, isSorted },
    onEnd: table.onEnd,
  });
  const step = (row: (typeof rows)[number]): void => {
    onOpen?.(row.original);
    virtual.scrollToIndex(rows.indexOf(row));
  };
  useStepKeys(rows, at, onOpen && step);
  const acts = useRef<RowActs<R>>({});
  acts.current = { ...table, onTick: useTick(rows, table) };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it
    <div ref={box} className="table-scroll" tabIndex={0} role="region" aria-label={name}>
      {/* biome-ignore lint/a11y/useAriaPropsSupportedByRole: both roles take a name */}
      <div
        role={grid === undefined ? 'table' : 'grid'}
        aria-label={grid ?? name}
        aria-rowcount={rows.length + 1}
        className="grid-table"
        style={cards ? {} : { minWidth }}
      >
        {head}
        <div role="rowgroup" style={space}>
          {items.map(({ index }) => {
            const row = rows[index];
            return (
              row && (
                <Row
                  key={row.id}
                  {...{ row, index, columns, acts }}
                  template={props.template}
                  minHeight={rowHeight}
                  measure={cards ? virtual.measureElement : null}
                  cellRole={grid === undefined ? 'cell' : 'gridcell'}
                  isChosen={row.id === chosen}
                  isTicked={onSelect && row.getIsSelected()}
                  canOpen={onOpen !== undefined}
                />
              )
            );
          })}
        </div>
      </div>
      {onTerm && !cards && <CellTerms {...{ box, rows, columns, onTerm, onTermHover }} />}
    </div>
  );
}

export function Table<R extends RowData>(props: TableProps<R>): JSX.Element {
  const { name, columns, onSelect, row: noun = 'row', bar } = props;
  const model = useModel(props);
  const { columnVisibility } = model.state;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the model is new in each render
  const orderedColumns = useMemo(
    () => columns.filter(({ key }) => model.getColumn(key)?.getIsVisible()),
    [columns, columnVisibility],
  );
  const layout = useLayout(name, orderedColumns, onSelect !== undefined);
  const { columns: visibleColumns, minWidth, template } = layout;
  const { rows } = model.getRowModel();
  const box = useRef<HTMLDivElement>(null);
  const cards = useCards(box, minWidth);
  useCopyCell(box, rows, visibleColumns);
  return (
    <div className={`data-table ${cards ? 'as-cards' : ''}`}>
      <div className="table-bar row wrap">
        {typeof bar === 'object' ? bar : <span className="muted">{bar ?? counted(rows.length, noun)}</span>}
        <span className="grow" />
        <span className="table-tools row">
          {cards && rows.length > 1 && <CardOrder columns={visibleColumns} model={model} />}
          <TableMenu {...{ name, model, visibleColumns, layout }} />
        </span>
      </div>
      <ScrolledRows table={props} columns={visibleColumns} {...{ model, box, minWidth, template, cards }}>
        <div role="rowgroup" className="grid-head">
          <div role="row" className="grid-row" style={cards ? {} : { gridTemplateColumns: template }}>
            {onSelect && <SelectAll {...{ model, columns: visibleColumns }} isLabeled={cards} />}
            {visibleColumns.map((column) => (
              <Head key={column.key} {...{ column, model, layout }} heard={cards} />
            ))}
          </div>
        </div>
      </ScrolledRows>
    </div>
  );
}

const sortNames = { asc: 'ascending', desc: 'descending' } as const;

function Head<R extends RowData>({
  column: { key, label, number, left },
  model,
  layout,
  heard,
}: {
  readonly column: Column<R>;
  readonly model: Model<R>;
  readonly layout: Layout;
  /** Only for screen readers: it has no visible part to click. */
  readonly heard: boolean;
}): JSX.Element {
  const column = model.getColumn(key);
  const sorted = column?.getIsSorted() || undefined;
  const head = useRef<HTMLDivElement>(null);
  const canSort = !heard && column?.getCanSort();
  const widthNow = (): number => head.current?.getBoundingClientRect().width ?? 0;
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowRight: widthStep, ArrowLeft: -widthStep }[event.key];
    if (!event.altKey || step === undefined) return;
    event.preventDefault();
    layout.resize(key, widthNow() + step);
  };
  const drag = (event: PointerEvent<HTMLElement>): void => {
    const before = widthNow();
    followDrag(event, (distance, isOver) => {
      layout.drag(key, isOver ? null : before + distance);
      if (isOver && distance !== 0) layout.resize(key, before + distance);
    });
  };
  return (
    <div
      ref={head}
      role="columnheader"
      className={heard ? 'heard' : `${number ? 'number' : ''} ${left === undefined ? '' : 'pinned'}`}
      style={heard || left === undefined ? {} : { left }}
      // A head without a button takes the focus itself: the keys that change its width need it.
      tabIndex={canSort || heard ? undefined : 0}
      aria-sort={sorted === undefined ? undefined : sortNames[sorted]}
      onKeyDown={press}
    >
      {canSort ? (
        <button type="button" className="sort" onClick={() => column?.toggleSorting()}>
          {label}
          {sorted && <Icon name={sorted === 'desc' ? 'down' : 'up'} />}
        </button>
      ) : (
        label
      )}
      {!heard && (
        <span
          className="column-edge"
          aria-hidden="true"
          onPointerDown={drag}
          onDoubleClick={() => layout.resize(key, null)}
        />
      )}
    </div>
  );
}

function SelectAll<R extends RowData>({
  model,
  columns,
  isLabeled,
}: {
  readonly model: Model<R>;
  /** Visible columns. */
  readonly columns: readonly Column<R>[];
  /** The label is visible, because no column of checkboxes explains it. */
  readonly isLabeled: boolean;
}): JSX.Element {
  const all = model.getIsAllRowsSelected();
  const some = !all && model.getIsSomeRowsSelected();
  return (
    <div role="columnheader" {...(isLabeled ? { className: 'row' } : pinOfChecks(columns))}>
      <input
        type="checkbox"
        aria-label="Select all loaded rows"
        ref={(input) => {
          if (input) input.indeterminate = some;
        }}
        checked={all}
        onChange={() => model.toggleAllRowsSelected(!all, { deselectAll: true })}
      />
      {isLabeled && <span aria-hidden="true">All loaded rows</span>}
    </div>
  );
}
