// Store port of tenant files: a tenant's records as they are read for an export, and the writes of an import. Until an
// import is opened, its tenant is closed to all callers: `removedAt` is the time when an unfinished import goes.
import type { MovedRecords } from '../../shared/ports/moved-records.ts';
import type { TenantFileKind } from '../rules/file-kinds.ts';

/** Kinds that `write` takes; events go through `EventStore.ingest`. */
export type WrittenKind = Exclude<TenantFileKind, 'events'>;

export interface TenantImport {
  /** The file's. */
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly createdAt: number;
  readonly suspendedAt: number | null;
  /** The key that opens the file, sealed; empty once the import is opened. */
  readonly sealedKey: string;
  readonly isOpened: boolean;
}

/** Contents of one part of a file. */
export interface ImportedPart {
  readonly number: number;
  /** JSON of the digests of its records, by kind. */
  readonly digests: string;
  /** JSON of the end of the file; null in every part but the last. */
  readonly end: string | null;
}

/** A tenant at one moment. */
export interface TenantReading {
  /**
   * All records of a kind, some at a time; of the runs, those that are trimmed, with `facts` null. The kinds are to be
   * read in the order of a file, each once.
   */
  records<K extends TenantFileKind>(kind: K): AsyncIterable<readonly MovedRecords[K][]>;
  close(): Promise<void>;
}

export interface TenantFileStore {
  /**
   * Makes the tenant, closed to all callers until `expiresAt` and gone then. A repeat for the same file answers the
   * import that is there. `taken`: a tenant with the id exists. `other`: the tenant is being removed, or an import
   * of another file had not ended. Records of that import are removed from `now` on.
   */
  begin(request: TenantImport, now: number, expiresAt: number): Promise<TenantImport | 'taken' | 'other'>;
  get(id: string): Promise<TenantImport | null>;
  /**
   * Writes records of the import's tenant; safe to repeat. A run gets the mark and the times of its record, before or
   * after its events are counted.
   * @throws HubError conflict when another tenant has the id, the e-mail or another name that only one can have
   */
  write<K extends WrittenKind>(tenantId: string, kind: K, records: readonly MovedRecords[K][]): Promise<void>;
  /** Notes that all records of a part are written; safe to repeat. */
  createPart(id: string, tenantId: string, part: ImportedPart): Promise<void>;
  /** In the order of their numbers. */
  listParts(id: string): Promise<readonly ImportedPart[]>;
  /**
   * Opens the tenant to callers, and forgets the parts and the key. `created` when it was not open. `absent`, without a
   * change: the import does not exist, or its tenant is being removed at `now`.
   */
  open(id: string, now: number): Promise<'created' | 'exists' | 'absent'>;
}
