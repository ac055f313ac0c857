// The contract library in SQLite.

import type { Composition } from '../../src/composition/record.ts';
import {
  type ContractPatch,
  type ContractStore,
  type ContractSummary,
  maxHistory,
  maxNamed,
} from '../../src/contract/port.ts';
import { type ContractVersion, contractRecord } from '../../src/contract/record.ts';
import type { Page, PageRequest } from '../../src/shared/ports/page.ts';
import { findsIn, foldedText } from '../../src/shared/search-text.ts';
import { insertComposition, pinned } from './compositions.ts';
import { type Database, givenText, type Row } from './database.ts';
import { rowsOf } from './page.ts';
import type { Steps, Sync } from './sync.ts';
import { number, tableOf } from './table.ts';

export const contracts = tableOf<ContractVersion>(contractRecord);

const listedColumns = contractRecord.columns.filter(({ field }) => field !== 'definition');
const summaries = tableOf<ContractSummary>(
  { name: contractRecord.name, columns: listedColumns },
  {
    usageCount: number(`(SELECT count(*) FROM composition_contracts u
    WHERE u.tenant_id = contracts.tenant_id AND u.contract_id = contracts.contract_id)`),
  },
);

const latestOf = `SELECT ${contracts.columns} FROM contracts WHERE tenant_id = ? AND contract_id = ?
  ORDER BY version DESC LIMIT 1`;

const usersOf = `SELECT c.id, c.name FROM composition_contracts u JOIN compositions c ON c.id = u.composition_id
  WHERE u.tenant_id = ? AND u.contract_id = ? ORDER BY c.name LIMIT ? OFFSET ?`;

/**
 * Latest versions from newest to oldest, in portions: those before a time and a row. Rows above `?4` came after the
 * first portion: a new version would otherwise take its contract out of the later ones.
 */
const portion = 200;
const portionOf = `SELECT rowid, created_at, type, name, description, contract_id, tags FROM contracts c
  WHERE tenant_id = ?1 AND (created_at < ?2 OR (created_at = ?2 AND rowid < ?3)) AND rowid <= ?4
    AND version = (SELECT max(version) FROM contracts l
      WHERE l.tenant_id = c.tenant_id AND l.contract_id = c.contract_id AND l.rowid <= ?4)
  ORDER BY created_at DESC, rowid DESC LIMIT ${portion}`;

const latestVersion = (db: Database, tenantId: string, contractId: string) =>
  contracts.maybe(db.get(latestOf, [tenantId, contractId]));

const insertVersion = (db: Database, contract: ContractVersion) =>
  db.run(contracts.insert, contracts.values(contract));

function usageOf(db: Database, tenantId: string, contractId: string, { limit, offset }: PageRequest) {
  const rows = db.all(usersOf, [tenantId, contractId, limit + 1, offset]);
  const items = rows.slice(0, limit).map(([id, name]) => ({ id: String(id), name: givenText(String(name)) }));
  return { items, more: rows.length > limit };
}

const usageCountOf = (db: Database, tenantId: string, contractId: string): number =>
  Number(
    db.get('SELECT count(*) FROM composition_contracts WHERE tenant_id = ? AND contract_id = ?', [
      tenantId,
      contractId,
    ])?.[0],
  );

function updateContract(
  db: Database,
  tenantId: string,
  contractId: string,
  patch: ContractPatch,
  meta: Pick<ContractVersion, 'id' | 'createdBy' | 'createdAt'>,
  ifId?: string,
): ContractVersion | 'changed' | null {
  const old = latestVersion(db, tenantId, contractId);
  if (!old) return null;
  if (ifId !== undefined && old.id !== ifId) return 'changed';
  const next: ContractVersion = {
    ...old,
    ...meta,
    version: old.version + 1,
    name: patch.name ?? old.name,
    description: patch.description === undefined ? old.description : patch.description,
    definition: patch.definition ?? old.definition,
    tags: patch.tags ?? old.tags,
  };
  insertVersion(db, next);
  return next;
}

/** Latest versions from newest to oldest, until `take` returns true after a portion. */
function* eachLatest(db: Database, tenantId: string, take: (rows: readonly Row[]) => boolean): Steps<void> {
  const newestRow = Number(db.get('SELECT max(rowid) FROM contracts')?.[0]);
  let last: Row | undefined = [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
  while (last) {
    const rows = db.all(portionOf, [tenantId, Number(last[1]), Number(last[0]), newestRow]);
    last = take(rows) || rows.length < portion ? undefined : rows.at(-1);
    yield;
  }
}

const parseTags = (text: unknown): readonly string[] => JSON.parse(String(text));

function* listTags(db: Database, tenantId: string, { limit, offset }: PageRequest): Steps<Page<string>> {
  const tags = new Set<string>();
  yield* eachLatest(db, tenantId, (rows) => {
    for (const row of rows) for (const tag of parseTags(row[6])) tags.add(tag);
    return false;
  });
  return { items: [...tags].sort().slice(offset, offset + limit), more: tags.size > offset + limit };
}

function* listContracts(
  db: Database,
  tenantId: string,
  { type, tag, search }: Parameters<ContractStore['list']>[1],
  { limit, offset }: PageRequest,
): Steps<Page<ContractSummary>> {
  const needle = foldedText(search ?? '');
  const fits = ([, , its, name, description, contractId, tags]: Row): boolean =>
    (type === undefined || its === type) &&
    (tag === undefined || parseTags(tags).includes(tag)) &&
    [name, description ?? '', contractId].some((part) => findsIn(givenText(String(part)), needle));
  const rowids: number[] = [];
  yield* eachLatest(db, tenantId, (rows) => {
    for (const row of rows) if (fits(row)) rowids.push(Number(row[0]));
    return rowids.length > offset + limit;
  });
  const page = rowids.slice(offset, offset + limit + 1);
  const row = `SELECT ${summaries.columns} FROM contracts WHERE rowid = ?`;
  return rowsOf(db, page, limit, { row, read: summaries.read });
}

function removeContract(db: Database, tenantId: string, contractId: string, ifId?: string) {
  const old = ifId === undefined ? undefined : latestVersion(db, tenantId, contractId);
  if (old && old.id !== ifId) return 'changed';
  const users = usageOf(db, tenantId, contractId, { limit: maxNamed, offset: 0 }).items;
  const usedBy = users.map((composition) => composition.name);
  if (usedBy.length > 0) return { usedBy, count: usageCountOf(db, tenantId, contractId) };
  const removed = db.run('DELETE FROM contracts WHERE tenant_id = ? AND contract_id = ?', [
    tenantId,
    contractId,
  ]);
  return removed > 0 ? 'removed' : 'absent';
}

function importBundle(
  db: Database,
  tenantId: string,
  drafts: readonly ContractVersion[],
  composition: Composition,
) {
  const changed = drafts.find((c) => (latestVersion(db, tenantId, c.contractId)?.type ?? c.type) !== c.type);
  if (changed) return { typeChanged: changed.contractId };
  const created: string[] = [];
  const updated: string[] = [];
  for (const contract of drafts) {
    const old = latestVersion(db, tenantId, contract.contractId);
    if (!old) {
      insertVersion(db, { ...contract, tenantId, version: 1 });
      created.push(contract.contractId);
    } else {
      // The name of an imported contract is made from its id: a name that people wrote stays.
      const { id, definition, createdBy, createdAt } = contract;
      insertVersion(db, { ...old, id, definition, createdBy, createdAt, version: old.version + 1 });
      updated.push(contract.contractId);
    }
  }
  const items = pinned(db, tenantId, composition.items);
  const isInserted =
    !('unknownContract' in items) && insertComposition(db, { ...composition, tenantId, items: items.items });
  return { created, updated, composition: isInserted ? composition.name : null };
}

export const contractStore = (db: Database): Sync<ContractStore> => ({
  create(contract) {
    if (latestVersion(db, contract.tenantId, contract.contractId)) return 'exists';
    insertVersion(db, { ...contract, version: 1 });
    return 'created';
  },
  update: (tenantId, contractId, patch, meta, ifId) =>
    updateContract(db, tenantId, contractId, patch, meta, ifId),
  get: (tenantId, contractId) => latestVersion(db, tenantId, contractId),
  getVersion: (tenantId, contractId, version) =>
    contracts.maybe(
      db.get(
        `SELECT ${contracts.columns} FROM contracts WHERE tenant_id = ? AND contract_id = ? AND version = ?`,
        [tenantId, contractId, version],
      ),
    ),
  listVersions: (tenantId, contractId) =>
    db
      .all(
        `SELECT version, created_at, created_by FROM contracts WHERE tenant_id = ? AND contract_id = ?
           ORDER BY version DESC LIMIT ?`,
        [tenantId, contractId, maxHistory],
      )
      .map(([version, createdAt, createdBy]) => ({
        version: Number(version),
        createdAt: Number(createdAt),
        createdBy: givenText(String(createdBy)),
      })),
  list: (tenantId, filter, page) => listContracts(db, tenantId, filter, page),
  listTags: (tenantId, page) => listTags(db, tenantId, page),
  remove: (tenantId, contractId, ifId) => removeContract(db, tenantId, contractId, ifId),
  listUsage: (tenantId, contractId, page) => usageOf(db, tenantId, contractId, page),
  countUsage: (tenantId, contractId) => usageCountOf(db, tenantId, contractId),
  importBundle: (tenantId, drafts, composition) => importBundle(db, tenantId, drafts, composition),
});
