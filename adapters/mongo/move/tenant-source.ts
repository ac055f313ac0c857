// A tenant's documents as records of a tenant file, without a snapshot. Documents that decide are read before those
// that they name; documents that they do not name yet are left out. So a later change is in the file whole or not at
// all.
import type { Collection, Db, Document } from 'mongodb';
import { HubError } from '../../../src/shared/error.ts';
import type { Log } from '../../../src/shared/ports/log.ts';
import type { MovedRecords } from '../../../src/shared/ports/moved-records.ts';
import type { TenantReading } from '../../../src/tenant/port/files.ts';
import type { TenantFileKind } from '../../../src/tenant/rules/file-kinds.ts';
import { asHubError } from '../failure.ts';
import type { ContractVersionRow, LibraryDocument } from '../library.ts';
import { runsOf } from '../run-projection.ts';
import type { SigningDocument } from '../signing.ts';
import { forms } from './all-forms.ts';
import type { Form } from './forms.ts';

const maxDocuments = 500;

/** Fields of documents for the nodes of their own cluster alone. */
const ofCluster = ['first', 'founding', 'changed', 'fence'];

/** Kinds whose documents have the tenant's id. */
const underTenant: ReadonlySet<TenantFileKind> = new Set(['signing', 'libraries', 'retentionCounts']);

/** The order in which the records of a kind get their numbers, where a file keeps one. */
const orders: { readonly [kind: string]: { readonly [field: string]: 1 } } = {
  auditLinks: { seq: 1 },
  approvals: { createdAt: 1, arrival: 1 },
  events: { _id: 1 },
  contracts: { order: 1 },
  deployments: { order: 1 },
};

/** Contracts that the library named when the reading began. */
interface NamedContracts {
  readonly document: LibraryDocument | null;
  /** Rows of latest versions. */
  readonly latest: ReadonlySet<string>;
  /** Version ids and the oldest version's, by row; filled while contracts are read. */
  readonly ids: Map<string, { readonly id: string; readonly lineage: string }>;
  /** Id of the oldest version, by lineage. */
  readonly oldest: Map<string, string>;
}

class TenantSource implements TenantReading {
  readonly #db: Db;
  readonly #tenantId: string;
  readonly #log: Log;
  readonly #signing: SigningDocument;
  /** Current deployments that were not read yet. */
  readonly #current: Map<string, MovedRecords['deployments']>;
  readonly #ruled = new Set<string>();
  readonly #contracts: NamedContracts;

  constructor(
    { db, tenantId, log }: { readonly db: Db; readonly tenantId: string; readonly log: Log },
    signing: SigningDocument,
    document: LibraryDocument | null,
  ) {
    this.#db = db;
    this.#tenantId = tenantId;
    this.#log = log;
    this.#signing = signing;
    const { current } = forms.signing.toRecord(signing);
    this.#current = new Map(current.map((deployment) => [deployment.id, deployment]));
    const latest = new Set(Object.values(document?.contracts ?? {}).map(({ row }) => row));
    this.#contracts = { document, latest, ids: new Map(), oldest: new Map() };
  }

  async *records<K extends TenantFileKind>(kind: K): AsyncGenerator<readonly MovedRecords[K][]> {
    try {
      if (kind === 'signing') yield [this.#record(kind, this.#signing)];
      else if (kind === 'libraries') yield* this.#library() as AsyncIterable<readonly MovedRecords[K][]>;
      else yield* this.#documents(kind);
    } catch (error) {
      throw asHubError(error, this.#log);
    }
  }

  async close(): Promise<void> {}

  #record<K extends TenantFileKind>(kind: K, document: object): MovedRecords[K] {
    const bare = Object.fromEntries(Object.entries(document).filter(([name]) => !ofCluster.includes(name)));
    return (forms[kind] as Form<K>).toRecord(bare);
  }

  async *#documents<K extends TenantFileKind>(kind: K): AsyncGenerator<readonly MovedRecords[K][]> {
    const collection: Collection<Document> = this.#db.collection(forms[kind].collection);
    const filter = this.#filterOf(kind);
    let page: MovedRecords[K][] = [];
    let order = 0;
    for await (const document of collection
      .find(filter, kind === 'runs' ? { projection: { facts: 0, open: 0 } } : {})
      .sort(orders[kind] ?? { _id: 1 })
      .batchSize(maxDocuments)) {
      if (!this.#isNamed(kind, document)) continue;
      order++;
      const record = this.#record(kind, document) as object;
      if (kind === 'toolPins')
        for (const { id, ruling } of (record as MovedRecords['toolPins']).entries)
          if (ruling !== null) this.#ruled.add(id);
      // Numbers of this cluster mean nothing elsewhere; their order does.
      if (kind === 'contracts') page.push(this.#contract(document, record, order) as MovedRecords[K]);
      else if (kind === 'deployments') page.push(this.#deployment(record) as MovedRecords[K]);
      else if (kind === 'toolDefinitions') page.push(this.#definition(record) as MovedRecords[K]);
      else if (kind === 'approvals') page.push({ ...record, order } as MovedRecords[K]);
      else if (kind === 'events') page.push({ ...record, outcomeIds: [] } as unknown as MovedRecords[K]);
      else page.push(record as MovedRecords[K]);
      if (page.length < maxDocuments) continue;
      yield page;
      page = [];
    }
    // A process that died left these in the document that decides alone.
    if (kind === 'deployments') page.push(...([...this.#current.values()] as MovedRecords[K][]));
    if (page.length > 0) yield page;
  }

  #filterOf(kind: TenantFileKind): Document {
    if (kind === 'runs') return { ...runsOf(this.#tenantId), trimmed: true };
    return underTenant.has(kind) ? { _id: this.#tenantId } : { tenantId: this.#tenantId };
  }

  /** False for a document that came after the one that names it was read. */
  #isNamed(kind: TenantFileKind, document: Document): boolean {
    if (kind === 'deployments') return Number(document.order) <= this.#signing.deployments;
    if (kind !== 'contracts') return true;
    return this.#contracts.latest.has(String(document._id)) || document.kept === true;
  }

  #contract(document: Document, record: object, order: number): object {
    const { _id, id, lineage } = document as unknown as ContractVersionRow;
    const { ids, oldest, latest } = this.#contracts;
    const first = oldest.get(lineage) ?? id;
    oldest.set(lineage, first);
    ids.set(_id, { id, lineage: first });
    return { ...record, lineage: first, order, isLatest: latest.has(_id) };
  }

  /** The document that decides has the newest signatures. */
  #deployment(record: object): object {
    const { id } = record as MovedRecords['deployments'];
    const deployment = { ...record, ...this.#current.get(id) };
    this.#current.delete(id);
    return deployment;
  }

  /** A ruled definition is kept however long no agent shows it. */
  #definition(record: object): object {
    const { id } = record as MovedRecords['toolDefinitions'];
    return { ...record, isRuled: this.#ruled.has(id) };
  }

  /** The library without contracts that were removed since, and with the ids that the file's contracts have. */
  async *#library(): AsyncGenerator<readonly MovedRecords['libraries'][]> {
    const { document, ids } = this.#contracts;
    if (!document) return;
    const library = this.#record('libraries', document);
    yield [
      {
        ...library,
        contracts: library.contracts.flatMap((entry) => {
          const version = ids.get(entry.row);
          return version ? [{ ...entry, row: version.id, lineage: version.lineage }] : [];
        }),
        compositions: library.compositions.map((composition, order) => ({
          ...composition,
          order: order + 1,
          rows: composition.rows.map((row) => ids.get(row)?.id ?? ''),
        })),
      },
    ];
  }
}

/** @throws HubError not_found for a tenant without a signing key */
export async function readTenant(db: Db, tenantId: string, log: Log): Promise<TenantReading> {
  try {
    const signing = await db.collection<SigningDocument>('signing').findOne({ _id: tenantId });
    if (!signing) throw new HubError('not_found', 'Tenant not found.');
    const library = await db.collection<LibraryDocument>('libraries').findOne({ _id: tenantId });
    return new TenantSource({ db, tenantId, log }, signing, library);
  } catch (error) {
    throw asHubError(error, log);
  }
}
