// A row of a table. It renders again if its data, the columns or its own state change: of a list that scrolls or
// reloads, only new rows render.
import { Link } from '@tanstack/react-router';
import type { RowData } from '@tanstack/react-table';
import { type JSX, type MouseEvent, memo, type ReactNode, type RefObject } from 'react';
import type { ThingLink } from '../lib/address.ts';
import { pinOfChecks } from './table-layout.ts';
import { type Column, type ModelRowOf, textOf } from './table-model.ts';

/** True while the focus is in a row of a table: rows that come now wait. */
export const isRowFocused = (): boolean => document.activeElement?.closest('[aria-rowindex]') != null;

export interface RowActs<R> {
  /** Called on a click on the row, on Space or Enter in its first cell, and on j and k. */
  readonly onOpen?: (row: R) => void;
  /** The page of a row: Enter in its first cell leads there. Depends on the row alone. */
  readonly linkOf?: (row: R) => ThingLink | undefined;
  /** Accessible addition to the first cell, if the cell does not identify the row. Depends on the row alone. */
  readonly nameOf?: (row: R) => string;
  /** Tone of the verdict, for the edge of the row. Depends on the row alone. */
  readonly toneOf?: (row: R) => string | undefined;
  /** Ticks the row; with Shift, all rows from the one with the latest tick. Absent: rows have no checkbox. */
  readonly onTick?: (id: string, on: boolean, withShift: boolean) => void;
}

interface CellsProps<R extends RowData> {
  readonly original: R;
  /** Visible columns. */
  readonly columns: readonly Column<R>[];
  readonly isCard: boolean;
  readonly cellRole: 'cell' | 'gridcell';
  readonly canOpen: boolean;
  /** The latest functions: a page makes new ones for each render. */
  readonly acts: RefObject<RowActs<R>>;
}

export interface RowProps<R extends RowData> extends Omit<CellsProps<R>, 'original' | 'isCard'> {
  readonly row: ModelRowOf<R>;
  /** Position in the table, from 0. */
  readonly index: number;
  readonly isChosen: boolean;
  /** Undefined: the row has no checkbox. */
  readonly isTicked: boolean | undefined;
  /** `grid-template-columns` */
  readonly template: string;
  /** Pixels. */
  readonly minHeight: number;
  /** Measures a card; null for a row of cells. */
  readonly measure: ((card: Element | null) => void) | null;
}

function PlainRow<R extends RowData>(props: RowProps<R>): JSX.Element {
  const { row, index, isChosen, isTicked, template, minHeight, measure, ...rest } = props;
  const { id, original } = row;
  const { acts, cellRole, canOpen } = rest;
  const tone = acts.current.toneOf?.(original);
  const place = measure
    ? { ref: measure, 'data-index': index }
    : { style: { gridTemplateColumns: template, minHeight } };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the button of the first cell opens it by keyboard
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-current={isChosen || undefined}
      className={`grid-row ${isChosen ? 'grid-chosen' : ''} ${canOpen ? 'grid-opens' : ''} ${tone ? `edge-${tone}` : ''}`}
      onClick={canOpen ? (event) => isPressOfRow(event) && acts.current.onOpen?.(original) : undefined}
      {...place}
    >
      {isTicked !== undefined && (
        <div role={cellRole} {...(measure ? {} : pinOfChecks(rest.columns))}>
          <input
            type="checkbox"
            aria-label={`Select ${id.slice(0, 80)}`}
            checked={isTicked}
            onChange={({ target, nativeEvent }) =>
              acts.current.onTick?.(id, target.checked, (nativeEvent as globalThis.MouseEvent).shiftKey)
            }
          />
        </div>
      )}
      <Cells {...rest} original={original} isCard={measure !== null} />
    </div>
  );
}

function PlainCells<R extends RowData>(props: CellsProps<R>): JSX.Element {
  const { original, columns, isCard, cellRole, acts, canOpen } = props;
  const { linkOf, nameOf } = acts.current;
  return (
    <>
      {columns.map((column, index) => (
        <div key={column.key} role={cellRole} {...placeOf(column, index, original, isCard)}>
          {index === 0 && (canOpen || linkOf) ? (
            <Opener row={original} acts={acts} link={linkOf?.(original)}>
              {column.cell(original)}
              {nameOf && <span className="heard">: {nameOf(original)}</span>}
            </Opener>
          ) : (
            column.cell(original)
          )}
        </div>
      ))}
    </>
  );
}

export const Row = memo(PlainRow) as typeof PlainRow;
/** Apart from the row: a row that moves keeps its cells. */
const Cells = memo(PlainCells) as typeof PlainCells;

/**
 * The content of a first cell: a link to the row's page, which a plain press opens as a peek; without a page a button.
 */
function Opener<R>({
  row,
  acts,
  link,
  children,
}: {
  readonly row: R;
  readonly acts: RefObject<RowActs<R>>;
  readonly link: ThingLink | undefined;
  readonly children: ReactNode;
}): JSX.Element {
  const open = (): void => acts.current.onOpen?.(row);
  if (link === undefined) {
    return (
      <button type="button" className="cell-link" onClick={open}>
        {children}
      </button>
    );
  }
  const press = (event: MouseEvent): void => {
    const isPlain = event.detail > 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey;
    if (!acts.current.onOpen || !isPlain) return;
    event.preventDefault();
    open();
  };
  return (
    <Link
      {...link}
      className="cell-link"
      onClick={press}
      onKeyDown={(event) => {
        if (event.key !== ' ' || !acts.current.onOpen) return;
        event.preventDefault();
        open();
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
  isCard: boolean,
): {
  readonly className: string;
  readonly 'data-label'?: string;
  readonly style?: { readonly left: number };
} {
  const { number, label, inCard, sort, left } = column;
  if (!isCard) {
    const className = number ? 'number' : '';
    return left === undefined ? { className } : { className: `${className} pinned`, style: { left } };
  }
  if (index === 0) return { className: 'card-name' };
  if (sort && textOf(column, row) === '') return { className: 'heard' };
  if (inCard === 'beside') return { className: 'card-beside' };
  return { className: 'card-value', ...(inCard === 'plain' || !sort ? {} : { 'data-label': label }) };
}
