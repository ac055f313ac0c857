// The check on the master secret in SQLite.
import type { KeyCheckStore } from '../../src/shared/ports/key-check.ts';
import type { Database } from './database.ts';
import type { Sync } from './sync.ts';
import { table, text } from './table.ts';

export const seals = table<{ readonly name: string; readonly value: string }>('seals', {
  name: text('name'),
  value: text('value'),
});

export function sealStore(db: Database): Sync<KeyCheckStore> {
  return {
    first(name, value) {
      db.run(`${seals.insert} ON CONFLICT DO NOTHING`, seals.values({ name, value }));
      return seals.maybe(db.get(`SELECT ${seals.columns} FROM seals WHERE name = ?`, [name]))?.value ?? value;
    },
  };
}
