// A move knows every table, every column and every collection: whoever adds one decides what a move does with it.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { forms } from '../../../adapters/mongo/move/all-forms.ts';
import { Database } from '../../../adapters/sqlite/database.ts';
import { inventory } from '../../../adapters/sqlite/move/inventory.ts';
import { migrate } from '../../../adapters/sqlite/schema/index.ts';
import { recordKinds } from '../../../src/shared/ports/moved-records.ts';

/** Collections that a move does not fill, and why. */
const notFilled: { readonly [collection: string]: string } = {
  auditIntents: 'notes of writes under way; in SQLite they go with the write',
  eventBatches: 'batches under way; in SQLite one transaction stores a batch',
  formats: 'the number of the format, written at the end of a move',
  moves: 'the marker of the move',
  probes: 'a write that tries the disk',
  reach: 'which nodes reach Redis now',
  tenantImportParts: 'an import that has not ended begins again',
  tenantImports: 'an import that has not ended begins again',
};

describe('what a move carries', () => {
  it('names every table and every column of the schema', () => {
    const db = new Database(':memory:');
    migrate(db);
    const tables = db
      .all("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
      .map(([name]) => String(name));
    const columnsOf = (name: string) =>
      db.all(`SELECT name FROM pragma_table_info('${name}') ORDER BY name`).map(([column]) => String(column));
    const schema = Object.fromEntries(tables.map((name) => [name, columnsOf(name)]));
    db.close();
    const listed = Object.entries(inventory).map(([name, { columns }]) => [name, columns.split(' ').sort()]);
    expect(Object.fromEntries(listed)).toEqual(schema);
  });

  it('has a reason for every table that it leaves', () => {
    const unexplained = Object.entries(inventory).filter(([, one]) => one.kinds.length === 0 && !one.left);
    expect(unexplained).toEqual([]);
  });

  it('carries every kind from a table', () => {
    const carried = new Set(Object.values(inventory).flatMap(({ kinds }) => kinds));
    expect([...carried].sort()).toEqual([...recordKinds].sort());
  });

  it('fills every collection, or has a reason not to', () => {
    const folder = new URL('../../../adapters/mongo/', import.meta.url);
    const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(new URL(name, folder), 'utf8'));
    const used = sources.flatMap((text) =>
      [...text.matchAll(/collection(?:<[^(]*>)?\('(\w+)'\)/g)].map((match) => match[1]),
    );
    const filled = Object.values(forms).map(({ collection }) => collection);
    expect([...new Set(used)].sort()).toEqual([...filled, ...Object.keys(notFilled)].sort());
  });
});
