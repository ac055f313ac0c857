// Which hub a data folder belongs to: the file `hub.id` beside the database holds the mark that the database carries
// within. A database that was copied without its write-ahead log, or lost, would otherwise start as a hub without
// users. The first visitor would become its admin.
import { statSync } from 'node:fs';
import { HubError } from '../../src/shared/error.ts';
import type { Database } from './database.ts';

export interface HubIdFile {
  /** Null when there is none. */
  read(): string | null;
  /** Durable when it returns. */
  write(id: string): void;
}

/** Identity of a database, read from its tables. */
export interface Identity {
  /** Made with the database; 16 hexadecimal digits. */
  readonly id: string;
  /** True once the database holds users. */
  readonly isSetUp: boolean;
}

export const identityOf = (db: Database): Identity => ({
  id: String(db.get('SELECT mark FROM store')?.[0]),
  isSetUp: db.get('SELECT 1 FROM users LIMIT 1') !== undefined,
});

const lost = (path: string, what: string): HubError =>
  new HubError(
    'conflict',
    `${path} ${what}, but the file hub.id beside it belongs to a hub that was set up in this folder. The database was ` +
      'removed, or copied without its -wal file. Put it back or restore a back-up. To start a new hub, empty the folder.',
  );

/** @throws HubError('conflict') when a hub was set up in the folder and there is no database (any more) */
export function checkPresent(path: string, file: HubIdFile): void {
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes === 0 && file.read() !== null) throw lost(path, 'is missing or empty');
}

/**
 * Compares the database with the file, and writes the file where a hub that was set up has none yet.
 * @throws HubError('conflict') when they do not belong together
 */
export function checkIdentity(path: string, { id, isSetUp }: Identity, file: HubIdFile): void {
  const kept = file.read();
  if (kept === null) {
    if (isSetUp) file.write(id);
    return;
  }
  if (!isSetUp) throw lost(path, 'contains no users');
  if (kept === id) return;
  throw new HubError(
    'conflict',
    `${path} is the database of hub ${id}, but the file hub.id beside it contains ${kept}. Put back the database ` +
      'of this folder. To keep the new database instead, remove hub.id.',
  );
}
