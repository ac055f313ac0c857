// Contracts in MongoDB, on the tenant's library document (library.ts describes the effects of a process that dies).
// Importing is in import.ts.

import {
  type ContractPatch,
  type ContractStore,
  type ContractSummary,
  maxHistory,
  maxNamed,
} from '../../src/contract/port.ts';
import type { ContractVersion } from '../../src/contract/record.ts';
import { maxSearchMs } from '../../src/event/record.ts';
import type { Page, PageRequest } from '../../src/shared/ports/page.ts';
import { searchPattern } from './form.ts';
import { importBundle } from './import.ts';
import {
  type ContractVersionRow,
  contractIn,
  contractPath,
  decideLibrary,
  keepRows,
  type Library,
  type LibraryDocument,
  readLibrary,
  removeRows,
  toContract,
  toContractRow,
  usersOf,
} from './library.ts';
import { pageIn, pageOf } from './page.ts';

const itemIds = 'compositions';

/** How many compositions name each contract. */
function usageCounts(document: LibraryDocument | null): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { items } of Object.values(document?.compositions ?? {})) {
    for (const id of new Set(items.map((item) => item.contractId))) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

async function latestRow(
  library: Library,
  tenantId: string,
  contractId: string,
): Promise<ContractVersionRow | null> {
  const entry = contractIn(await readLibrary(library, tenantId, [contractPath(contractId)]), contractId);
  return entry ? library.rows.findOne({ _id: entry.row }) : null;
}

function createContract(library: Library, contract: ContractVersion): Promise<'created' | 'exists'> {
  return decideLibrary(
    library,
    contract.tenantId,
    async (document) => {
      const { contractId, type } = contract;
      if (contractIn(document, contractId)) return { answer: 'exists' as const };
      const row = library.newId();
      const version = 1;
      const place = { _id: row, lineage: row, order: document.revision + 1 };
      await library.rows.insertOne(toContractRow({ ...contract, version }, place));
      return {
        answer: 'created' as const,
        set: { [contractPath(contractId)]: { contractId, type, version, row, lineage: row } },
        lost: () => removeRows(library, [row]),
      };
    },
    [contractPath(contract.contractId)],
  );
}

function updateContract(
  library: Library,
  tenantId: string,
  contractId: string,
  patch: ContractPatch,
  meta: Pick<ContractVersion, 'id' | 'createdBy' | 'createdAt'>,
  ifId?: string,
) {
  return decideLibrary<ContractVersion | null | 'changed'>(
    library,
    tenantId,
    async (document) => {
      const entry = contractIn(document, contractId);
      const before = entry && (await library.rows.findOne({ _id: entry.row }));
      if (!entry || !before) return { answer: null };
      if (ifId !== undefined && before.id !== ifId) return { answer: 'changed' };
      const version = entry.version + 1;
      const next: ContractVersion = { ...toContract(before), ...patch, ...meta, version };
      const row = library.newId();
      await keepRows(library, [entry.row]);
      await library.rows.insertOne(
        toContractRow(next, { _id: row, lineage: entry.lineage, order: document.revision + 1 }),
      );
      return {
        answer: next,
        set: { [contractPath(contractId)]: { ...entry, version, row } },
        lost: () => removeRows(library, [row]),
      };
    },
    [contractPath(contractId)],
  );
}

async function versionOf(
  library: Library,
  tenantId: string,
  contractId: string,
  version: number,
): Promise<ContractVersion | null> {
  const entry = contractIn(await readLibrary(library, tenantId, [contractPath(contractId)]), contractId);
  if (!entry) return null;
  const row = await library.rows.findOne(
    entry.version === version ? { _id: entry.row } : { lineage: entry.lineage, version, kept: true },
  );
  return row && toContract(row);
}

async function historyOf(library: Library, tenantId: string, contractId: string) {
  const entry = contractIn(await readLibrary(library, tenantId, [contractPath(contractId)]), contractId);
  if (!entry) return [];
  const rows = await library.rows
    .find(
      { lineage: entry.lineage, $or: [{ kept: true }, { _id: entry.row }] },
      { projection: { version: 1, createdAt: 1, createdBy: 1 } },
    )
    .sort({ version: -1 })
    .limit(maxHistory)
    .toArray();
  return rows.map(({ version, createdAt, createdBy }) => ({ version, createdAt, createdBy }));
}

const latestRowsOf = (document: LibraryDocument | null): readonly string[] =>
  Object.values(document?.contracts ?? {}).map(({ row }) => row);

async function listTags(library: Library, tenantId: string, page: PageRequest): Promise<Page<string>> {
  const latest = latestRowsOf(await readLibrary(library, tenantId));
  const rows = await library.rows
    .aggregate<{ _id: string }>(
      [{ $match: { _id: { $in: latest } } }, { $unwind: '$tags' }, { $group: { _id: '$tags' } }],
      { maxTimeMS: maxSearchMs },
    )
    .toArray();
  return pageIn(rows.map(({ _id: tag }) => tag).sort(), page, (tag) => tag);
}

async function listContracts(
  library: Library,
  tenantId: string,
  { type, tag, search }: Parameters<ContractStore['list']>[1],
  page: PageRequest,
): Promise<Page<ContractSummary>> {
  const document = await readLibrary(library, tenantId);
  const pattern = search && { $regex: searchPattern(search) };
  const contractRows = library.rows
    .find<Omit<ContractVersionRow, 'definition'>>(
      {
        _id: { $in: latestRowsOf(document) },
        ...(type === undefined ? {} : { type: { $eq: type as ContractVersionRow['type'] } }),
        ...(tag === undefined ? {} : { tags: tag }),
        ...(pattern ? { $or: [{ name: pattern }, { description: pattern }, { contractId: pattern }] } : {}),
      },
      { projection: { definition: 0 }, maxTimeMS: maxSearchMs },
    )
    // Contracts of one import have one time and one order.
    .sort({ createdAt: -1, order: -1, contractId: 1 });
  const counts = usageCounts(document);
  return pageOf(contractRows, page, (row) => {
    const { definition: _definition, ...contract } = toContract({ ...row, definition: '{}' });
    return { ...contract, usageCount: counts.get(row.contractId) ?? 0 };
  });
}

async function removeContract(
  library: Library,
  tenantId: string,
  contractId: string,
  ifId?: string,
): ReturnType<ContractStore['remove']> {
  const path = contractPath(contractId);
  const removed = await decideLibrary<
    { lineage: string } | 'absent' | 'changed' | { usedBy: readonly string[]; count: number }
  >(
    library,
    tenantId,
    async (document) => {
      const entry = contractIn(document, contractId);
      if (!entry) return { answer: 'absent' };
      if (ifId !== undefined && (await library.rows.findOne({ _id: entry.row }))?.id !== ifId)
        return { answer: 'changed' };
      const users = usersOf(document, contractId);
      const usedBy = users.slice(0, maxNamed).map((composition) => composition.name);
      if (users.length > 0) return { answer: { usedBy, count: users.length } };
      return { answer: { lineage: entry.lineage }, unset: [path] };
    },
    [path, itemIds],
  );
  if (typeof removed === 'string' || 'usedBy' in removed) return removed;
  // Rows of a lineage that the document does not name are never read: dying here leaves only dead weight.
  await library.rows.deleteMany({ lineage: removed.lineage });
  return 'removed';
}

export const mongoContracts = (library: Library): ContractStore => ({
  create: (contract) => createContract(library, contract),

  update: (tenantId, contractId, patch, meta, ifId) =>
    updateContract(library, tenantId, contractId, patch, meta, ifId),

  async get(tenantId, contractId) {
    const row = await latestRow(library, tenantId, contractId);
    return row && toContract(row);
  },

  getVersion: (tenantId, contractId, version) => versionOf(library, tenantId, contractId, version),

  listVersions: (tenantId, contractId) => historyOf(library, tenantId, contractId),

  list: (tenantId, filter, page) => listContracts(library, tenantId, filter, page),
  listTags: (tenantId, page) => listTags(library, tenantId, page),

  remove: (tenantId, contractId, ifId) => removeContract(library, tenantId, contractId, ifId),

  async listUsage(tenantId, contractId, page) {
    const document = await readLibrary(library, tenantId, [itemIds]);
    return pageIn(usersOf(document, contractId), page, ({ id, name }) => ({ id, name }));
  },

  async countUsage(tenantId, contractId) {
    return usersOf(await readLibrary(library, tenantId, [itemIds]), contractId).length;
  },

  importBundle: (tenantId, contracts, composition) => importBundle(library, tenantId, contracts, composition),
});
