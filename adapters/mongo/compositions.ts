// Compositions in MongoDB: entries of the tenant's library document (adapters/mongo/library.ts), items included, so
// that pinning them to the latest versions and saving them is one write.

import {
  type CompositionPatch,
  type CompositionStore,
  type ItemSummary,
  type ItemView,
  maxDefinitions,
} from '../../src/composition/port.ts';
import type { Composition, CompositionItem, CompositionSummary } from '../../src/composition/record.ts';
import type { Page, PageRequest } from '../../src/shared/ports/page.ts';
import { fromText, toText } from './form.ts';
import {
  compositionIn,
  compositionPath,
  contractIn,
  decideLibrary,
  type Library,
  type LibraryDocument,
  pinItems,
  readLibrary,
  toComposition,
  toEntry,
  usersOf,
} from './library.ts';
import { pageIn } from './page.ts';

interface PlacedItem {
  readonly item: ItemSummary;
  readonly row: string;
}

/** How often a reading starts over because a removed composition's contracts vanished under it. */
const readings = 3;

const pin = (document: LibraryDocument, items: readonly Omit<CompositionItem, 'version'>[]) =>
  pinItems(items, (contractId) => contractIn(document, contractId));

/** The items in the words of their pinned versions, each with the id of its contract's row. */
async function itemsOf(library: Library, tenantId: string, name: string): Promise<readonly PlacedItem[]> {
  for (let reading = 1; ; reading++) {
    const document = await readLibrary(library, tenantId, ['contracts', compositionPath(name)]);
    const entry = compositionIn(document, name);
    if (!entry) return [];
    const contractRows = await library.rows
      .find({ _id: { $in: entry.items.map((item) => item.row) } }, { projection: { name: 1, type: 1 } })
      .toArray();
    const rows = new Map(contractRows.map((row) => [row._id, row]));
    const items = entry.items.flatMap(({ row: id, ...pinned }): PlacedItem[] => {
      const row = rows.get(id);
      if (!row) return [];
      const latestVersion = contractIn(document, pinned.contractId)?.version ?? pinned.version;
      return [{ row: id, item: { ...pinned, name: row.name, type: row.type, latestVersion } }];
    });
    if (items.length === entry.items.length || reading === readings) return items;
  }
}

function createComposition(library: Library, composition: Parameters<CompositionStore['create']>[0]) {
  return decideLibrary<Composition | 'exists' | { readonly unknownContract: string }>(
    library,
    composition.tenantId,
    (document) => {
      if (compositionIn(document, composition.name)) return { answer: 'exists' };
      const items = pin(document, composition.items);
      if ('unknownContract' in items) return { answer: items };
      const entry = toEntry(composition, items, document.revision + 1);
      return {
        answer: toComposition(composition.tenantId, entry),
        set: { [compositionPath(composition.name)]: entry },
      };
    },
  );
}

function updateComposition(
  library: Library,
  tenantId: string,
  name: string,
  patch: CompositionPatch,
  now: number,
  ifUpdatedAt?: number,
) {
  return decideLibrary<Composition | 'absent' | 'changed' | { readonly unknownContract: string }>(
    library,
    tenantId,
    (document) => {
      const before = compositionIn(document, name);
      if (!before) return { answer: 'absent' };
      if (ifUpdatedAt !== undefined && before.updatedAt !== ifUpdatedAt) return { answer: 'changed' };
      const { items: wantedItems, toolsConfig, observability, ...fields } = patch;
      const items = wantedItems === undefined ? before.items : pin(document, wantedItems);
      if ('unknownContract' in items) return { answer: items };
      const entry = {
        ...before,
        ...fields,
        ...(toolsConfig === undefined ? {} : { toolsConfig: toText(toolsConfig) }),
        ...(observability === undefined ? {} : { observability: toText(observability) }),
        items,
        updatedAt: Math.max(now, before.updatedAt + 1),
        order: document.revision + 1,
      };
      return { answer: toComposition(tenantId, entry), set: { [compositionPath(name)]: entry } };
    },
  );
}

async function enabledItems(
  library: Library,
  tenantId: string,
  name: string,
): Promise<readonly ItemView[] | 'too_large'> {
  const enabled = (await itemsOf(library, tenantId, name)).filter(({ item }) => item.enabled);
  const definitions = new Map<string, string>();
  let bytes = 0;
  const rows = library.rows
    .find({ _id: { $in: enabled.map(({ row }) => row) } }, { projection: { definition: 1 } })
    .batchSize(8);
  for await (const { _id, definition } of rows) {
    bytes += Buffer.byteLength(definition);
    if (bytes > maxDefinitions) return 'too_large';
    definitions.set(_id, definition);
  }
  return enabled.flatMap(({ item, row }): ItemView[] => {
    const definition = fromText(definitions.get(row) ?? null);
    return definition ? [{ ...item, definition }] : [];
  });
}

async function listCompositions(
  library: Library,
  tenantId: string,
  page: PageRequest,
): Promise<Page<CompositionSummary>> {
  const document = await readLibrary(library, tenantId, ['compositions']);
  const newest = Object.values(document?.compositions ?? {}).sort(
    (a, b) => b.updatedAt - a.updatedAt || b.order - a.order,
  );
  return pageIn(newest, page, (entry) => ({
    name: entry.name,
    description: entry.description,
    defaultsMode: entry.defaultsMode,
    updateStrategy: entry.updateStrategy,
    createdBy: entry.createdBy,
    updatedAt: entry.updatedAt,
    contractCount: entry.items.length,
  }));
}

function removeComposition(library: Library, tenantId: string, name: string, ifUpdatedAt?: number) {
  return decideLibrary<Composition | null | 'changed'>(
    library,
    tenantId,
    (document) => {
      const entry = compositionIn(document, name);
      if (!entry) return { answer: null };
      if (ifUpdatedAt !== undefined && entry.updatedAt !== ifUpdatedAt) return { answer: 'changed' };
      return { answer: toComposition(tenantId, entry), unset: [compositionPath(name)] };
    },
    [compositionPath(name)],
  );
}

export const mongoCompositions = (library: Library): CompositionStore => ({
  create: (composition) => createComposition(library, composition),
  update: (tenantId, name, patch, now, ifUpdatedAt) =>
    updateComposition(library, tenantId, name, patch, now, ifUpdatedAt),
  async get(tenantId, name) {
    const entry = compositionIn(await readLibrary(library, tenantId, [compositionPath(name)]), name);
    return entry ? toComposition(tenantId, entry) : null;
  },
  async listItems(tenantId, name) {
    return (await itemsOf(library, tenantId, name)).map(({ item }) => item);
  },
  listEnabledItems: (tenantId, name) => enabledItems(library, tenantId, name),
  list: (tenantId, page) => listCompositions(library, tenantId, page),
  async listAutomatic(tenantId, contractId) {
    const document = await readLibrary(library, tenantId, ['compositions']);
    return usersOf(document, contractId)
      .filter((entry) => entry.updateStrategy === 'auto_deploy')
      .map((entry) => entry.name);
  },
  remove: (tenantId, name, ifUpdatedAt) => removeComposition(library, tenantId, name, ifUpdatedAt),
});
