// Versioned documents decide. Each holds everything that one decision depends on, and changes only by compare-and-set
// on its revision. So a decision over several records is still one document's write. Knows no noun.
import type { Collection, Document, Filter, UpdateFilter } from 'mongodb';
import type { KeyedMutex } from '../../src/shared/concurrency/keyed-mutex.ts';
import { unavailable } from './failure.ts';

export interface VersionedDocument {
  readonly _id: string;
  readonly revision: number;
}

export interface Step<A> {
  readonly answer: A;
  /** Fields to write, by path, and fields to remove. Without either nothing is written. */
  readonly set?: { readonly [path: string]: unknown };
  readonly unset?: readonly string[];
  /** Takes back what the step wrote elsewhere, when another writer was faster. */
  readonly lost?: () => Promise<void>;
}

const attempts = 100;

/**
 * Reads the document, lets `step` decide on it, and writes the change if the document is still the one that was read;
 * else starts again. Other writes by `step` must mean nothing until the document's write. Repeating a decision is the
 * caller's business.
 * @param fields the document's fields to read; all without it
 */
export async function decide<D extends VersionedDocument, A>(
  turn: KeyedMutex,
  documents: Collection<D>,
  id: string,
  step: (document: D | null) => Promise<Step<A>> | Step<A>,
  fields?: readonly string[],
): Promise<A> {
  return turn(`${documents.collectionName}/${id}`, async () => {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const document = await readVersioned(documents, id, fields);
      const { answer, set, unset, lost } = await step(document);
      if (set === undefined && unset === undefined) return answer;
      if (document === null) throw new Error('A document that is not there cannot change.');
      const filter = { _id: id, revision: document.revision } as unknown as Filter<D>;
      const change: Document = { $set: { ...set, revision: document.revision + 1 } };
      if (unset) change.$unset = Object.fromEntries(unset.map((path) => [path, '']));
      const { matchedCount } = await documents.updateOne(filter, change as UpdateFilter<D>);
      if (matchedCount === 1) return answer;
      await lost?.();
    }
    throw unavailable();
  });
}

export async function readVersioned<D extends VersionedDocument>(
  documents: Collection<D>,
  id: string,
  fields?: readonly string[],
): Promise<D | null> {
  const projection = fields && Object.fromEntries([...fields, 'revision'].map((field) => [field, 1]));
  const filter = { _id: id } as unknown as Filter<D>;
  return documents.findOne<D>(filter, projection ? { projection } : {});
}
