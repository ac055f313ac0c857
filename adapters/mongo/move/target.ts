// A database that a move fills. Until the move has ended, its marker keeps nodes from starting on the database
// (refuseUnfinishedMove). All writes can be repeated.
import type { Collection, Db, Document, MongoClient } from 'mongodb';
import { currentFormat } from '../../../src/shared/cluster-format.ts';
import { HubError } from '../../../src/shared/error.ts';
import type { Log } from '../../../src/shared/ports/log.ts';
import type { MovedRecords } from '../../../src/shared/ports/moved-records.ts';
import { asHubError, isDuplicate, takenAmong, unlessTaken } from '../failure.ts';
import { connect, databaseOf, notOpened } from '../index.ts';
import { createIndexes } from '../indexes.ts';
import { forms } from './all-forms.ts';
import type { Form, StoredKind } from './forms.ts';
import { type MoveMarker, markerId, markers } from './marker.ts';

/** One command has about as many documents, or bytes of JSON. */
const maxDocuments = 1_000;

export interface MoveTarget {
  /** The move that began here; null in a database without one. */
  marker(): Promise<MoveMarker | null>;
  /** The name of a collection that contains documents; null in an empty database. */
  occupied(): Promise<string | null>;
  /** Leaves the marker, unless it is there. */
  begin(hubId: string, at: number): Promise<void>;
  /** Notes how many records of each kind are written. */
  note(written: { readonly [kind: string]: number }): Promise<void>;
  write<K extends StoredKind>(kind: K, records: readonly MovedRecords[K][]): Promise<void>;
  /** All records of a kind, some at a time; links of audit chains by tenant, newest first. */
  read<K extends StoredKind>(kind: K): AsyncIterable<readonly MovedRecords[K][]>;
  /** Removes everything that the move wrote. */
  empty(): Promise<void>;
  /**
   * Makes all indexes, once the documents are there: that takes less than an update of each index by every write.
   * @throws HubError conflict when two records have the same name in MongoDB
   */
  index(): Promise<void>;
  /** From now on, nodes start on the database. */
  end(at: number): Promise<void>;
  close(): Promise<void>;
}

const twins = (which: string): HubError =>
  new HubError(
    'conflict',
    `Records ${which} cannot be moved, because two of them have the same name in MongoDB. Nothing was changed in ` +
      'DATA_DIR. Please report this.',
  );

class DatabaseTarget implements MoveTarget {
  readonly #client: MongoClient;
  readonly #db: Db;
  readonly #log: Log;
  readonly #moves: ReturnType<typeof markers>;

  constructor(client: MongoClient, db: Db, log: Log) {
    this.#client = client;
    this.#db = db;
    this.#log = log;
    this.#moves = markers(db);
  }

  async *read<K extends StoredKind>(kind: K): AsyncGenerator<readonly MovedRecords[K][]> {
    const { toRecord } = forms[kind] as Form<K>;
    try {
      let page: MovedRecords[K][] = [];
      const documents = this.#collectionOf(kind).find().batchSize(maxDocuments);
      for await (const document of kind === 'auditLinks'
        ? documents.sort({ tenantId: 1, seq: -1 })
        : documents) {
        page.push(toRecord(document));
        if (page.length < maxDocuments) continue;
        yield page;
        page = [];
      }
      if (page.length > 0) yield page;
    } catch (error) {
      throw asHubError(error, this.#log);
    }
  }

  marker(): Promise<MoveMarker | null> {
    return this.#guarded(() => this.#moves.findOne({ _id: markerId }));
  }

  occupied(): Promise<string | null> {
    return this.#guarded(async () => {
      for (const name of await this.#names()) if (await this.#db.collection(name).findOne()) return name;
      return null;
    });
  }

  begin(hubId: string, at: number): Promise<void> {
    return this.#guarded(async () => {
      const marker = { _id: markerId, hubId, startedAt: at, written: {}, endedAt: null };
      await unlessTaken(this.#moves.insertOne(marker));
    });
  }

  note(written: { readonly [kind: string]: number }): Promise<void> {
    return this.#guarded(async () => {
      await this.#moves.updateOne({ _id: markerId }, { $set: { written } });
    });
  }

  write<K extends StoredKind>(kind: K, records: readonly MovedRecords[K][]): Promise<void> {
    return this.#guarded(() => this.#write(kind, records));
  }

  empty(): Promise<void> {
    return this.#guarded(async () => {
      await this.#moves.updateOne({ _id: markerId }, { $set: { written: {} } });
      for (const name of await this.#names()) await this.#db.collection(name).deleteMany({});
    });
  }

  index(): Promise<void> {
    return this.#guarded(async () => {
      await createIndexes(this.#db).catch((error: unknown) => {
        throw isDuplicate(error) ? twins('of one collection') : error;
      });
    });
  }

  end(at: number): Promise<void> {
    return this.#guarded(async () => {
      const format = { _id: 'cluster', ...currentFormat };
      await this.#db
        .collection<{ _id: string }>('formats')
        .replaceOne({ _id: format._id }, format, { upsert: true });
      await this.#moves.updateOne({ _id: markerId }, { $set: { endedAt: at } });
    });
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  #collectionOf(kind: StoredKind): Collection<Document> {
    return this.#db.collection(forms[kind].collection);
  }

  /** An error of the driver as one line. */
  async #guarded<T>(task: () => Promise<T>): Promise<T> {
    try {
      return await task();
    } catch (error) {
      throw asHubError(error, this.#log);
    }
  }

  async #names(): Promise<readonly string[]> {
    return (await this.#db.listCollections({}, { nameOnly: true }).toArray())
      .map(({ name }) => name)
      .filter((name) => !name.startsWith('system.') && name !== this.#moves.collectionName);
  }

  async #write<K extends StoredKind>(kind: K, records: readonly MovedRecords[K][]): Promise<void> {
    const { toDocument } = forms[kind] as Form<K>;
    const collection = this.#collectionOf(kind);
    const documents = records.map(toDocument);
    const refused = await takenAmong(collection.insertMany(documents, { ordered: false }));
    if (refused.length === 0) return;
    // A run of this move that was killed wrote them: under the same ids.
    const ids = refused.map((i) => documents[i]?._id);
    const stored = await collection.countDocuments({ _id: { $in: ids } });
    if (stored === new Set(ids).size) return;
    throw twins(`of the kind ${kind}`);
  }
}

/** No agent waits for a move: it is as patient as a person. Milliseconds. */
const connectMs = 10_000;

/** Connects. @throws HubError unavailable when no server that takes writes answers within about 10 s */
export async function openMoveTarget(url: string, log: Log): Promise<MoveTarget> {
  const client = connect(url, 0, connectMs);
  try {
    await client.connect();
    const db = client.db(databaseOf(url));
    await db.command({ ping: 1 });
    return new DatabaseTarget(client, db, log);
  } catch (error) {
    await client.close();
    throw notOpened(error, client.options.tls === true, log);
  }
}
