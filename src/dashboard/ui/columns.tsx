// Columns that most tables share: names, verdicts, environments, counts, times.
import { count } from '../lib/text.ts';
import { Env, Name, PreciseTime, Time, Verdict } from './parts.tsx';
import type { Column } from './table.tsx';

type Of<V> = <R>(of: (row: R) => V) => Omit<Column<R>, 'key' | 'label' | 'width'>;

/** @param of returns the value of a row @param width a share of the table's width; default 1 */
type ColumnFactory<V> = <R>(key: string, label: string, of: (row: R) => V, width?: number) => Column<R>;

const factory =
  <V,>(parts: Of<V>, usualWidth = 1): ColumnFactory<V> =>
  (key, label, of, width = usualWidth) => ({ key, label, width, ...parts(of) });

/** In place of a value that a row does not have. */
export const none = <span className="muted">–</span>;

export const nameColumn = factory<string | null>((of) => ({
  sort: (row) => of(row) ?? '',
  cell: (row) => <Name text={of(row) || '–'} />,
}));

/** Prose and display names, in the proportional font. */
export const proseColumn = factory<string | null>((of) => ({
  sort: (row) => of(row) ?? '',
  cell: (row) => <Name mono={false} text={of(row) || '–'} />,
}));

/** Words of the console itself. */
export const wordColumn = factory<string | null>((of) => ({
  sort: (row) => of(row) ?? '',
  cell: (row) => of(row) || none,
}));

export const tagColumn = factory<string>((of) => ({
  sort: of,
  cell: (row) => <span className="tag">{of(row)}</span>,
}));

export const verdictColumn = factory<string>((of) => ({
  sort: of,
  cell: (row) => <Verdict word={of(row)} />,
  inCard: 'beside',
}));

export const envColumn = factory<string | null>((of) => ({
  sort: (row) => of(row) ?? '',
  cell: (row) => {
    const env = of(row);
    return env === null ? none : <Env name={env} />;
  },
  inCard: 'plain',
}));

const numbers = (written: (value: number) => string) =>
  factory<number | null>((of) => ({
    number: true,
    sort: (row) => of(row) ?? -1,
    cell: (row) => {
      const value = of(row);
      return value === null ? '–' : written(value);
    },
  }));

export const countColumn = numbers(count);
export const versionColumn = numbers((version) => `v${version}`);

/** Absolute times with milliseconds, from ISO 8601 texts. */
export const instantColumn = factory<string>(
  (of) => ({ sort: (row) => Date.parse(of(row)), text: of, cell: (row) => <PreciseTime at={of(row)} /> }),
  2,
);

/** Relative times, from ISO 8601 texts; null: never. */
export const timeColumn = factory<string | null>((of) => ({
  sort: (row) => Date.parse(of(row) ?? '') || 0,
  text: (row) => of(row) ?? '',
  cell: (row) => <Time at={of(row)} />,
}));
