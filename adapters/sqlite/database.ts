// One SQLite connection: prepared statements, checked parameters, texts that survive, nested transactions. Knows no
// table.
import Libsql from 'libsql';
import { isWellFormed } from '../../src/shared/ids.ts';

export type SqlValue = string | number | null | Uint8Array;
export type Row = readonly unknown[];

interface Statement {
  run(params: readonly SqlValue[]): { changes: number; lastInsertRowid: number | bigint };
  get(params: readonly SqlValue[]): Row | undefined;
  all(params: readonly SqlValue[]): Row[];
}

const mark = '\u0001';

/**
 * The text as it is stored. SQLite's C strings end at NUL, and UTF-8 has no lone surrogate. Texts with either, and
 * texts that look like their stored form, are kept as marked JSON. Different texts stay different.
 */
export const storedText = (text: string): string =>
  text.includes('\0') || text.startsWith(mark) || !isWellFormed(text) ? mark + JSON.stringify(text) : text;

/** The text that `storedText` was given. */
export const givenText = (text: string): string =>
  text.startsWith(mark) ? (JSON.parse(text.slice(1)) as string) : text;

/** The binding aborts the process at a boolean and stores undefined as null: neither may reach it. */
function bindable(value: SqlValue): SqlValue {
  if (typeof value === 'string') return storedText(value);
  if (typeof value === 'number' || value === null || value instanceof Uint8Array) return value;
  throw new TypeError(`a ${typeof value} cannot be stored`);
}

/**
 * An error within a savepoint that ended the whole transaction, as a full disk does: nothing may be done in it any
 * more.
 */
export class TransactionLost extends Error {
  constructor(cause: unknown) {
    super('the transaction was ended', { cause });
  }
}

/** How long a statement waits for another connection; the default. */
export const busyMs = 5000;

export class Database {
  readonly #raw: Libsql.Database;
  readonly #statements = new Map<string, Statement>();
  readonly #undo: (() => void)[] = [];
  #depth = 0;

  /** @param timeout milliseconds that a statement waits for another connection */
  constructor(path: string, timeout = busyMs) {
    this.#raw = new Libsql(path, { timeout });
  }

  #prepare(sql: string): Statement {
    const prepared = this.#statements.get(sql);
    if (prepared) return prepared;
    const statement = this.#raw.prepare(sql);
    const wrapped = (statement.reader ? statement.raw() : statement) as unknown as Statement;
    this.#statements.set(sql, wrapped);
    return wrapped;
  }

  /** Runs statements without parameters. */
  exec(sql: string): void {
    this.#raw.exec(sql);
  }

  /** Runs one statement; returns how many rows it changed. */
  run(sql: string, params: readonly SqlValue[] = []): number {
    return this.#prepare(sql).run(params.map(bindable)).changes;
  }

  /** Runs one INSERT; returns the row id. */
  insert(sql: string, params: readonly SqlValue[]): number {
    return Number(this.#prepare(sql).run(params.map(bindable)).lastInsertRowid);
  }

  /** The first row as an array in column order. */
  get(sql: string, params: readonly SqlValue[] = []): Row | undefined {
    return this.#prepare(sql).get(params.map(bindable));
  }

  all(sql: string, params: readonly SqlValue[] = []): Row[] {
    return this.#prepare(sql).all(params.map(bindable));
  }

  /** Runs reads that see one state of the file. */
  snapshot<T>(task: () => T): T {
    if (this.#depth > 0 || this.#raw.inTransaction) return task();
    this.exec('BEGIN');
    try {
      return task();
    } finally {
      // A failing disk may have ended it.
      if (this.#raw.inTransaction) this.exec('COMMIT');
    }
  }

  /**
   * Runs `task` in a transaction, or in a savepoint when one is open: all of it is written, or nothing.
   * @throws what `task` throws; in a savepoint a TransactionLost, which must reach the transaction
   */
  atomically<T>(task: () => T): T {
    const [begin, end, undo] =
      this.#depth === 0
        ? ['BEGIN IMMEDIATE', 'COMMIT', 'ROLLBACK']
        : [
            `SAVEPOINT s${this.#depth}`,
            `RELEASE s${this.#depth}`,
            `ROLLBACK TO s${this.#depth}; RELEASE s${this.#depth}`,
          ];
    this.exec(begin);
    const done = this.#undo.length;
    this.#depth++;
    try {
      const result = task();
      this.exec(end);
      return result;
    } catch (error) {
      // A full disk ends the transaction by itself; nothing is left to roll back then.
      const isOpen = this.#raw.inTransaction;
      if (isOpen) this.exec(undo);
      while (this.#undo.length > done) this.#undo.pop()?.();
      const lost = error instanceof TransactionLost;
      if (this.#depth === 1) throw lost ? error.cause : error;
      throw isOpen || lost ? error : new TransactionLost(error);
    } finally {
      this.#depth--;
      if (this.#depth === 0) this.#undo.length = 0;
    }
  }

  /** Runs `task` if what is being written now is rolled back: for what is kept in memory beside the file. */
  onUndo(task: () => void): void {
    if (this.#depth > 0) this.#undo.push(task);
  }

  close(): void {
    this.#statements.clear();
    this.#raw.close();
  }
}
