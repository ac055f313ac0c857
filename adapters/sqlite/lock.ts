// One process per store: a lock on a file beside it, which the system releases when the process ends, however it ends.
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { HubError } from '../../src/domain/error.ts';
import { Database } from './database.ts';

/** Makes the file, and its folder when missing, readable by its owner alone; SQLite gives its companions the same mode. */
export function createPrivate(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
}

/**
 * Holds the store until released.
 * @throws HubError('conflict') when another holds it
 */
export function lockStore(path: string): { release(): void } {
  const lockPath = `${path}.lock`;
  createPrivate(lockPath);
  const db = new Database(lockPath, 0);
  try {
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (!String(error).includes('locked')) throw error;
    throw new HubError(
      'conflict',
      `The store ${path} is in use by another process; one process at a time may open it.`,
    );
  }
  return {
    release: () => {
      db.exec('ROLLBACK');
      db.close();
    },
  };
}
