// The store on the caller's own thread: for tests, tools and in-memory stores. A write blocks until it is on disk.

import { outageOf } from '../../src/admission/outages.ts';
import type { Noting } from '../../src/audit/port.ts';
import type { EventBatch } from '../../src/event/port.ts';
import { HubError } from '../../src/shared/error.ts';
import type { TenantReading } from '../../src/tenant/port/files.ts';
import { Database } from './database.ts';
import { CallIndex } from './events/calls.ts';
import { encodeBatch } from './events/encode.ts';
import { errorOf, failureOf } from './failure.ts';
import { createPrivate, lockStore } from './lock.ts';
import { narrowTo, tenantPages } from './move/tenant-source.ts';
import { openFile } from './open.ts';
import { kinds, storesOf } from './stores.ts';
import {
  finish,
  type OfStore,
  readAnswer,
  type SqliteStore,
  type StoreName,
  type Stores,
  storeCall,
} from './sync.ts';
import { notedWrite } from './threads/serve.ts';
import type { NotedWrite } from './threads/wire.ts';
import { UsageWriter } from './usage/write.ts';

type AnyMethod = (...args: readonly unknown[]) => unknown;

/** The methods of the port, each answered by `call`. Complete, because `kinds` is. */
export function storeMethods(
  call: (store: StoreName, method: string, args: readonly unknown[]) => Promise<unknown>,
): Stored {
  const stores = Object.entries(kinds).map(([store, methods]) => [
    store,
    Object.fromEntries(
      Object.keys(methods).map((method) => [
        method,
        (...args: readonly unknown[]) => call(store as StoreName, method, args),
      ]),
    ),
  ]);
  return Object.fromEntries(stores) as Stored;
}

type Stored = Omit<SqliteStore, OfStore>;

/**
 * The same methods, whose writes take a note along.
 * @param write makes the write and adds the note, in one transaction
 */
export const notingMethods =
  (write: (args: NotedWrite) => Promise<unknown>) =>
  (noting: Noting): Stored =>
    storeMethods((store, method, args) => write([store, method, args, noting]));

/** One connection, for reads and writes. */
class InlineConnection {
  readonly #db: Database;
  readonly #lock: ReturnType<typeof lockStore> | null;
  readonly #calls: CallIndex;
  readonly #usage: UsageWriter;
  readonly #stores: Stores;
  #isClosed = false;

  constructor(path: string) {
    const inMemory = path === ':memory:';
    this.#lock = inMemory ? null : lockStore(path);
    if (!inMemory) createPrivate(path);
    this.#db = openFile(path, { cacheBytes: 32 << 20, checkpointPages: 4000 });
    this.#calls = new CallIndex(this.#db);
    this.#calls.load();
    this.#usage = new UsageWriter(this.#db);
    this.#usage.load();
    this.#stores = storesOf(this.#db, { calls: this.#calls, usage: this.#usage }, () => true);
  }

  async call(store: StoreName, method: string, args: readonly unknown[]): Promise<unknown> {
    this.#requireOpen();
    const name = storeCall(store, method);
    const encoded = name === 'events.ingest' ? [encodeBatch(args[0] as EventBatch)] : args;
    const stores = this.#stores as unknown as { readonly [n: string]: { readonly [m: string]: AnyMethod } };
    const run = () => stores[store]?.[method]?.(...encoded);
    const isWrite = (kinds[store] as { readonly [method: string]: string })[method] === 'write';
    try {
      if (!isWrite) return readAnswer(name, finish(run()));
      return this.#db.atomically(() => {
        this.#calls.maintain();
        this.#usage.fold();
        const answer = run();
        this.#usage.flush();
        return answer;
      });
    } catch (error) {
      throw errorOf(failureOf(error));
    }
  }

  async note(args: NotedWrite): Promise<unknown> {
    this.#requireOpen();
    try {
      return this.#db.atomically(() => notedWrite({ db: this.#db, stores: this.#stores }, args));
    } catch (error) {
      throw errorOf(failureOf(error));
    }
  }

  async ping(): Promise<number> {
    const start = performance.now();
    this.#requireOpen();
    this.#db.get('SELECT 1');
    return performance.now() - start;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#db.close();
    this.#lock?.release();
  }

  #requireOpen(): void {
    if (this.#isClosed) throw outageOf('embeddedStoreClosed');
  }
}

/** The records of a tenant, over a connection of their own. */
function tenantReading(path: string, tenantId: string): TenantReading {
  if (path === ':memory:') throw new HubError('unavailable', 'A store in memory has no second connection.');
  const reading = new Database(path);
  try {
    narrowTo(reading, tenantId);
  } catch (error) {
    reading.close();
    throw error;
  }
  return {
    async *records(kind) {
      yield* tenantPages(reading, kind);
    },
    close: async () => reading.close(),
  };
}

/** @param path a file, or `:memory:` */
export async function openInline(path: string): Promise<SqliteStore> {
  const connection = new InlineConnection(path);
  return {
    ...storeMethods((store, method, args) => connection.call(store, method, args)),
    noting: notingMethods((args) => connection.note(args)),
    ping: () => connection.ping(),
    storage: () => ({ state: 'ok', freeBytes: null, totalBytes: null, reserveBytes: null }),
    readTenant: async (tenantId) => tenantReading(path, tenantId),
    close: () => connection.close(),
  };
}
