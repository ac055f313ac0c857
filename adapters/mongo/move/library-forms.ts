// Contracts, compositions, bundles, deployments and tool pins of a move as documents.
import { Binary } from 'mongodb';
import {
  compareTexts,
  type LibraryKind,
  type MovedDeployment,
  type MovedPins,
  type MovedRecords,
} from '../../../src/shared/ports/moved-records.ts';
import type { BundleRow } from '../bundles.ts';
import { bare, bundleField, currentField } from '../deployments.ts';
import { fieldOf, fromText, toRow, toText } from '../form.ts';
import {
  type ContractVersionRow,
  type LibraryDocument,
  toComposition,
  toContract,
  toContractRow,
  toEntry,
} from '../library.ts';
import type { OrderedDeployment, SigningDocument } from '../signing.ts';
import { documentId, entriesIn, entryField, serversIn, type ToolDocument } from '../tool-document.ts';
import type { Forms } from './forms.ts';

/** The name behind `fieldOf`. */
const nameOf = (field: string): string => decodeURIComponent(field.slice(1));

const movedDeployment = (deployment: OrderedDeployment): MovedDeployment => ({
  ...bare(deployment),
  order: deployment.order,
});

function signingDocument(record: MovedRecords['signing']): SigningDocument {
  const { tenantId, active, successions, deployments, current, sequences, removed } = record;
  return {
    _id: tenantId,
    revision: 1,
    active,
    deployments,
    current: Object.fromEntries(current.map((one) => [currentField(one.env, one.bundleName), one])),
    sequences: Object.fromEntries(
      sequences.map(({ env, bundleName, last }) => [currentField(env, bundleName), last]),
    ),
    removed: Object.fromEntries(removed.map(({ bundleName, version }) => [bundleField(bundleName), version])),
    successions,
  };
}

function signingRecord(document: SigningDocument): MovedRecords['signing'] {
  const sequences = Object.entries(document.sequences ?? {}).map(([field, last]) => {
    const name = nameOf(field);
    const colon = name.indexOf(':');
    return { env: name.slice(0, colon), bundleName: name.slice(colon + 1), last };
  });
  const removed = Object.entries(document.removed ?? {}).map(([field, version]) => ({
    bundleName: nameOf(field),
    version,
  }));
  return {
    tenantId: document._id,
    active: document.active,
    successions: document.successions ?? [],
    deployments: document.deployments,
    current: Object.values(document.current)
      .map(movedDeployment)
      .sort((a, b) => a.order - b.order),
    sequences: sequences.sort(
      (a, b) => compareTexts(a.env, b.env) || compareTexts(a.bundleName, b.bundleName),
    ),
    removed: removed.sort((a, b) => compareTexts(a.bundleName, b.bundleName)),
  };
}

function libraryDocument({ tenantId, contracts, compositions }: MovedRecords['libraries']): LibraryDocument {
  const entries = compositions.map(({ order, rows, items, ...composition }) => {
    const pinned = items.map((item, i) => ({ ...item, row: rows[i] ?? '' }));
    return [fieldOf(composition.name), toEntry(composition, pinned, order)] as const;
  });
  return {
    _id: tenantId,
    // Above the order of everything that it contains.
    revision: 2 ** 32,
    contracts: Object.fromEntries(contracts.map((entry) => [fieldOf(entry.contractId), entry])),
    compositions: Object.fromEntries(entries),
  };
}

const libraryRecord = (document: LibraryDocument): MovedRecords['libraries'] => ({
  tenantId: document._id,
  contracts: Object.values(document.contracts ?? {}).sort((a, b) => compareTexts(a.contractId, b.contractId)),
  compositions: Object.values(document.compositions ?? {})
    .map((entry) => ({
      ...toComposition(document._id, entry),
      order: entry.order,
      rows: entry.items.map(({ row }) => row),
    }))
    .sort((a, b) => compareTexts(a.name, b.name)),
});

function pinsDocument({ tenantId, env, mode, sequence, servers, entries }: MovedPins): ToolDocument {
  const tools: { [server: string]: { [id: string]: MovedPins['entries'][number] } } = {};
  for (const entry of entries) {
    const field = fieldOf(entry.server);
    tools[field] ??= {};
    tools[field][entryField(entry.id)] = entry;
  }
  return {
    _id: documentId(tenantId, env),
    revision: 1,
    tenantId,
    env,
    mode,
    sequence,
    servers: Object.fromEntries(servers.map((server) => [fieldOf(server.server), server])),
    tools,
  };
}

const pinsRecord = (document: ToolDocument): MovedPins => ({
  tenantId: document.tenantId,
  env: document.env,
  mode: document.mode,
  sequence: document.sequence,
  servers: [...serversIn(document)].sort((a, b) => compareTexts(a.server, b.server)),
  entries: [...entriesIn(document, null)].sort((a, b) => compareTexts(a.id, b.id)),
});

const bytesOf = ({ buffer, position }: Binary): Buffer => Buffer.from(buffer.subarray(0, position));

export const libraryForms: Forms<LibraryKind> = {
  signing: {
    collection: 'signing',
    toDocument: signingDocument,
    toRecord: (document) => signingRecord(document as unknown as SigningDocument),
  },
  deployments: {
    collection: 'deployments',
    toDocument: (deployment) => ({ ...toRow(deployment), asOf: 1 }),
    toRecord: ({ _id, asOf: _asOf, ...rest }) =>
      movedDeployment({ id: String(_id), ...rest } as unknown as OrderedDeployment),
  },
  bundles: {
    collection: 'bundles',
    toDocument: ({ id, yaml, snapshot, deletedAt, ...rest }) => ({
      _id: id,
      ...rest,
      snapshot: toText(snapshot),
      yaml: new Binary(Buffer.from(yaml, 'base64')),
      ...(deletedAt === null ? {} : { deletedAt }),
    }),
    toRecord(document) {
      const { _id: id, yaml, snapshot, deletedAt = null, ...rest } = document as unknown as BundleRow;
      return {
        ...rest,
        id,
        snapshot: fromText(snapshot),
        yaml: bytesOf(yaml).toString('base64'),
        deletedAt,
      };
    },
  },
  contracts: {
    collection: 'contracts',
    toDocument: ({ lineage, order, isLatest, ...contract }) => ({
      ...toContractRow(contract, { _id: contract.id, lineage, order }),
      kept: !isLatest,
    }),
    toRecord(document) {
      const row = document as unknown as ContractVersionRow;
      return { ...toContract(row), lineage: row.lineage, order: row.order, isLatest: !row.kept };
    },
  },
  libraries: {
    collection: 'libraries',
    toDocument: libraryDocument,
    toRecord: (document) => libraryRecord(document as unknown as LibraryDocument),
  },
  toolPins: {
    collection: 'toolPins',
    toDocument: pinsDocument,
    toRecord: (document) => pinsRecord(document as unknown as ToolDocument),
  },
  toolDefinitions: {
    collection: 'toolDefinitions',
    toDocument: toRow,
    toRecord: ({ _id, ...rest }) => ({ id: String(_id), ...rest }) as MovedRecords['toolDefinitions'],
  },
};
