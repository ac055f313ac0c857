// Ctrl-C (Cmd-C) in a table without a selection copies the cell under the pointer, else the focused cell. The copy has
// the complete text, even if the cell shows a part of it.
import type { RowData } from '@tanstack/react-table';
import { type RefObject, useEffect, useEffectEvent } from 'react';
import { middleCut, visible } from '../lib/text.ts';
import { isTyping } from './keys.ts';
import { say } from './messages.tsx';
import { type Column, placeOfCell, textOf } from './table-model.ts';

const cellOf = (target: EventTarget | null): Element | null =>
  target instanceof Element ? target.closest('[role$=cell]') : null;

/** @param columns visible columns */
export function useCopyCell<R extends RowData>(
  box: RefObject<HTMLElement | null>,
  rows: readonly { readonly original: R }[],
  columns: readonly Column<R>[],
): void {
  const textAt = useEffectEvent((cell: Element): string => {
    const place = placeOfCell(cell, rows, columns);
    return place ? textOf(place.column, place.row) : '';
  });
  useEffect(() => {
    const table = box.current;
    if (!table) return;
    let pointed: Element | null = null;
    const point = ({ target }: Event): void => {
      pointed = cellOf(target);
    };
    const leave = (): void => {
      pointed = null;
    };
    const copy = (event: ClipboardEvent): void => {
      const focused = document.activeElement;
      const cell = pointed ?? (table.contains(focused) ? cellOf(focused) : null);
      if (!cell?.isConnected || getSelection()?.isCollapsed === false || isTyping(event)) return;
      const text = textAt(cell);
      if (text === '') return;
      event.preventDefault();
      event.clipboardData?.setData('text/plain', text);
      say(`Copied: ${middleCut(visible(text), 80)}`);
    };
    table.addEventListener('pointerover', point);
    table.addEventListener('pointerleave', leave);
    document.addEventListener('copy', copy);
    return () => {
      table.removeEventListener('pointerover', point);
      table.removeEventListener('pointerleave', leave);
      document.removeEventListener('copy', copy);
    };
  }, [box]);
}
