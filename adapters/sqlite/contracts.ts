// The contract library in SQLite.
import type { ContractVersion } from '../../src/domain/library.ts';
import type { ContractStore } from '../../src/ports/library.ts';
import { insertComposition, pinned } from './compositions.ts';
import { type Database, givenText } from './database.ts';
import type { Sync } from './sync.ts';
import { json, number, table, text } from './table.ts';

const contracts = table<ContractVersion>('contracts', {
  id: text('id'),
  tenantId: text('tenant_id'),
  contractId: text('contract_id'),
  version: number('version'),
  name: text('name'),
  description: text('description'),
  type: text('type'),
  definition: json('definition'),
  tags: json('tags'),
  createdBy: text('created_by'),
  createdAt: number('created_at'),
});

const latestOf = `SELECT ${contracts.columns} FROM contracts WHERE tenant_id = ? AND contract_id = ?
  ORDER BY version DESC LIMIT 1`;

const usersOf = `SELECT c.id, c.name FROM composition_contracts u JOIN compositions c ON c.id = u.composition_id
  WHERE u.tenant_id = ? AND u.contract_id = ? ORDER BY c.name`;

export function contractStore(db: Database): Sync<ContractStore> {
  const latest = (tenantId: string, contractId: string) =>
    contracts.maybe(db.get(latestOf, [tenantId, contractId]));
  const insert = (contract: ContractVersion) => db.run(contracts.insert, contracts.values(contract));
  const usage = (tenantId: string, contractId: string) =>
    db
      .all(usersOf, [tenantId, contractId])
      .map(([id, name]) => ({ id: String(id), name: givenText(String(name)) }));

  return {
    create(contract) {
      if (latest(contract.tenantId, contract.contractId)) return 'exists';
      insert({ ...contract, version: 1 });
      return 'created';
    },
    addVersion(tenantId, contractId, patch, meta) {
      const old = latest(tenantId, contractId);
      if (!old) return null;
      const next: ContractVersion = {
        ...old,
        ...meta,
        version: old.version + 1,
        name: patch.name ?? old.name,
        description: patch.description === undefined ? old.description : patch.description,
        definition: patch.definition ?? old.definition,
        tags: patch.tags ?? old.tags,
      };
      insert(next);
      return next;
    },
    latest,
    version: (tenantId, contractId, version) =>
      contracts.maybe(
        db.get(
          `SELECT ${contracts.columns} FROM contracts WHERE tenant_id = ? AND contract_id = ? AND version = ?`,
          [tenantId, contractId, version],
        ),
      ),
    history: (tenantId, contractId) =>
      db
        .all(
          `SELECT version, created_at, created_by FROM contracts WHERE tenant_id = ? AND contract_id = ?
             ORDER BY version DESC`,
          [tenantId, contractId],
        )
        .map(([version, createdAt, createdBy]) => ({
          version: Number(version),
          createdAt: Number(createdAt),
          createdBy: givenText(String(createdBy)),
        })),
    list(tenantId, { type, tag, search }) {
      const needle = search?.toLowerCase() ?? '';
      return db
        .all(
          `SELECT ${contracts.columns}, (SELECT count(*) FROM composition_contracts u
               WHERE u.tenant_id = c.tenant_id AND u.contract_id = c.contract_id)
             FROM contracts c WHERE tenant_id = ? AND version = (SELECT max(version) FROM contracts l
               WHERE l.tenant_id = c.tenant_id AND l.contract_id = c.contract_id)
             ORDER BY created_at DESC, rowid DESC`,
          [tenantId],
        )
        .map((row) => ({ ...contracts.read(row), usageCount: Number(row.at(-1)) }))
        .filter(
          (c) =>
            (type === undefined || c.type === type) &&
            (tag === undefined || c.tags.includes(tag)) &&
            [c.name, c.description ?? '', c.contractId].some((part) => part.toLowerCase().includes(needle)),
        );
    },
    remove(tenantId, contractId) {
      const usedBy = usage(tenantId, contractId).map((composition) => composition.name);
      if (usedBy.length > 0) return { usedBy };
      const removed = db.run('DELETE FROM contracts WHERE tenant_id = ? AND contract_id = ?', [
        tenantId,
        contractId,
      ]);
      return removed > 0 ? 'removed' : 'absent';
    },
    usage,
    importAll(tenantId, given, composition) {
      const changed = given.find((c) => (latest(tenantId, c.contractId)?.type ?? c.type) !== c.type);
      if (changed) return { typeChanged: changed.contractId };
      const created: string[] = [];
      const updated: string[] = [];
      for (const contract of given) {
        const old = latest(tenantId, contract.contractId);
        if (!old) {
          insert({ ...contract, tenantId, version: 1 });
          created.push(contract.contractId);
        } else {
          // The name of an imported contract is made from its id: what people wrote stays.
          const { id, definition, createdBy, createdAt } = contract;
          insert({ ...old, id, definition, createdBy, createdAt, version: old.version + 1 });
          updated.push(contract.contractId);
        }
      }
      const items = pinned(db, tenantId, composition.items);
      const made =
        !('unknownContract' in items) &&
        insertComposition(db, { ...composition, tenantId, items: items.items });
      return { created, updated, composition: made ? composition.name : null };
    },
  };
}
