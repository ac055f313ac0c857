// Widths of a table's columns, and the columns that stay in sight while the table scrolls sideways. The browser
// remembers both.
import { useMemo, useState } from 'react';
import { changePrefs, usePrefs } from '../lib/prefs.ts';
import type { Column } from './table-model.ts';

/** Minimum width of a column with share 1, in pixels. */
const narrowest = 76;
/** Limits of a width that a person chooses, and the distance that an arrow key adds, in pixels. */
const [leastChosen, mostChosen] = [48, 1_200];
export const widthStep = 16;

export const checkWidth = 36;

/** Width of a bold letter, and of the rest of a header cell, in pixels. */
const [letter, padding] = [9.2, 22];

/** Minimum width that keeps the words of a column's header whole. */
function leastWidth({ label, width = 1 }: { readonly label: string; readonly width?: number }): number {
  const longest = Math.max(...label.split(' ').map((word) => word.length));
  return Math.round(Math.max(width * narrowest, longest * letter + padding));
}

type Widths = { readonly [column: string]: number };
const noWidths: Widths = {};
const nonePinned: readonly string[] = [];

/** A width within the limits. */
const widthsOf = (key: string, pixels: number | null): Widths =>
  pixels === null ? noWidths : { [key]: Math.round(Math.min(mostChosen, Math.max(leastChosen, pixels))) };

/** @param columns visible columns */
export function useLayout<R>(name: string, columns: readonly Column<R>[], hasChecks: boolean) {
  const { widths: stored, pinned: storedPins } = usePrefs();
  const [dragged, setDragged] = useState<Widths>(noWidths);
  const ownWidths = stored[name] ?? noWidths;
  const pins = storedPins[name] ?? nonePinned;
  const layout = useMemo(() => {
    const chosen = { ...ownWidths, ...dragged };
    // The first column names the row: it is in sight whenever another one is.
    const isPinned = ({ key }: Column<R>): boolean => pins.includes(key);
    const [first, ...others] = columns;
    const hasPins = columns.some(isPinned);
    const ordered =
      hasPins && first
        ? [first, ...others.filter(isPinned), ...others.filter((one) => !isPinned(one))]
        : columns;
    const widthOf = (column: Column<R>): number => chosen[column.key] ?? leastWidth(column);
    let left = hasChecks ? checkWidth : 0;
    const placed = ordered.map((column) => {
      if (!hasPins || !(column === first || isPinned(column))) return column;
      const pinned = { ...column, left };
      left += widthOf(column);
      return pinned;
    });
    const sizes = placed.map((column) =>
      column.left !== undefined || chosen[column.key] !== undefined
        ? `${widthOf(column)}px`
        : `minmax(${leastWidth(column)}px, ${column.width ?? 1}fr)`,
    );
    return {
      columns: hasPins ? placed : columns,
      minWidth: placed.reduce((sum, column) => sum + widthOf(column), hasChecks ? checkWidth : 0),
      /** `grid-template-columns` */
      template: [...(hasChecks ? [`${checkWidth}px`] : []), ...sizes].join(' '),
    };
  }, [columns, ownWidths, dragged, pins, hasChecks]);
  return {
    ...layout,
    /** Shows a width during a drag. @param pixels null: the drag is over */
    drag: (key: string, pixels: number | null): void => setDragged(widthsOf(key, pixels)),
    /** Stores a width. @param pixels null: the usual width */
    resize: (key: string, pixels: number | null): void => {
      changePrefs(({ widths }) => {
        const { [key]: _, ...others } = widths[name] ?? {};
        return { widths: { ...widths, [name]: { ...others, ...widthsOf(key, pixels) } } };
      });
    },
    isPinned: (key: string): boolean => pins.includes(key),
    pin: (key: string, isOn: boolean): void => {
      changePrefs(({ pinned }) => {
        const others = (pinned[name] ?? []).filter((one) => one !== key);
        return { pinned: { ...pinned, [name]: isOn ? [...others, key] : others } };
      });
    },
  };
}

/** Attributes of the checkbox before these columns: it stays in sight with them. */
export const pinOfChecks = <R>([first]: readonly Column<R>[]) =>
  first?.left === undefined ? {} : { className: 'pinned', style: { left: 0 } };

export type Layout = Pick<ReturnType<typeof useLayout>, 'resize' | 'drag' | 'isPinned' | 'pin'>;
