// Adds what events report to the audit chain, in the commit of its events. Runs on the writer. Notes of one tenant in a
// commit are one link. The rows that find its entries are gathered and written later; a start writes what is missing.
import type { AuditNote } from '../../src/audit/record.ts';
import { appendRunNotes, type EntryRow, indexAllLinks, indexEntries } from './audit.ts';
import type { Database } from './database.ts';
import { entryOf } from './usage/rows.ts';

/** Entries of one link, at most: a reader of the chain reads whole links. */
const maxEntries = 1000;

export class NoteWriter {
  readonly #db: Database;
  #added: AuditNote[] = [];
  #entries: EntryRow[] = [];

  constructor(db: Database) {
    this.#db = db;
  }

  /** Entries that are in the chain and not found yet. */
  get size(): number {
    return this.#entries.length;
  }

  /** Makes entries found that a crash kept from it. Once, before anything else. */
  load(): void {
    indexAllLinks(this.#db);
  }

  add(notes: readonly AuditNote[]): void {
    if (notes.length === 0) return;
    const count = this.#added.length;
    this.#added.push(...notes);
    this.#db.onUndo(() => {
      this.#added.length = Math.min(this.#added.length, count);
    });
  }

  /** Writes the notes of this transaction. To be called in it, after its other writes. */
  flush(): void {
    if (this.#added.length === 0) return;
    const byTenant = new Map<string, AuditNote[]>();
    for (const note of this.#added) entryOf(byTenant, note.tenantId, () => []).push(note);
    this.#added = [];
    for (const notes of byTenant.values())
      for (let from = 0; from < notes.length; from += maxEntries)
        this.#gather(appendRunNotes(this.#db, notes.slice(from, from + maxEntries)));
  }

  #gather(rows: readonly EntryRow[]): void {
    const count = this.#entries.length;
    this.#entries.push(...rows);
    this.#db.onUndo(() => {
      this.#entries.length = Math.min(this.#entries.length, count);
    });
  }

  /** Makes all entries found. To be called in a transaction, after `flush`. */
  flushEntries(): void {
    const gathered = this.#entries;
    if (gathered.length === 0) return;
    this.#entries = [];
    this.#db.onUndo(() => {
      this.#entries = gathered;
    });
    indexEntries(this.#db, gathered);
  }
}
