// Rows as cards, for tables that are wider than a phone's screen: the name of the row, then the other values with their
// labels.
import type { RowData } from '@tanstack/react-table';
import { type JSX, type RefObject, useLayoutEffect, useState } from 'react';
import { Select } from './form.tsx';
import type { Column, Model } from './table-model.ts';

/** Pixels. In more width than this, a table scrolls sideways instead. */
const widestCard = 560;

/** True if the columns do not fit and the width is small. */
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

/** The sort order of cards, which have no column headers. */
export function CardOrder<R extends RowData>({
  columns,
  model,
}: Readonly<{ columns: readonly Column<R>[]; model: Model<R> }>): JSX.Element {
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
