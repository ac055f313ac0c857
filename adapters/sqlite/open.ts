// Opens the store's file: checks that it is ours, then brings settings and tables up to date. The error of a failed
// opening has one line.
import { Database } from './database.ts';
import { checkOurs, configure, migrate, type Tuning } from './schema/index.ts';
import { openingError } from './trouble.ts';

/** Opens the file and brings it to the newest version. @throws HubError in one line with the remedy */
export function openFile(path: string, tuning: Tuning): Database {
  try {
    const db = new Database(path);
    checkOurs(db, path);
    configure(db, tuning);
    migrate(db);
    return db;
  } catch (error) {
    throw openingError(error, path);
  }
}
