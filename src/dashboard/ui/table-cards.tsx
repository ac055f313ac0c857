// Rows as cards, where a table has no room for its columns: on a telephone a row is its name, and under it the rest
// with their labels, in place of a table that is wider than the screen.
import type { RowData } from '@tanstack/react-table';
import { type JSX, type RefObject, useLayoutEffect, useState } from 'react';
import { Select } from './parts.tsx';
import type { Column, Model } from './table-model.ts';

/** Pixels; a wider place scrolls sideways instead. */
const widestCard = 560;

/** Whether the rows are cards: the columns need more than there is, and there is little. */
export function useCards(box: RefObject<HTMLElement | null>, needed: number): boolean {
  const [width, setWidth] = useState(Number.POSITIVE_INFINITY);
  useLayoutEffect(() => {
    const place = box.current;
    if (!place) return;
    setWidth(place.clientWidth);
    const observer = new ResizeObserver(() => setWidth(place.clientWidth));
    observer.observe(place);
    return () => observer.disconnect();
  }, [box]);
  return width < needed && width <= widestCard;
}

/** The order of cards, which have no heads to press. */
export function CardOrder<R extends RowData>({
  columns,
  model,
}: {
  readonly columns: readonly Column<R>[];
  readonly model: Model<R>;
}): JSX.Element {
  const [sorted] = model.state.sorting;
  const sortable = columns.filter(({ key }) => model.getColumn(key)?.getCanSort());
  return (
    <Select
      compact
      label="Order"
      value={sorted ? `${sorted.id} ${sorted.desc ? 'down' : 'up'}` : ''}
      options={[
        ['', 'Default order'],
        ...sortable.flatMap(({ key, label }) => [
          [`${key} up`, `${label}, ascending`] as const,
          [`${key} down`, `${label}, descending`] as const,
        ]),
      ]}
      onValue={(next) => {
        const at = next.lastIndexOf(' ');
        if (next === '') model.setSorting([]);
        else model.setSorting([{ id: next.slice(0, at), desc: next.endsWith(' down') }]);
      }}
    />
  );
}
