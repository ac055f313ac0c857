// Compositions in SQLite. Items are one JSON list; which contracts they name stands in a table of its own, for usage.

import {
  type CompositionPatch,
  type CompositionStore,
  type ItemSummary,
  maxDefinitions,
} from '../../src/composition/port.ts';
import {
  type Composition,
  type CompositionItem,
  type CompositionSummary,
  compositionRecord,
} from '../../src/composition/record.ts';
import type { ContractType, JsonObject } from '../../src/contract/record.ts';
import { type Database, givenText } from './database.ts';
import { pageOf } from './page.ts';
import type { Sync } from './sync.ts';
import { number, table, tableOf, text } from './table.ts';

export const compositions = tableOf<Composition>(compositionRecord);

const summaries = table<CompositionSummary>('compositions', {
  name: text('name'),
  description: text('description'),
  defaultsMode: text('defaults_mode'),
  updateStrategy: text('update_strategy'),
  createdBy: text('created_by'),
  updatedAt: number('updated_at'),
  contractCount: number('json_array_length(items)'),
});

const byCodePoint = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Each item at the latest version of its contract, by position, then contract id. */
export function pinned(
  db: Database,
  tenantId: string,
  items: readonly Omit<CompositionItem, 'version'>[],
): { readonly items: readonly CompositionItem[] } | { readonly unknownContract: string } {
  const result: CompositionItem[] = [];
  for (const { contractId, position, modeOverride, enabled } of items) {
    const version = db.get('SELECT max(version) FROM contracts WHERE tenant_id = ? AND contract_id = ?', [
      tenantId,
      contractId,
    ])?.[0];
    if (typeof version !== 'number') return { unknownContract: contractId };
    result.push({ contractId, version, position, modeOverride, enabled });
  }
  result.sort((a, b) => a.position - b.position || byCodePoint(a.contractId, b.contractId));
  return { items: result };
}

function linkContracts(db: Database, { id, tenantId, items }: Composition): void {
  db.run('DELETE FROM composition_contracts WHERE composition_id = ?', [id]);
  for (const contractId of new Set(items.map((item) => item.contractId))) {
    db.run('INSERT INTO composition_contracts (composition_id, tenant_id, contract_id) VALUES (?, ?, ?)', [
      id,
      tenantId,
      contractId,
    ]);
  }
}

/** Writes a new composition; false when one of its name exists. */
export function insertComposition(db: Database, composition: Composition): boolean {
  const { tenantId, name } = composition;
  if (db.get('SELECT 1 FROM compositions WHERE tenant_id = ? AND name = ?', [tenantId, name])) return false;
  db.run(compositions.insert, compositions.values(composition));
  linkContracts(db, composition);
  return true;
}

const compositionOf = (db: Database, tenantId: string, name: string) =>
  compositions.maybe(
    db.get(`SELECT ${compositions.columns} FROM compositions WHERE tenant_id = ? AND name = ?`, [
      tenantId,
      name,
    ]),
  );

/** The items, each with the id of its contract's row and the bytes of the definition there. */
const contractsOf = (db: Database, tenantId: string, name: string) =>
  (compositionOf(db, tenantId, name)?.items ?? []).flatMap((item) => {
    const row = db.get(
      `SELECT name, type, (SELECT max(version) FROM contracts l
           WHERE l.tenant_id = c.tenant_id AND l.contract_id = c.contract_id), id, octet_length(definition)
         FROM contracts c WHERE tenant_id = ? AND contract_id = ? AND version = ?`,
      [tenantId, item.contractId, item.version],
    );
    if (!row) return [];
    const [contractName, type, latestVersion, id, bytes] = row;
    const summary: ItemSummary = {
      ...item,
      name: givenText(String(contractName)),
      type: String(type) as ContractType,
      latestVersion: Number(latestVersion),
    };
    return [{ item: summary, row: String(id), bytes: Number(bytes) }];
  });

function createComposition(db: Database, unpinned: Parameters<CompositionStore['create']>[0]) {
  if (compositionOf(db, unpinned.tenantId, unpinned.name)) return 'exists';
  const items = pinned(db, unpinned.tenantId, unpinned.items);
  if ('unknownContract' in items) return items;
  const composition = { ...unpinned, items: items.items };
  insertComposition(db, composition);
  return composition;
}

function updateComposition(
  db: Database,
  tenantId: string,
  name: string,
  patch: CompositionPatch,
  now: number,
  ifUpdatedAt?: number,
) {
  const old = compositionOf(db, tenantId, name);
  if (!old) return 'absent';
  if (ifUpdatedAt !== undefined && old.updatedAt !== ifUpdatedAt) return 'changed';
  const items = patch.items === undefined ? old : pinned(db, tenantId, patch.items);
  if ('unknownContract' in items) return items;
  const next: Composition = {
    ...old,
    description: patch.description === undefined ? old.description : patch.description,
    defaultsMode: patch.defaultsMode ?? old.defaultsMode,
    updateStrategy: patch.updateStrategy ?? old.updateStrategy,
    documentKind: patch.documentKind === undefined ? old.documentKind : patch.documentKind,
    toolsConfig: patch.toolsConfig === undefined ? old.toolsConfig : patch.toolsConfig,
    observability: patch.observability === undefined ? old.observability : patch.observability,
    items: items.items,
    updatedAt: Math.max(now, old.updatedAt + 1),
  };
  db.run('DELETE FROM compositions WHERE id = ?', [old.id]);
  insertComposition(db, next);
  return next;
}

function enabledItems(db: Database, tenantId: string, name: string) {
  const enabled = contractsOf(db, tenantId, name).filter(({ item }) => item.enabled);
  if (enabled.reduce((sum, { bytes }) => sum + bytes, 0) > maxDefinitions) return 'too_large';
  return enabled.map(({ item, row }) => {
    const definition = db.get('SELECT definition FROM contracts WHERE id = ?', [row])?.[0];
    return { ...item, definition: JSON.parse(String(definition)) as JsonObject };
  });
}

function removeComposition(
  db: Database,
  tenantId: string,
  name: string,
  ifUpdatedAt?: number,
): Composition | null | 'changed' {
  const old = compositionOf(db, tenantId, name);
  if (old && ifUpdatedAt !== undefined && old.updatedAt !== ifUpdatedAt) return 'changed';
  return compositions.maybe(
    db.get(`DELETE FROM compositions WHERE tenant_id = ? AND name = ? RETURNING ${compositions.columns}`, [
      tenantId,
      name,
    ]),
  );
}

export const compositionStore = (db: Database): Sync<CompositionStore> => ({
  create: (unpinned) => createComposition(db, unpinned),
  update: (tenantId, name, patch, now, ifUpdatedAt) =>
    updateComposition(db, tenantId, name, patch, now, ifUpdatedAt),
  get: (tenantId, name) => compositionOf(db, tenantId, name),
  listItems: (tenantId, name) => contractsOf(db, tenantId, name).map(({ item }) => item),
  listEnabledItems: (tenantId, name) => enabledItems(db, tenantId, name),
  list: (tenantId, page) =>
    pageOf(db, page, {
      which: 'SELECT rowid FROM compositions WHERE tenant_id = ? ORDER BY updated_at DESC, rowid DESC',
      params: [tenantId],
      row: `SELECT ${summaries.columns} FROM compositions WHERE rowid = ?`,
      read: summaries.read,
    }),
  listAutomatic: (tenantId, contractId) =>
    db
      .all(
        `SELECT c.name FROM composition_contracts u JOIN compositions c ON c.id = u.composition_id
           WHERE u.tenant_id = ? AND u.contract_id = ? AND c.update_strategy = 'auto_deploy' ORDER BY c.name`,
        [tenantId, contractId],
      )
      .map(([name]) => givenText(String(name))),
  remove: (tenantId, name, ifUpdatedAt) => removeComposition(db, tenantId, name, ifUpdatedAt),
});
