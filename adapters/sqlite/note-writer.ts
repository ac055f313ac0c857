// Adds what events report to the audit chain, in the commit of its events. Runs on the writer. Notes of one tenant in a
// commit are one link.
import type { AuditNote } from '../../src/audit/record.ts';
import { appendRunNotes } from './audit.ts';
import type { Database } from './database.ts';
import { entryOf } from './usage/rows.ts';

/** Entries of one link, at most: a reader of the chain reads whole links. */
const maxEntries = 1000;

export class NoteWriter {
  readonly #db: Database;
  #added: AuditNote[] = [];

  constructor(db: Database) {
    this.#db = db;
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
        appendRunNotes(this.#db, notes.slice(from, from + maxEntries));
  }
}
