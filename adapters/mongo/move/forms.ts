// How records of a move are written in MongoDB, and read back. Ids follow from the records, so that a record that is
// written again changes nothing.
import type { Document } from 'mongodb';
import type { MovedRecords, RecordKind } from '../../../src/shared/ports/moved-records.ts';

/** Kinds that MongoDB keeps; the others are in Redis. */
export type StoredKind = Exclude<RecordKind, 'values' | 'jobs'>;

export interface Form<K extends StoredKind> {
  readonly collection: string;
  toDocument(record: MovedRecords[K]): Document;
  toRecord(document: Document): MovedRecords[K];
}

export type Forms<K extends StoredKind> = { readonly [N in K]: Form<N> };
