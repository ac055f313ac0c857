// Tables: sorted by a press on a head, columns to choose and remembered, rows by keyboard, only the visible ones drawn,
// CSV of what is shown.
import { Menu } from '@base-ui/react/menu';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type JSX, type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { changePrefs, usePrefs } from '../lib/prefs.ts';
import { download } from './download.ts';
import { Icon } from './icons.tsx';
import { useStepKeys } from './overlay.tsx';
import './table.css';

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
}

export interface TableProps<R> {
  /** What it lists, in the plural: also the name under which its columns are remembered. */
  readonly name: string;
  readonly rows: readonly R[];
  readonly columns: readonly Column<R>[];
  readonly keyOf: (row: R) => string;
  /** A press on the first cell, Enter, or j and k. */
  readonly onOpen?: (row: R) => void;
  readonly chosen?: string | undefined;
  readonly selected?: ReadonlySet<string>;
  readonly onSelect?: (selected: ReadonlySet<string>) => void;
  /** More rows are wanted: the last ones came into view, or they are sorted. Called again until it brings no more. */
  readonly onEnd?: () => void;
  /** Stands in the bar above, before the choice of columns. */
  readonly bar?: ReactNode;
}

/** `agent-9` before `agent-10`. Much faster than comparing by locale each time. */
const words = new Intl.Collator('en', { numeric: true });

/** Rows that are read ahead so that a sort is of all of them. */
const maxSorted = 10_000;

/** Pixels that a column of width 1 has at least. */
const narrowest = 76;

export function Table<R>(props: TableProps<R>): JSX.Element {
  const { name, rows, columns, keyOf, onOpen, chosen, selected, onSelect, onEnd, bar } = props;
  const { hidden, compact } = usePrefs();
  const [order, setOrder] = useState<{ readonly key: string; readonly down: boolean } | null>(null);
  const off = hidden[name] ?? [];
  const shown = columns.filter(({ key }, index) => index === 0 || !off.includes(key));
  const sorted = useMemo(() => {
    const by = columns.find(({ key }) => key === order?.key)?.sort;
    if (!by || !order) return rows;
    const way = order.down ? -1 : 1;
    return [...rows].sort((a, b) => {
      const [x, y] = [by(a), by(b)];
      return (
        way * (typeof x === 'number' && typeof y === 'number' ? x - y : words.compare(String(x), String(y)))
      );
    });
  }, [rows, columns, order]);
  const box = useRef<HTMLDivElement>(null);
  const rowHeight = compact ? 32 : 40;
  const virtual = useVirtualizer({
    count: sorted.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 10,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    const isNearEnd = sorted.length > 0 && last >= sorted.length - 5;
    // A sort of what happens to be loaded would be a lie: the rest is read, page after page.
    if (isNearEnd || (order !== null && sorted.length < maxSorted)) onEnd?.();
  }, [last, sorted.length, onEnd, order]);
  const at = chosen === undefined ? -1 : sorted.findIndex((row) => keyOf(row) === chosen);
  const step = (row: R): void => {
    onOpen?.(row);
    virtual.scrollToIndex(sorted.indexOf(row));
  };
  useStepKeys(sorted, at, onOpen && step);
  const before = items[0]?.start ?? 0;
  const after = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  const grid = [
    ...(onSelect ? ['36px'] : []),
    ...shown.map(({ width = 1 }) => `minmax(${Math.round(width * narrowest)}px, ${width}fr)`),
  ].join(' ');
  const minWidth = shown.reduce((sum, { width = 1 }) => sum + width * narrowest, onSelect ? 36 : 0);
  return (
    <div className="data-table">
      <div className="table-bar">
        {bar}
        <span className="grow" />
        <TableMenu {...props} rows={sorted} shown={shown} off={off} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it */}
      <div ref={box} className="table-scroll" tabIndex={0} role="region" aria-label={name}>
        <div
          role="table"
          aria-label={name}
          aria-rowcount={sorted.length + 1}
          className="grid-table"
          style={{ minWidth }}
        >
          <div role="rowgroup" className="grid-head">
            <div role="row" className="grid-row" style={{ gridTemplateColumns: grid }}>
              {onSelect && <SelectAll {...props} onSelect={onSelect} />}
              {shown.map(({ key, label, sort, number }) => (
                <div
                  key={key}
                  role="columnheader"
                  className={number ? 'number' : ''}
                  aria-sort={order?.key === key ? (order.down ? 'descending' : 'ascending') : undefined}
                >
                  {sort ? (
                    <button
                      type="button"
                      className="sort"
                      onClick={() =>
                        setOrder(
                          order?.key === key
                            ? order.down
                              ? null
                              : { key, down: true }
                            : { key, down: false },
                        )
                      }
                    >
                      {label}
                      {order?.key === key && <Icon name={order.down ? 'down' : 'up'} />}
                    </button>
                  ) : (
                    label
                  )}
                </div>
              ))}
            </div>
          </div>
          <div role="rowgroup" style={{ paddingTop: before, paddingBottom: Math.max(0, after) }}>
            {items.map((item) => {
              const row = sorted[item.index];
              if (row === undefined) return null;
              const id = keyOf(row);
              return (
                <div
                  key={id}
                  role="row"
                  aria-rowindex={item.index + 2}
                  className={`grid-row ${id === chosen ? 'grid-chosen' : ''}`}
                  style={{ gridTemplateColumns: grid, minHeight: rowHeight }}
                >
                  {onSelect && (
                    <div role="cell">
                      <input
                        type="checkbox"
                        aria-label={`Select ${id.slice(0, 80)}`}
                        checked={selected?.has(id) ?? false}
                        onChange={() => onSelect(toggled(selected, id))}
                      />
                    </div>
                  )}
                  {shown.map(({ key, cell, number }, index) => (
                    <div key={key} role="cell" className={number ? 'number' : ''}>
                      {index === 0 && onOpen ? (
                        <button type="button" className="cell-link" onClick={() => onOpen(row)}>
                          {cell(row)}
                        </button>
                      ) : (
                        cell(row)
                      )}
                    </div>
                  ))}
                </div>
              );
            })}
          </div>
        </div>
      </div>
    </div>
  );
}

function toggled(before: ReadonlySet<string> | undefined, id: string): ReadonlySet<string> {
  const after = new Set(before);
  if (!after.delete(id)) after.add(id);
  return after;
}

function SelectAll<R>({
  rows,
  keyOf,
  selected,
  onSelect,
}: TableProps<R> & { readonly onSelect: (all: ReadonlySet<string>) => void }): JSX.Element {
  const all = rows.length > 0 && rows.every((row) => selected?.has(keyOf(row)));
  return (
    <div role="columnheader">
      <input
        type="checkbox"
        aria-label="Select all that are loaded"
        checked={all}
        onChange={() => onSelect(all ? new Set() : new Set(rows.map(keyOf)))}
      />
    </div>
  );
}

function TableMenu<R>({
  name,
  rows,
  columns,
  shown,
  off,
}: TableProps<R> & { readonly shown: readonly Column<R>[]; readonly off: readonly string[] }): JSX.Element {
  const { hidden } = usePrefs();
  const csv = (): void => {
    const quote = (text: string): string => {
      // A cell that begins like a formula would be run by a spreadsheet.
      const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
      return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    };
    const textOf = ({ text, sort }: Column<R>, row: R): string => text?.(row) ?? String(sort?.(row) ?? '');
    const lines = [
      shown.map(({ label }) => quote(label)),
      ...rows.map((row) => shown.map((column) => quote(textOf(column, row)))),
    ];
    download(`${name}.csv`, 'text/csv', lines.map((line) => line.join(',')).join('\n'));
  };
  return (
    <Menu.Root>
      <Menu.Trigger className="button button-quiet" aria-label={`Columns of ${name}`}>
        <Icon name="columns" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner className="menu-place" align="end" sideOffset={4}>
          <Menu.Popup className="menu">
            {columns.slice(1).map(({ key, label }) => (
              <Menu.CheckboxItem
                key={key}
                className="menu-item"
                closeOnClick={false}
                checked={!off.includes(key)}
                onCheckedChange={(on) =>
                  changePrefs({
                    hidden: { ...hidden, [name]: on ? off.filter((one) => one !== key) : [...off, key] },
                  })
                }
              >
                <span className="menu-tick">
                  <Menu.CheckboxItemIndicator>
                    <Icon name="check" />
                  </Menu.CheckboxItemIndicator>
                </span>
                {label}
              </Menu.CheckboxItem>
            ))}
            <Menu.Separator className="menu-line" />
            <Menu.Item className="menu-item" onClick={csv}>
              <span className="menu-tick">
                <Icon name="download" />
              </span>
              CSV of what is shown
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
