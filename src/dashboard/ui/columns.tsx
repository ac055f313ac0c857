// Columns that most tables share: names, verdicts, environments, counts, times.
import type { ReactNode } from 'react';
import { count } from '../lib/text.ts';
import { Data, Env, Line, Name, PreciseTime, Time, Verdict } from './parts.tsx';
import type { Column } from './table.tsx';

type Of<V> = <R>(of: (row: R) => V) => Omit<Column<R>, 'key' | 'label' | 'width'>;

/** @param of returns the value of a row @param width a share of the table's width; default 1 */
type ColumnFactory<V> = <R>(key: string, label: string, of: (row: R) => V, width?: number) => Column<R>;

const factory =
  <V,>(parts: Of<V>, usualWidth = 1): ColumnFactory<V> =>
  (key, label, of, width = usualWidth) => ({ key, label, width, ...parts(of) });

/** In place of a value that a row does not have. */
export const none = <span className="muted">–</span>;

/** @param show displays the text; empty: the row has none */
const textual = (show: (text: string) => ReactNode): ColumnFactory<string | null> =>
  factory<string | null>((of) => ({ sort: (row) => of(row) ?? '', cell: (row) => show(of(row) ?? '') }));

export const nameColumn = textual((text) => <Name text={text || '–'} />);

/** Arguments and other data whose beginning matters. */
export const lineColumn = textual((text) => <Line mono text={text || '–'} />);

/** Prose and display names, in the proportional font. */
export const proseColumn = textual((text) => <Line text={text || '–'} />);

/** Words of the console itself. */
export const wordColumn = textual((text) => text || none);

/** Names that a row may lack. @param word in place of a name @param mono false for display names */
export const nameOrColumn = (word: string, mono = true): ColumnFactory<string | null> =>
  textual((text) => {
    if (!text) return <span className="muted">{word}</span>;
    return mono ? <Name text={text} /> : <Line text={text} />;
  });

/** Prose that may be long. @param max characters in the cell */
export const textColumn = (max: number): ColumnFactory<string | null> =>
  textual((text) => <Data text={text || '–'} max={max} mono={false} />);

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

const timed = (show: (at: string | null) => ReactNode): ColumnFactory<string | null> =>
  factory<string | null>((of) => ({
    sort: (row) => Date.parse(of(row) ?? '') || 0,
    text: (row) => of(row) ?? '',
    cell: (row) => show(of(row)),
  }));

/** Relative times, from ISO 8601 texts; null: never. */
export const timeColumn = timed((at) => <Time at={at} />);

/** Times that a row may lack: nothing is due, or nothing began. */
export const dueColumn = timed((at) => (at === null ? none : <Time at={at} />));
