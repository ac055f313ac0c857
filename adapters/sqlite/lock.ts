// One process per store: a lock on a file beside it, which the system releases when the process ends, however it ends.
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { HubError } from '../../src/shared/error.ts';
import { Database } from './database.ts';
import { openingError, troubleOf } from './trouble.ts';

/**
 * Makes the file, and its folder when missing, readable by its owner alone; SQLite gives its companions the same mode.
 */
export function createPrivate(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
}

function openPrivate(path: string): Database {
  try {
    createPrivate(path);
    return new Database(path, 0);
  } catch (error) {
    throw openingError(error, path);
  }
}

/**
 * Holds the store until released.
 * @throws HubError('conflict') when another holds it; another HubError in one line when the lock cannot be made
 */
export function lockStore(path: string): { release(): void } {
  const lockPath = `${path}.lock`;
  const db = openPrivate(lockPath);
  try {
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (troubleOf(error) !== 'locked') throw openingError(error, lockPath);
    throw new HubError(
      'conflict',
      `Another process uses the store ${path}. Stop it first: only one process can open the store.`,
    );
  }
  return {
    release: () => {
      db.exec('ROLLBACK');
      db.close();
    },
  };
}
