// Maps records of the domain to rows of one table: column names, and how each field is written and read. No query
// language.
import type { Env, EnvFilter } from '../../src/shared/ids.ts';
import type { RecordColumn, RecordStorage } from '../../src/shared/record.ts';
import type { JsonForm } from '../../src/shared/record-fields.ts';
import { givenText, type Row, type SqlValue } from './database.ts';

export interface Column<T> {
  readonly name: string;
  write(value: T): SqlValue;
  read(value: unknown): T;
}

const same = <T extends SqlValue>(name: string): Column<T> => ({
  name,
  write: (value) => value,
  read: (value) => (typeof value === 'string' ? (givenText(value) as T) : (value as T)),
});

/** A text, or null. */
export const text = <T extends string | null = string>(name: string): Column<T> => same<T>(name);
/** A number, or null. */
export const number = <T extends number | null = number>(name: string): Column<T> => same<T>(name);
/** A boolean, kept as 0 or 1. */
export const flag = (name: string): Column<boolean> => ({
  name,
  write: (value) => (value ? 1 : 0),
  read: (value) => value === 1,
});
/** A boolean, kept as 0 or 1, or null. */
export const flagOrNull = (name: string): Column<boolean | null> => ({
  name,
  write: (value) => (value === null ? null : Number(value)),
  read: (value) => (value === null ? null : value === 1),
});
/** A value kept as JSON text, in its stored form where it has one; null is NULL. */
export const json = <T>(name: string, form: JsonForm | null = null): Column<T> => ({
  name,
  write: (value) => (value === null ? null : JSON.stringify(form ? form.toJson(value) : value)),
  read(value) {
    if (typeof value !== 'string') return null as T;
    const stored: unknown = JSON.parse(value);
    return (form ? form.fromJson(stored) : stored) as T;
  },
});

/**
 * A filter of environments as a parameter: NULL for all, else their names. `inEnvs` compares with it.
 */
export const envsParameter = (filter: EnvFilter): string | null =>
  filter === null || typeof filter === 'string' ? filter : filter.join(' ');
/** The comparison with a filter that is not null. */
export const envTest = (filter: Env | readonly Env[], column = 'env', parameter = '?'): string =>
  typeof filter === 'string' ? `${column} = ${parameter}` : `instr(${parameter}, ${column}) > 0`;

/** A condition on the environment that follows others, and its parameter. */
export const envClause = (
  filter: EnvFilter,
  column = 'env',
  parameter = '?',
): { readonly sql: string; readonly params: readonly string[] } => {
  const text = envsParameter(filter);
  if (filter === null || text === null) return { sql: '', params: [] };
  return { sql: `AND ${envTest(filter, column, parameter)}`, params: [text] };
};

/** No environment's name is a part of another's. */
export const inEnvs = (parameter: string, column: string): string =>
  `(${parameter} IS NULL OR instr(${parameter}, ${column}) > 0)`;

type Columns<T> = { readonly [K in keyof T]-?: Column<T[K]> };

export interface Table<T> {
  /** For SELECT and RETURNING; `read` expects exactly these. */
  readonly columns: string;
  /** The statement that adds a record, without ending; append a conflict clause or RETURNING. */
  readonly insert: string;
  values(record: T): SqlValue[];
  /** For UPDATE: the assignments of some fields, and their values. */
  change(fields: Partial<T>): { readonly assignments: string; readonly values: readonly SqlValue[] };
  read(row: Row): T;
  /** `null` for no row. */
  maybe(row: Row | undefined): T | null;
}

/** @param columns one for each field of the record, so that the compiler notices one that is missing */
export function table<T>(name: string, columns: Columns<T>): Table<T> {
  const fields = Object.keys(columns) as (keyof T & string)[];
  const names = fields.map((field) => columns[field].name).join(', ');
  const read = (row: Row): T => {
    const record: Partial<T> = {};
    fields.forEach((field, i) => {
      record[field] = columns[field].read(row[i]);
    });
    return record as T;
  };
  return {
    columns: names,
    insert: `INSERT INTO ${name} (${names}) VALUES (${fields.map(() => '?').join(', ')})`,
    values: (record) => fields.map((field) => columns[field].write(record[field])),
    change(some) {
      const changes = fields.filter((field) => some[field] !== undefined);
      return {
        assignments: changes.map((field) => `${columns[field].name} = ?`).join(', '),
        values: changes.map((field) => columns[field].write(some[field] as T[typeof field])),
      };
    },
    read,
    maybe: (row) => (row ? read(row) : null),
  };
}

const columnOf: { readonly [S in RecordStorage]: (column: RecordColumn) => Column<never> } = {
  text: ({ name }) => text<never>(name),
  number: ({ name }) => number<never>(name),
  flag: ({ name }) => flag(name) as Column<never>,
  flagOrNull: ({ name }) => flagOrNull(name) as Column<never>,
  json: ({ name, form }) => json<never>(name, form),
};

/**
 * The table of a declared record.
 * @param own columns that are the table's own, after those of the record
 */
export function tableOf<T, O extends object = Record<never, never>>(
  { name, columns }: { readonly name: string; readonly columns: readonly RecordColumn[] },
  own: Columns<O> = {} as Columns<O>,
): Table<T & O> {
  const declared = columns.map((column) => [column.field, columnOf[column.storage](column)]);
  return table<T & O>(name, { ...Object.fromEntries(declared), ...own } as Columns<T & O>);
}
