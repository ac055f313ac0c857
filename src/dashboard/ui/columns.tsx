// Columns that most tables share: names, verdicts, environments, counts, times.
import { count } from '../lib/text.ts';
import { Env, Name, PreciseTime, Time, Verdict } from './parts.tsx';
import type { Column } from './table.tsx';

/** @param of returns the value of a row @param width a share of the table's width; default 1 */
type ColumnFactory<V> = <R>(key: string, label: string, of: (row: R) => V, width?: number) => Column<R>;

export const nameColumn: ColumnFactory<string> = (key, label, of, width = 1) => ({
  key,
  label,
  width,
  sort: of,
  cell: (row) => <Name text={of(row) || '–'} />,
});

/** Prose and display names, in the proportional font. */
export const proseColumn: ColumnFactory<string> = (key, label, of, width = 1) => ({
  key,
  label,
  width,
  sort: of,
  cell: (row) => <Name mono={false} text={of(row) || '–'} />,
});

export const verdictColumn: ColumnFactory<string> = (key, label, of, width = 1) => ({
  key,
  label,
  width,
  sort: of,
  cell: (row) => <Verdict word={of(row)} />,
  inCard: 'beside',
});

export const envColumn: ColumnFactory<string> = (key, label, of, width = 1) => ({
  key,
  label,
  width,
  sort: of,
  cell: (row) => <Env name={of(row)} />,
  inCard: 'plain',
});

export const countColumn: ColumnFactory<number> = (key, label, of, width = 1) => ({
  key,
  label,
  width,
  number: true,
  sort: of,
  cell: (row) => count(of(row)),
});

const instants =
  (Instant: typeof Time | typeof PreciseTime, usualWidth: number): ColumnFactory<string> =>
  (key, label, of, width = usualWidth) => ({
    key,
    label,
    width,
    sort: (row) => Date.parse(of(row)),
    text: of,
    cell: (row) => <Instant at={of(row)} />,
  });

/** Absolute times with milliseconds, from ISO 8601 texts. */
export const instantColumn = instants(PreciseTime, 2);

/** Relative times, from ISO 8601 texts. */
export const timeColumn = instants(Time, 1);
