// Importing contracts and their composition: rows first, then one write of the library document that names them all
// (library.ts).

import type { Composition } from '../../src/composition/record.ts';
import type { ContractStore } from '../../src/contract/port.ts';
import type { ContractVersion } from '../../src/contract/record.ts';
import { HubError } from '../../src/shared/error.ts';
import {
  type ContractEntry,
  type ContractVersionRow,
  compositionIn,
  compositionPath,
  contractIn,
  contractPath,
  decideLibrary,
  keepRows,
  type Library,
  type LibraryDocument,
  pinItems,
  removeRows,
  toContractRow,
  toEntry,
} from './library.ts';

type Answer = Awaited<ReturnType<ContractStore['importBundle']>>;

interface Plan {
  /** The latest version of each imported contract. */
  readonly entries: ReadonlyMap<string, ContractEntry>;
  readonly rows: readonly ContractVersionRow[];
  readonly created: readonly string[];
  readonly updated: readonly string[];
}

/** A new version keeps these from the version before: the name of an imported contract is made from its id. */
type Wording = Pick<ContractVersion, 'name' | 'description' | 'tags'>;

/** By the id of the contract. */
async function wordingsOf(
  { rows }: Library,
  document: LibraryDocument,
  contracts: readonly ContractVersion[],
): Promise<ReadonlyMap<string, Wording>> {
  const latest = new Set(contracts.flatMap(({ contractId }) => contractIn(document, contractId)?.row ?? []));
  if (latest.size === 0) return new Map();
  const stored = await rows
    .find({ _id: { $in: [...latest] } }, { projection: { contractId: 1, name: 1, description: 1, tags: 1 } })
    .toArray();
  return new Map(
    stored.map(({ contractId, name, description, tags }) => [contractId, { name, description, tags }]),
  );
}

/** Changes of the import to the library, or the id of the contract whose type would change. */
async function plan(
  library: Library,
  document: LibraryDocument,
  contracts: readonly ContractVersion[],
): Promise<Plan | string> {
  const wordings = new Map(await wordingsOf(library, document, contracts));
  const entries = new Map<string, ContractEntry>();
  const rows: ContractVersionRow[] = [];
  const created: string[] = [];
  const updated = new Set<string>();
  for (const contract of contracts) {
    const { contractId, type } = contract;
    const before = entries.get(contractId) ?? contractIn(document, contractId);
    if (before && before.type !== type) return contractId;
    const row = library.newId();
    const version = (before?.version ?? 0) + 1;
    const entry = { contractId, type, version, row, lineage: before?.lineage ?? row };
    if (!before) created.push(contractId);
    else if (!created.includes(contractId)) updated.add(contractId);
    const { name, description, tags } = wordings.get(contractId) ?? contract;
    wordings.set(contractId, { name, description, tags });
    rows.push(
      toContractRow(
        { ...contract, name, description, tags, version },
        { _id: row, lineage: entry.lineage, order: document.revision + 1 },
      ),
    );
    entries.set(contractId, entry);
  }
  return { entries, rows, created, updated: [...updated] };
}

export const importBundle = (
  library: Library,
  tenantId: string,
  contracts: readonly ContractVersion[],
  composition: Composition,
): Promise<Answer> =>
  decideLibrary<Answer>(library, tenantId, async (document) => {
    const planned = await plan(library, document, contracts);
    if (typeof planned === 'string') return { answer: { typeChanged: planned } };
    const { entries, rows, created, updated } = planned;
    const set: { [path: string]: unknown } = {};
    for (const entry of entries.values()) set[contractPath(entry.contractId)] = entry;
    const taken = compositionIn(document, composition.name) !== undefined;
    if (!taken) {
      const items = pinItems(composition.items, (id) => entries.get(id) ?? contractIn(document, id));
      if ('unknownContract' in items) {
        throw new HubError(
          'unprocessable',
          `The composition contains contract '${items.unknownContract}', which does not exist. Create it, or remove it from the composition.`,
        );
      }
      set[compositionPath(composition.name)] = toEntry(composition, items, document.revision + 1);
    }
    // Of a contract that is imported twice only the last version stays in the document.
    const last = new Set([...entries.values()].map((entry) => entry.row));
    const replaced = updated.flatMap((id) => contractIn(document, id)?.row ?? []);
    await keepRows(library, replaced);
    if (rows.length > 0) {
      await library.rows.insertMany(rows.map((row) => (last.has(row._id) ? row : { ...row, kept: true })));
    }
    const written = rows.map((row) => row._id);
    return {
      answer: { created, updated, composition: taken ? null : composition.name },
      set,
      lost: async () => {
        await library.rows.updateMany({ _id: { $in: written } }, { $set: { kept: false } });
        await removeRows(library, written);
      },
    };
  });
