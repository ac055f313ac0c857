// The recorded stores of test/stores/recorded: how they are packed, unpacked, and opened in a hub whose clock stands
// still at the moment of the recording.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import { BSON, type Db, type Document } from 'mongodb';
import { systemClock } from '../../adapters/node/clock.ts';
import { openSqliteInline } from '../../adapters/sqlite/index.ts';
import type { SqliteStore } from '../../adapters/sqlite/sync.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { DocumentStore } from '../../src/shared/ports/store.ts';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';
import type { RecordedReply } from './replies.ts';

const folder = new URL('recorded/', import.meta.url).pathname;

/** The parts of a recording besides its store. */
export interface Recording {
  /** Epoch milliseconds. */
  readonly now: number;
  readonly masterSecret: string;
  readonly user: UserCaller;
  readonly replies: readonly RecordedReply[];
}

export type RecordedFile = 'data' | 'backup' | 'mongo' | 'sqlite-replies' | 'mongo-replies';
const pathOf = (name: RecordedFile): string => join(folder, `${name}.br`);

export function writeRecorded(name: RecordedFile, bytes: Uint8Array | string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(pathOf(name), brotliCompressSync(bytes));
}

export const readRecorded = (name: RecordedFile): Buffer => brotliDecompressSync(readFileSync(pathOf(name)));

export const readRecording = (name: 'sqlite-replies' | 'mongo-replies'): Recording =>
  JSON.parse(readRecorded(name).toString());

type Dump = { readonly [collection: string]: readonly Document[] };

export async function dumpMongo(db: Db): Promise<string> {
  const collections: { [name: string]: Document[] } = {};
  for (const { name } of await db.listCollections({}, { nameOnly: true }).toArray())
    collections[name] = await db.collection(name).find().toArray();
  return BSON.EJSON.stringify(collections, { relaxed: false });
}

export async function loadMongo(db: Db): Promise<void> {
  const dump: Dump = BSON.EJSON.parse(readRecorded('mongo').toString(), { relaxed: false });
  for (const [name, documents] of Object.entries(dump))
    if (documents.length > 0) await db.collection(name).insertMany([...documents]);
}

/** A clock that stands still while its timers run: adapters wait for real servers. */
export const stoppedClock = (now: number): Clock => ({ ...systemClock, now: () => now });

/** A hub on MongoDB; session values and jobs, which a cluster has in Redis, are new. */
export async function hubOnMongo(
  store: DocumentStore,
  data: Omit<Recording, 'user' | 'replies'>,
): Promise<TestHub> {
  const { values, jobs, close, ...others } = await openSqliteInline(':memory:');
  const both = async (): Promise<void> => void (await Promise.all([store.close(), close()]));
  const whole: SqliteStore = { ...others, ...store, values, jobs, close: both };
  return makeHub({}, undefined, undefined, { store: whole, ...data });
}
