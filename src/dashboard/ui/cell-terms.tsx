// The buttons + and − over the value under the pointer: the first narrows the query of the page to the value, the
// second leaves the value out. The keys + and - do the same. One pair of buttons serves all cells, because a pair in
// each would slow down the scrolling.
import type { RowData } from '@tanstack/react-table';
import { type JSX, type RefObject, useEffect, useEffectEvent, useRef, useState } from 'react';
import { visible } from '../lib/text.ts';
import { useKeys } from './keys.ts';
import { type Column, placeOfCell, textOf } from './table-model.ts';

/** Adds a value of a field of the query language to the query; `isNegated`: calls with the value are left out. */
export type AddTerm = (field: string, value: string, isNegated: boolean) => void;

/** After each, another cell is under the pointer, or none. */
const leavingEvents = ['pointerleave', 'scroll'] as const;

interface PointedValue {
  readonly field: string;
  readonly value: string;
  /** Of the cell in the scrolled content, in pixels. */
  readonly right: number;
  readonly top: number;
  readonly height: number;
}

export function CellTerms<R extends RowData>({
  box,
  rows,
  columns,
  onTerm,
  onTermHover,
}: {
  /** The element that scrolls. Its parts are placed by it. */
  readonly box: RefObject<HTMLElement | null>;
  readonly rows: readonly { readonly original: R }[];
  /** Visible columns, without that of the checkboxes. */
  readonly columns: readonly Column<R>[];
  readonly onTerm: AddTerm;
  /** Called with true while the pointer is over the buttons: rows that move now would exchange the value under it. */
  readonly onTermHover?: ((isOver: boolean) => void) | undefined;
}): JSX.Element | null {
  const [pointed, setPointed] = useState<PointedValue | null>(null);
  /** The value whose buttons are under the pointer. */
  const [overValue, setOverValue] = useState<PointedValue | null>(null);
  const isOver = pointed !== null && overValue === pointed;
  const buttons = useRef<HTMLDivElement>(null);
  const pointAt = useEffectEvent((cell: Element | null, table: HTMLElement): void =>
    setPointed(cell && pointedValue(cell, table, rows, columns)),
  );
  // Other rows may have come under the pointer.
  // biome-ignore lint/correctness/useExhaustiveDependencies: both say which value a cell has
  useEffect(() => setPointed(null), [rows, columns]);
  useEffect(() => {
    const table = box.current;
    if (!table) return;
    const point = ({ target, pointerType }: PointerEvent): void => {
      if (pointerType !== 'mouse' || buttons.current?.contains(target as Node)) return;
      pointAt(target instanceof Element ? target.closest('[role=gridcell]') : null, table);
    };
    const leave = (): void => setPointed(null);
    table.addEventListener('pointerover', point);
    for (const type of leavingEvents) table.addEventListener(type, leave);
    return () => {
      table.removeEventListener('pointerover', point);
      for (const type of leavingEvents) table.removeEventListener(type, leave);
    };
  }, [box]);
  useEffect(() => {
    if (!isOver) return;
    onTermHover?.(true);
    return () => onTermHover?.(false);
  }, [isOver, onTermHover]);
  const add = (isNegated: boolean) => (): void => {
    if (pointed) onTerm(pointed.field, pointed.value, isNegated);
  };
  useKeys(pointed ? { '+': add(false), '-': add(true) } : {});
  if (!pointed) return null;
  const { field, value, right, top, height } = pointed;
  const name = `${field} ${visible(value).slice(0, 80)}`;
  return (
    <div
      ref={buttons}
      className="cell-terms row"
      style={{ left: right, top, height }}
      onPointerEnter={() => setOverValue(pointed)}
      onPointerLeave={() => setOverValue(null)}
    >
      {(['Only', 'Without'] as const).map((word) => (
        <button
          key={word}
          type="button"
          tabIndex={-1}
          aria-label={`${word} ${name}`}
          title={`${word} these`}
          onClick={add(word === 'Without')}
        >
          {word === 'Only' ? '+' : '−'}
        </button>
      ))}
    </div>
  );
}

/** The value of a cell in the query language; null if its column has no field there, or the row no value. */
function pointedValue<R extends RowData>(
  cell: Element,
  table: HTMLElement,
  rows: readonly { readonly original: R }[],
  columns: readonly Column<R>[],
): PointedValue | null {
  const place = placeOfCell(cell, rows, columns);
  const value = place ? textOf(place.column, place.row) : '';
  if (place?.column.field === undefined || value === '' || place.column.hasTerm?.(place.row) === false)
    return null;
  const [inner, outer] = [cell.getBoundingClientRect(), table.getBoundingClientRect()];
  return {
    field: place.column.field,
    value,
    right: inner.right - outer.left + table.scrollLeft,
    top: inner.top - outer.top + table.scrollTop,
    height: inner.height,
  };
}
