// Columns that most tables have: names, verdicts, environments, counts, times.
import { count } from '../lib/text.ts';
import { Env, Name, PreciseTime, Time, Verdict } from './parts.tsx';
import type { Column } from './table.tsx';

/** `of` reads the value of a row; a column is 1 wide by default. */
type Made<V> = <R>(key: string, label: string, of: (row: R) => V, width?: number) => Column<R>;

export const nameColumn: Made<string> = (key, label, of, width = 1) => ({
  key,
  label,
  width,
  sort: of,
  cell: (row) => <Name text={of(row) || '–'} />,
});

/** What people wrote for people, and their own names. */
export const proseColumn: Made<string> = (key, label, of, width = 1) => ({
  key,
  label,
  width,
  sort: of,
  cell: (row) => <Name mono={false} text={of(row) || '–'} />,
});

export const verdictColumn: Made<string> = (key, label, of, width = 1) => ({
  key,
  label,
  width,
  sort: of,
  cell: (row) => <Verdict of={of(row)} />,
  inCard: 'beside',
});

export const envColumn: Made<string> = (key, label, of, width = 1) => ({
  key,
  label,
  width,
  sort: of,
  cell: (row) => <Env of={of(row)} />,
  inCard: 'plain',
});

export const countColumn: Made<number> = (key, label, of, width = 1) => ({
  key,
  label,
  width,
  number: true,
  sort: of,
  cell: (row) => count(of(row)),
});

const instants =
  (Instant: typeof Time | typeof PreciseTime, usualWidth: number): Made<string> =>
  (key, label, of, width = usualWidth) => ({
    key,
    label,
    width,
    sort: (row) => Date.parse(of(row)),
    text: of,
    cell: (row) => <Instant at={of(row)} />,
  });

/** Instants as ISO 8601 texts, to the millisecond. */
export const instantColumn = instants(PreciseTime, 2);

/** Instants as ISO 8601 texts. */
export const timeColumn = instants(Time, 1);
