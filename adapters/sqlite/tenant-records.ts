// Tenants as a whole in SQLite, and their removal: all rows of a tenant, in every table that names it.
import type {
  TenantFigures,
  TenantPatch,
  TenantRecord,
  TenantRecordStore,
} from '../../src/tenant/port/records.ts';
import { type Tenant, tenantRecord } from '../../src/tenant/record.ts';
import type { Database } from './database.ts';
import { tenantNumber } from './events/segment.ts';
import type { Sync } from './sync.ts';
import { number, tableOf } from './table.ts';

export const records = tableOf<Tenant, Omit<TenantRecord, keyof Tenant>>(tenantRecord, {
  suspendedAt: number('suspended_at'),
  removedAt: number('removed_at'),
});

const maxClosed = 100_000;

/** Rows that name their tenant through another row: before these, theirs. */
const dependents: readonly { readonly table: string; readonly where: string }[] = [
  { table: 'bundle_yaml', where: 'bundle_id IN (SELECT id FROM bundles WHERE tenant_id = ?)' },
  { table: 'sign_ins', where: 'user_id IN (SELECT id FROM users WHERE tenant_id = ?)' },
];

/** Tables whose rows are referred to by others go after them. */
const last = ['bundles', 'compositions', 'users', 'service_accounts'];

/** Where events are counted by the tenant's number. */
const byNumber = ['calls', 'tool_hours', 'agent_tools', 'agent_hours', 'contract_hours', 'contract_minutes'];

const tenantOf = (db: Database, id: string): TenantRecord | null =>
  records.maybe(db.get(`SELECT ${records.columns} FROM tenants WHERE id = ?`, [id]));

const columnsOf = (db: Database, name: string): readonly { readonly name: string; readonly key: number }[] =>
  db.all(`PRAGMA table_info("${name}")`).map((row) => ({ name: String(row[1]), key: Number(row[5]) }));

/** Every table with a column for the tenant's id. */
function tablesOfTenants(db: Database): readonly string[] {
  const all = db
    .all("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .map(([name]) => String(name))
    .filter(
      (name) =>
        name !== 'tenant_numbers' && columnsOf(db, name).some((column) => column.name === 'tenant_id'),
    );
  return [...all.filter((name) => !last.includes(name)), ...last.filter((name) => all.includes(name))];
}

/** Deletes up to `limit` rows that fit. */
function deleteSome(
  db: Database,
  name: string,
  where: string,
  param: string | number,
  limit: number,
): number {
  const keys = columnsOf(db, name).filter(({ key }) => key > 0);
  const isKeyed = keys.length > 1 || name === 'segment_bodies';
  const names = isKeyed ? keys.map((column) => `"${column.name}"`).join(', ') : 'rowid';
  return db.run(
    `DELETE FROM "${name}" WHERE (${names}) IN (SELECT ${names} FROM "${name}" WHERE ${where} LIMIT ?)`,
    [param, limit],
  );
}

function figuresOf(db: Database, tenantId: string): TenantFigures {
  const tenant = tenantNumber(db, tenantId);
  const [agents] =
    db.get('SELECT count(*) FROM registrations WHERE tenant_id = ? AND retired_at IS NULL', [tenantId]) ?? [];
  const [events, bytes] =
    db.get(
      `SELECT coalesce(sum(events), 0), coalesce(sum(length(body)), 0)
         FROM segments JOIN segment_bodies ON segment = segments.id WHERE tenant = ?`,
      [tenant],
    ) ?? [];
  return { agents: Number(agents), events: Number(events), bytes: Number(bytes) };
}

function updateTenant(db: Database, tenantId: string, patch: TenantPatch): TenantRecord | null {
  if (patch.name !== undefined) db.run('UPDATE tenants SET name = ? WHERE id = ?', [patch.name, tenantId]);
  if (patch.suspendedAt !== undefined) {
    db.run('UPDATE tenants SET suspended_at = ? WHERE id = ?', [patch.suspendedAt, tenantId]);
  }
  return tenantOf(db, tenantId);
}

function removeRecords(db: Database, tenantId: string, limit: number): number {
  // Deleted rows are overwritten: nothing of the tenant stays in free pages.
  db.get('PRAGMA secure_delete = ON');
  try {
    const tenant = tenantNumber(db, tenantId);
    const steps = [
      ...dependents.map((one) => ({ ...one, param: tenantId })),
      ...tablesOfTenants(db).map((name) => ({ table: name, where: 'tenant_id = ?', param: tenantId })),
      ...(tenant === null
        ? []
        : byNumber.map((name) => ({ table: name, where: 'tenant = ?', param: tenant }))),
      { table: 'jobs', where: 'instr(payload, ?) > 0', param: tenantId },
    ];
    let erased = 0;
    for (const { table: name, where, param } of steps) {
      if (erased < limit) erased += deleteSome(db, name, where, param, limit - erased);
    }
    return erased;
  } finally {
    db.get('PRAGMA secure_delete = FAST');
  }
}

function removeTenant(db: Database, tenantId: string): void {
  db.get('PRAGMA secure_delete = ON');
  db.run('DELETE FROM tenant_numbers WHERE tenant_id = ?', [tenantId]);
  db.run('DELETE FROM tenants WHERE id = ?', [tenantId]);
  db.get('PRAGMA secure_delete = FAST');
}

export const tenantRecordStore = (db: Database): Sync<TenantRecordStore> => ({
  list: (limit, after) =>
    db
      .all(
        `SELECT ${records.columns} FROM tenants WHERE (created_at, id) > (?, ?) ORDER BY created_at, id LIMIT ?`,
        [after?.createdAt ?? -1, after?.id ?? '', limit],
      )
      .map(records.read),
  get: (id) => tenantOf(db, id),
  getFigures: (tenantId) => figuresOf(db, tenantId),
  update: (tenantId, patch) => updateTenant(db, tenantId, patch),
  markRemoved(tenantId, at) {
    db.run('UPDATE tenants SET removed_at = coalesce(removed_at, ?) WHERE id = ?', [at, tenantId]);
    return tenantOf(db, tenantId);
  },
  listClosed: () =>
    db
      .all(
        `SELECT ${records.columns} FROM tenants
           WHERE suspended_at IS NOT NULL OR removed_at IS NOT NULL ORDER BY removed_at, rowid LIMIT ?`,
        [maxClosed],
      )
      .map(records.read),
  removeRecords: (tenantId, limit) => removeRecords(db, tenantId, limit),
  remove: (tenantId) => removeTenant(db, tenantId),
});
