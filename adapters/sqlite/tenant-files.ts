// Imports of tenant files in SQLite. The tenant is a row with a time of removal in the future until it is opened.
import { HubError } from '../../src/shared/error.ts';
import type { MovedRecords } from '../../src/shared/ports/moved-records.ts';
import type {
  ImportedPart,
  TenantFileStore,
  TenantImport,
  WrittenKind,
} from '../../src/tenant/port/files.ts';
import type { Database } from './database.ts';
import { tenantWriters } from './move/write.ts';
import type { Sync } from './sync.ts';
import { number, table, text } from './table.ts';
import { records as tenants } from './tenant-records.ts';
import { troubleOf } from './trouble.ts';
import type { UsageWriter } from './usage/write.ts';

export const tenantImportTables = `
CREATE TABLE tenant_imports (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, created_at INTEGER NOT NULL,
  suspended_at INTEGER, sealed_key TEXT NOT NULL, opened INTEGER NOT NULL DEFAULT 0);
CREATE TABLE tenant_import_parts (
  tenant_id TEXT NOT NULL, number INTEGER NOT NULL, digests TEXT NOT NULL, ending TEXT,
  PRIMARY KEY (tenant_id, number)) WITHOUT ROWID;
`;

type ImportRow = Omit<TenantImport, 'isOpened'> & { readonly opened: number };

const imports = table<ImportRow>('tenant_imports', {
  id: text('id'),
  tenantId: text('tenant_id'),
  name: text('name'),
  createdAt: number('created_at'),
  suspendedAt: number<number | null>('suspended_at'),
  sealedKey: text('sealed_key'),
  opened: number('opened'),
});

const parts = table<ImportedPart & { readonly tenantId: string }>('tenant_import_parts', {
  tenantId: text('tenant_id'),
  number: number('number'),
  digests: text('digests'),
  end: text<string | null>('ending'),
});

const importOf = ({ opened, ...rest }: ImportRow): TenantImport => ({ ...rest, isOpened: opened === 1 });

/** SQLite's words for two rows with one name. */
const isTaken = (error: unknown): boolean =>
  error instanceof Error && troubleOf(error) === null && /UNIQUE|PRIMARY KEY/i.test(error.message);

const storedImport = (db: Database, id: string): TenantImport | null => {
  const row = db.get(`SELECT ${imports.columns} FROM tenant_imports WHERE id = ?`, [id]);
  return row ? importOf(imports.read(row)) : null;
};

function beginImport(
  db: Database,
  request: TenantImport,
  now: number,
  expiresAt: number,
): TenantImport | 'taken' | 'other' {
  const { id, tenantId, name, createdAt } = request;
  const tenant = tenants.maybe(db.get(`SELECT ${tenants.columns} FROM tenants WHERE id = ?`, [tenantId]));
  const isRemoving = tenant !== null && tenant.removedAt !== null && tenant.removedAt <= now;
  const existing = db.get(`SELECT ${imports.columns} FROM tenant_imports WHERE tenant_id = ?`, [tenantId]);
  if (existing) {
    const other = importOf(imports.read(existing));
    if (other.id === id) return isRemoving ? 'other' : other;
    if (other.isOpened) return 'taken';
    db.run('UPDATE tenants SET removed_at = min(removed_at, ?) WHERE id = ?', [now, tenantId]);
    return 'other';
  }
  if (tenant) return isRemoving ? 'other' : 'taken';
  db.run(
    tenants.insert,
    tenants.values({ id: tenantId, name, createdAt, suspendedAt: null, removedAt: expiresAt }),
  );
  const { isOpened: _isOpened, ...fields } = request;
  db.run(imports.insert, imports.values({ ...fields, opened: 0 }));
  return request;
}

function partsOf(db: Database, id: string): readonly ImportedPart[] {
  const stored = storedImport(db, id);
  if (!stored) return [];
  return db
    .all(`SELECT ${parts.columns} FROM tenant_import_parts WHERE tenant_id = ? ORDER BY number`, [
      stored.tenantId,
    ])
    .map((row) => {
      const { tenantId: _tenantId, ...part } = parts.read(row);
      return part;
    });
}

function openTenant(db: Database, id: string, now: number): 'created' | 'exists' | 'absent' {
  const stored = storedImport(db, id);
  if (!stored) return 'absent';
  if (stored.isOpened) return 'exists';
  const { tenantId, suspendedAt } = stored;
  const changes = db.run(
    'UPDATE tenants SET removed_at = NULL, suspended_at = ? WHERE id = ? AND removed_at > ?',
    [suspendedAt, tenantId, now],
  );
  if (changes === 0) return 'absent';
  db.run(`UPDATE tenant_imports SET opened = 1, sealed_key = '' WHERE id = ?`, [id]);
  db.run('DELETE FROM tenant_import_parts WHERE tenant_id = ?', [tenantId]);
  return 'created';
}

/** @param usage keeps the facts of runs that are not written yet */
export const tenantFileStore = (db: Database, usage: Pick<UsageWriter, 'flush'>): Sync<TenantFileStore> => ({
  begin: (request, now, expiresAt) => beginImport(db, request, now, expiresAt),
  get: (id) => storedImport(db, id),
  write<K extends WrittenKind>(tenantId: string, kind: K, records: readonly MovedRecords[K][]) {
    if (kind === 'runs') usage.flush();
    try {
      tenantWriters[kind](db, tenantId, records);
    } catch (error) {
      if (!isTaken(error)) throw error;
      throw new HubError(
        'conflict',
        `Another tenant has an id, an e-mail address or another name of the file's ${kind}. Remove it there first.`,
      );
    }
  },
  createPart(_id, tenantId, part) {
    db.run(`${parts.insert} ON CONFLICT DO NOTHING`, parts.values({ ...part, tenantId }));
  },
  listParts: (id) => partsOf(db, id),
  open: (id, now) => openTenant(db, id, now),
});
