// Looks into a database that a hub may be using, without changing it.
import type { Channel } from '../../src/notification/record.ts';
import { channels } from './channels.ts';
import { type Facts, inspect } from './copy.ts';
import { Database } from './database.ts';
import { checkVital } from './schema/index.ts';
import { openingError } from './trouble.ts';

/**
 * Looks at the tables that every request needs, while a hub may use the database.
 * @throws HubError in one line when they are damaged, not ours, or of a newer version
 */
export function inspectDatabase(path: string): Facts {
  try {
    const facts = inspect(path, false);
    reading(path, (db) => checkVital(db));
    return facts;
  } catch (error) {
    throw openingError(error, path);
  }
}

/** Channels of all tenants that are on. */
export const enabledChannels = (path: string): readonly Channel[] =>
  reading(path, (db) =>
    db.all(`SELECT ${channels.columns} FROM channels WHERE enabled = 1`).map(channels.read),
  );

function reading<T>(path: string, task: (db: Database) => T): T {
  const db = new Database(path);
  try {
    return task(db);
  } finally {
    db.close();
  }
}
