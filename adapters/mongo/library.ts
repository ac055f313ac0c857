// A tenant's library in MongoDB: one document names the latest version of every contract and holds every composition.
// So pinning items, refusing to remove a contract in use, and importing many contracts are each one document's
// write. The words of a contract version are a row of their own, written before the document names it and never changed
// after. A process that dies between the two leaves a row that nothing names. A version leaves the document only after
// its row was marked `kept`: history reads kept rows and the rows that the document names.
import type { Collection } from 'mongodb';
import type { Composition, CompositionItem } from '../../src/composition/record.ts';
import { type ContractType, type ContractVersion, contractRecord } from '../../src/contract/record.ts';
import type { KeyedMutex } from '../../src/shared/concurrency/keyed-mutex.ts';
import { HubError } from '../../src/shared/error.ts';
import { isTooLarge, unlessTaken } from './failure.ts';
import { fieldOf, fromText, toText } from './form.ts';
import { decide, readVersioned, type Step, type VersionedDocument } from './versioned-document.ts';

export interface ContractEntry {
  readonly contractId: string;
  readonly type: ContractType;
  readonly version: number;
  /** The row of the latest version. */
  readonly row: string;
  /** Shared by all versions of this contract; a contract removed and made again has another. */
  readonly lineage: string;
}

export interface PinnedItem extends CompositionItem {
  readonly row: string;
}

export type CompositionEntry = Omit<Composition, 'items' | 'toolsConfig' | 'observability' | 'tenantId'> & {
  readonly items: readonly PinnedItem[];
  readonly toolsConfig: string | null;
  readonly observability: string | null;
  /** The library's revision that the last change made. */
  readonly order: number;
};

export interface LibraryDocument extends VersionedDocument {
  readonly contracts?: { readonly [field: string]: ContractEntry };
  readonly compositions?: { readonly [field: string]: CompositionEntry };
}

export type ContractVersionRow = ReturnType<typeof contractRecord.toDocument> & {
  /** The version's own id; rows have another, so that a failed attempt never meets a stored version. */
  readonly id: string;
  readonly lineage: string;
  readonly kept: boolean;
  /** The library's revision that made it the latest. */
  readonly order: number;
};

export interface Library {
  readonly documents: Collection<LibraryDocument>;
  readonly rows: Collection<ContractVersionRow>;
  readonly turn: KeyedMutex;
  readonly newId: () => string;
}

export const contractPath = (contractId: string): string => `contracts.${fieldOf(contractId)}`;
export const compositionPath = (name: string): string => `compositions.${fieldOf(name)}`;

export const contractIn = (document: LibraryDocument | null, contractId: string): ContractEntry | undefined =>
  document?.contracts?.[fieldOf(contractId)];
export const compositionIn = (document: LibraryDocument | null, name: string): CompositionEntry | undefined =>
  document?.compositions?.[fieldOf(name)];

/** The compositions that name a contract, by name. */
export const usersOf = (document: LibraryDocument | null, contractId: string): readonly CompositionEntry[] =>
  Object.values(document?.compositions ?? {})
    .filter((composition) => composition.items.some((item) => item.contractId === contractId))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));

/** Decides on the tenant's library, making its document when there is none. */
export const decideLibrary = async <A>(
  library: Library,
  tenantId: string,
  step: (document: LibraryDocument) => Promise<Step<A>> | Step<A>,
  fields?: readonly string[],
): Promise<A> =>
  decide<LibraryDocument, A>(
    library.turn,
    library.documents,
    tenantId,
    async (document) => step(document ?? (await begin(library.documents, tenantId))),
    fields,
  ).catch((error) => {
    if (isTooLarge(error)) throw full();
    if (error !== fresh) throw error;
    return decideLibrary(library, tenantId, step, fields);
  });

const full = (): HubError =>
  new HubError(
    'unprocessable',
    "The tenant's library is full: its list of contracts and compositions can have at most 16 MiB. " +
      'Delete unused compositions or contracts.',
  );

/** Thrown to start over on the document that was just made. */
const fresh = new Error('The library already exists.');

async function begin(documents: Collection<LibraryDocument>, tenantId: string): Promise<never> {
  await unlessTaken(documents.insertOne({ _id: tenantId, revision: 1, contracts: {}, compositions: {} }));
  throw fresh;
}

export const readLibrary = (
  library: Library,
  tenantId: string,
  fields?: readonly string[],
): Promise<LibraryDocument | null> => readVersioned(library.documents, tenantId, fields);

export function toContractRow(
  contract: ContractVersion,
  place: { readonly _id: string; readonly lineage: string; readonly order: number },
): ContractVersionRow {
  return { ...contract, ...place, definition: JSON.stringify(contract.definition), kept: false };
}

export const toContract = (row: ContractVersionRow): ContractVersion =>
  contractRecord.fromDocument({ ...row, _id: row.id });

/** Marks a version's row as part of the history: to be done before the document names another. */
export async function keepRows(library: Library, rows: readonly string[]): Promise<void> {
  if (rows.length > 0) await library.rows.updateMany({ _id: { $in: [...rows] } }, { $set: { kept: true } });
}

export const removeRows = async (library: Library, rows: readonly string[]): Promise<void> => {
  if (rows.length > 0) await library.rows.deleteMany({ _id: { $in: [...rows] }, kept: false });
};

const byPlace = (a: CompositionItem, b: CompositionItem): number =>
  a.position - b.position || (a.contractId < b.contractId ? -1 : a.contractId > b.contractId ? 1 : 0);

/** The items pinned to the latest versions, in order, or the contract that is unknown. */
export function pinItems(
  items: readonly Omit<CompositionItem, 'version'>[],
  latest: (contractId: string) => ContractEntry | undefined,
): readonly PinnedItem[] | { readonly unknownContract: string } {
  const pinned: PinnedItem[] = [];
  for (const { contractId, position, modeOverride, enabled } of items) {
    const entry = latest(contractId);
    if (!entry) return { unknownContract: contractId };
    pinned.push({ contractId, version: entry.version, position, modeOverride, enabled, row: entry.row });
  }
  return pinned.sort(byPlace);
}

export function toEntry(
  composition: Omit<Composition, 'items'>,
  items: readonly PinnedItem[],
  order: number,
): CompositionEntry {
  const { tenantId: _tenantId, toolsConfig, observability, ...rest } = composition;
  return { ...rest, toolsConfig: toText(toolsConfig), observability: toText(observability), items, order };
}

export function toComposition(tenantId: string, entry: CompositionEntry): Composition {
  const { order: _order, toolsConfig, observability, items, ...rest } = entry;
  return {
    ...rest,
    tenantId,
    items: items.map(({ row: _row, ...item }) => item),
    toolsConfig: fromText(toolsConfig),
    observability: fromText(observability),
  };
}
