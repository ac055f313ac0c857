// Columns that most tables share: names, verdicts, environments, counts, times.
import { count } from '../lib/text.ts';
import { Data, Env, Name, PreciseTime, Time, Verdict } from './parts.tsx';
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

/** Names that a row may lack. @param word in place of a name @param mono false for display names */
export const nameOrColumn = (word: string, mono = true): ColumnFactory<string | null> =>
  factory<string | null>((of) => ({
    sort: (row) => of(row) ?? '',
    cell: (row) => {
      const text = of(row);
      return text ? <Name text={text} mono={mono} /> : <span className="muted">{word}</span>;
    },
  }));

/** Prose that may be long. @param max characters in the cell */
export const textColumn = (max: number): ColumnFactory<string | null> =>
  factory<string | null>((of) => ({
    sort: (row) => of(row) ?? '',
    cell: (row) => <Data text={of(row) || '–'} max={max} mono={false} />,
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

/** @param word in place of an empty list */
export const envsColumn = (word: string): ColumnFactory<readonly string[]> =>
  factory<readonly string[]>((of) => ({
    sort: (row) => of(row).join(', '),
    cell: (row) =>
      of(row).length === 0 ? (
        <span className="muted">{word}</span>
      ) : (
        of(row).map((env) => <Env key={env} name={env} />)
      ),
  }));

export const numberColumn = (written: (value: number) => string): ColumnFactory<number | null> =>
  factory<number | null>((of) => ({
    number: true,
    sort: (row) => of(row) ?? -1,
    cell: (row) => {
      const value = of(row);
      return value === null ? '–' : written(value);
    },
  }));

export const countColumn = numberColumn(count);
export const versionColumn = numberColumn((version) => `v${version}`);

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

/** Times that a row may lack: nothing is due, or nothing began. */
export const dueColumn = factory<string | null>((of) => ({
  sort: (row) => Date.parse(of(row) ?? '') || 0,
  text: (row) => of(row) ?? '',
  cell: (row) => (of(row) === null ? none : <Time at={of(row)} />),
}));
