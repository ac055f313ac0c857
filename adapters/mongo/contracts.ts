// Contracts in MongoDB, on the tenant's library head (library.ts, which says what happens when a process dies). Importing is in import.ts.
import type { ContractVersion } from '../../src/domain/library.ts';
import type { ContractStore } from '../../src/ports/library.ts';
import { literalPattern } from './form.ts';
import { importAll } from './import.ts';
import {
  type CompositionEntry,
  type ContractRow,
  contractIn,
  contractPath,
  decideLibrary,
  dropRows,
  keepRows,
  type Library,
  type LibraryHead,
  readLibrary,
  toContract,
  toContractRow,
} from './library.ts';

const byName = (a: { readonly name: string }, b: { readonly name: string }): number =>
  a.name < b.name ? -1 : a.name > b.name ? 1 : 0;

const users = (head: LibraryHead | null, contractId: string): readonly CompositionEntry[] =>
  Object.values(head?.compositions ?? {})
    .filter((composition) => composition.items.some((item) => item.contractId === contractId))
    .sort(byName);

const itemIds = 'compositions';

export function mongoContracts(library: Library): ContractStore {
  async function latestRow(tenantId: string, contractId: string): Promise<ContractRow | null> {
    const entry = contractIn(await readLibrary(library, tenantId, [contractPath(contractId)]), contractId);
    return entry ? library.rows.findOne({ _id: entry.row }) : null;
  }

  return {
    create: (contract) =>
      decideLibrary(
        library,
        contract.tenantId,
        async (head) => {
          const { contractId, type } = contract;
          if (contractIn(head, contractId)) return { answer: 'exists' as const };
          const row = library.newId();
          const version = 1;
          const place = { _id: row, lineage: row, order: head.revision + 1 };
          await library.rows.insertOne(toContractRow({ ...contract, version }, place));
          return {
            answer: 'created' as const,
            set: { [contractPath(contractId)]: { contractId, type, version, row, lineage: row } },
            lost: () => dropRows(library, [row]),
          };
        },
        [contractPath(contract.contractId)],
      ),

    addVersion: (tenantId, contractId, patch, meta) =>
      decideLibrary<ContractVersion | null>(
        library,
        tenantId,
        async (head) => {
          const entry = contractIn(head, contractId);
          const before = entry && (await library.rows.findOne({ _id: entry.row }));
          if (!entry || !before) return { answer: null };
          const version = entry.version + 1;
          const next: ContractVersion = { ...toContract(before), ...patch, ...meta, version };
          const row = library.newId();
          await keepRows(library, [entry.row]);
          await library.rows.insertOne(
            toContractRow(next, { _id: row, lineage: entry.lineage, order: head.revision + 1 }),
          );
          return {
            answer: next,
            set: { [contractPath(contractId)]: { ...entry, version, row } },
            lost: () => dropRows(library, [row]),
          };
        },
        [contractPath(contractId)],
      ),

    async latest(tenantId, contractId) {
      const row = await latestRow(tenantId, contractId);
      return row && toContract(row);
    },

    async version(tenantId, contractId, version) {
      const entry = contractIn(await readLibrary(library, tenantId, [contractPath(contractId)]), contractId);
      if (!entry) return null;
      const row = await library.rows.findOne(
        entry.version === version ? { _id: entry.row } : { lineage: entry.lineage, version, kept: true },
      );
      return row && toContract(row);
    },

    async history(tenantId, contractId) {
      const entry = contractIn(await readLibrary(library, tenantId, [contractPath(contractId)]), contractId);
      if (!entry) return [];
      const rows = await library.rows
        .find(
          { lineage: entry.lineage, $or: [{ kept: true }, { _id: entry.row }] },
          { projection: { version: 1, createdAt: 1, createdBy: 1 } },
        )
        .sort({ version: -1 })
        .toArray();
      return rows.map(({ version, createdAt, createdBy }) => ({ version, createdAt, createdBy }));
    },

    async list(tenantId, { type, tag, search }) {
      const head = await readLibrary(library, tenantId);
      const latest = Object.values(head?.contracts ?? {}).map((entry) => entry.row);
      const pattern = search && { $regex: literalPattern(search), $options: 'i' };
      const rows = await library.rows
        .find({
          _id: { $in: latest },
          ...(type === undefined ? {} : { type: { $eq: type as ContractRow['type'] } }),
          ...(tag === undefined ? {} : { tags: tag }),
          ...(pattern ? { $or: [{ name: pattern }, { description: pattern }, { contractId: pattern }] } : {}),
        })
        .sort({ createdAt: -1, order: -1 })
        .toArray();
      return rows.map((row) => ({ ...toContract(row), usageCount: users(head, row.contractId).length }));
    },

    async remove(tenantId, contractId) {
      const path = contractPath(contractId);
      const removed = await decideLibrary<{ lineage: string } | 'absent' | { usedBy: readonly string[] }>(
        library,
        tenantId,
        (head) => {
          const entry = contractIn(head, contractId);
          if (!entry) return { answer: 'absent' };
          const usedBy = users(head, contractId).map((composition) => composition.name);
          if (usedBy.length > 0) return { answer: { usedBy } };
          return { answer: { lineage: entry.lineage }, unset: [path] };
        },
        [path, itemIds],
      );
      if (removed === 'absent' || 'usedBy' in removed) return removed;
      // Rows of a lineage that the head does not name are never read: dying here leaves only dead weight.
      await library.rows.deleteMany({ lineage: removed.lineage });
      return 'removed';
    },

    async usage(tenantId, contractId) {
      const head = await readLibrary(library, tenantId, [itemIds]);
      return users(head, contractId).map(({ id, name }) => ({ id, name }));
    },

    importAll: (tenantId, contracts, composition) => importAll(library, tenantId, contracts, composition),
  };
}
