// The store on the caller's own thread: for tests, tools and in-memory stores. A write blocks until it is on disk.

import type { Noting } from '../../src/audit/port.ts';
import type { EventBatch } from '../../src/event/port.ts';
import { HubError } from '../../src/shared/error.ts';
import { Database } from './database.ts';
import { CallIndex } from './events/calls.ts';
import { encodeBatch } from './events/encode.ts';
import { errorOf, failureOf } from './failure.ts';
import { createPrivate, lockStore } from './lock.ts';
import { narrowTo, tenantPages } from './move/tenant-source.ts';
import { openFile } from './open.ts';
import { kinds, storesOf } from './stores.ts';
import { finish, type OfStore, type SqliteStore, type StoreName } from './sync.ts';
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

/** @param path a file, or `:memory:` */
export async function openInline(path: string): Promise<SqliteStore> {
  const inMemory = path === ':memory:';
  const lock = inMemory ? null : lockStore(path);
  if (!inMemory) createPrivate(path);
  const db = openFile(path, { cacheBytes: 32 << 20, checkpointPages: 4000 });
  const calls = new CallIndex(db);
  calls.load();
  const usage = new UsageWriter(db);
  usage.load();
  const all = storesOf(db, { calls, usage }, () => true);
  const stores = all as unknown as { readonly [store: string]: { readonly [method: string]: AnyMethod } };
  let closed = false;

  async function call(store: StoreName, method: string, args: readonly unknown[]): Promise<unknown> {
    if (closed) throw new HubError('unavailable', 'The store is closed.');
    const encoded = store === 'events' && method === 'ingest' ? [encodeBatch(args[0] as EventBatch)] : args;
    const run = () => stores[store]?.[method]?.(...encoded);
    const writes = (kinds[store] as { readonly [method: string]: string })[method] === 'write';
    try {
      if (!writes) return finish(run());
      return db.atomically(() => {
        calls.maintain();
        usage.fold();
        const answer = run();
        usage.flush();
        return answer;
      });
    } catch (error) {
      throw errorOf(failureOf(error));
    }
  }

  async function write(args: NotedWrite): Promise<unknown> {
    if (closed) throw new HubError('unavailable', 'The store is closed.');
    try {
      return db.atomically(() => notedWrite({ db, stores: all }, args));
    } catch (error) {
      throw errorOf(failureOf(error));
    }
  }

  return {
    ...storeMethods(call),
    noting: notingMethods(write),
    async ping() {
      const start = performance.now();
      if (closed) throw new HubError('unavailable', 'The store is closed.');
      db.get('SELECT 1');
      return performance.now() - start;
    },
    storage: () => ({ state: 'ok', freeBytes: null, reserveBytes: null }),
    async readTenant(tenantId) {
      if (inMemory) throw new HubError('unavailable', 'A store in memory has no second connection.');
      const reading = new Database(path);
      narrowTo(reading, tenantId);
      return {
        async *records(kind) {
          yield* tenantPages(reading, kind);
        },
        close: async () => reading.close(),
      };
    },
    async close() {
      if (closed) return;
      closed = true;
      db.close();
      lock?.release();
    },
  };
}
