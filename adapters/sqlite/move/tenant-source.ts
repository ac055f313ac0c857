// A connection that sees one tenant, at one moment: temporary views hide the other tenants' rows from the readers.
import type { MovedRecords } from '../../../src/shared/ports/moved-records.ts';
import type { TenantFileKind } from '../../../src/tenant/rules/file-kinds.ts';
import type { Database } from '../database.ts';
import { tenantNumber } from '../events/segment.ts';
import { activityReaders } from './activity.ts';
import { inventory } from './inventory.ts';
import { libraryReaders } from './library.ts';
import { peopleReaders } from './people.ts';

const readers = { ...peopleReaders, ...libraryReaders, ...activityReaders };

const uuid = /^[0-9a-f-]{36}$/;

/** Columns of a run that a file does not contain: the other hub counts its events. */
const markFields: { readonly [column: string]: string } = { facts: 'NULL AS facts' };

/** Keeps the views in the connection until it is closed. @throws TypeError for an id that is no UUID */
export function narrowTo(db: Database, tenantId: string): void {
  if (!uuid.test(tenantId)) throw new TypeError('a tenant has a UUID');
  db.exec('BEGIN');
  const number = tenantNumber(db, tenantId) ?? -1;
  for (const [name, { columns }] of Object.entries(inventory)) {
    const names = columns.split(' ');
    const where = names.includes('tenant_id')
      ? `tenant_id = '${tenantId}'`
      : names.includes('tenant')
        ? `tenant = ${number}`
        : null;
    if (where === null) continue;
    const sql = String(db.get('SELECT sql FROM main.sqlite_master WHERE name = ?', [name])?.[0]);
    const hasRowid = !/WITHOUT ROWID\s*$/i.test(sql) && !names.includes('rowid');
    const fields = name === 'runs' ? names.map((column) => markFields[column] ?? column).join(', ') : '*';
    db.exec(
      `CREATE TEMP VIEW "${name}" AS SELECT ${hasRowid ? 'rowid AS rowid, ' : ''}${fields} FROM main."${name}"
         WHERE ${where} ${name === 'runs' ? 'AND trimmed = 1' : ''}`,
    );
  }
}

/** @param db narrowed to the tenant */
export const tenantPages = <K extends TenantFileKind>(
  db: Database,
  kind: K,
): Iterable<readonly MovedRecords[K][]> => readers[kind](db, 0) as Iterable<readonly MovedRecords[K][]>;
