// The store on two threads, a writer and a reader, so that the event loop never waits for the disk. A third thread
// copies the write-ahead log (log-copier.ts).
import { dirname } from 'node:path';
import type { Worker } from 'node:worker_threads';
import type { EventBatch } from '../../../src/event/port.ts';
import { HubError } from '../../../src/shared/error.ts';
import type { Clock } from '../../../src/shared/ports/clock.ts';
import type { Log } from '../../../src/shared/ports/log.ts';
import { Disk, logPagesOn, mostLogPages } from '../disk.ts';
import { buffersOf, encodeBatch } from '../events/encode.ts';
import { unavailable } from '../failure.ts';
import { checkIdentity, checkPresent, type HubIdFile, type Identity } from '../hub-id.ts';
import { notingMethods, storeMethods } from '../inline.ts';
import { createPrivate, lockStore } from '../lock.ts';
import { kinds } from '../stores.ts';
import type { SqliteStore, StoreName } from '../sync.ts';
import { openingError } from '../trouble.ts';
import { type CallResult, gatherCalls } from './gather.ts';
import { LogCopier } from './log-copier.ts';
import { LogIndex } from './log-index.ts';
import { startWorker } from './start-worker.ts';
import { StoreThread } from './store-thread.ts';
import { SummaryFlush } from './summary-flush.ts';
import { readTenant } from './tenant-reader.ts';
import type { ThreadRole, ThreadStart } from './wire.ts';

const pingMs = 2000;
/** Part of the pages at which SQLite itself would copy the write-ahead log. */
const logPart = 0.8;

export interface SqliteOptions {
  /** The file; its folder is made when missing. */
  readonly path: string;
  readonly clock: Clock;
  readonly log?: Log;
  /** Writes that may wait; one more is `overloaded`. 4,096 unless given. */
  readonly maxQueuedWrites?: number;
  /** Bytes of those writes. 64 MiB unless given. */
  readonly maxQueuedBytes?: number;
  /** Bytes that ingest leaves free on the disk; null for the usual part of it, 0 for none. */
  readonly reserveBytes?: number | null;
  /** Where the folder says whose it is; without one any database is taken. */
  readonly hubId?: HubIdFile;
  /** Called about once a second with the time that the disk took to answer, in milliseconds. */
  readonly diskMeasured?: (ms: number) => void;
  /** Starts a thread; tests stop what it returns. */
  readonly startThread?: (start: ThreadStart) => Worker;
}

/**
 * A commit that balanced a tree looks through all pages that the writer keeps (SQLite counts the page which it never
 * uses among them, in files below 1 GiB), and four times as many made no commit faster.
 */
const cacheBytes = { writer: 32 << 20, reader: 64 << 20 } as const;

/** Writes by which an administrator makes room. A full disk has space for them (adapters/sqlite/purge-reserve.ts). */
const recoveryWrites: ReadonlyMap<string, 'purge' | 'sign-in'> = new Map([
  ['logins.put', 'sign-in'],
  ['logins.signedInFrom', 'sign-in'],
  // Notes of their own: a purge writes one before it removes the first event.
  ['audit.append', 'sign-in'],
  ['events.purge', 'purge'],
]);

/** Writes of many pages, whatever their arguments. */
const removals: ReadonlySet<string> = new Set(['events.purge', 'events.erase', 'retention.remove']);

/** Reads of what events add to summaries, runs and the audit chain's index. */
const summaryReads: ReadonlySet<string> = new Set([
  'audit.feed',
  'events.counts',
  'runs.get',
  'runs.list',
  'runs.recent',
  'retention.count',
  ...Object.keys(kinds.usage).map((method) => `usage.${method}`),
]);

/**
 * What a reader makes of stored events is garbage when its answer is sent: without a bound V8 keeps up to 48 MiB for
 * that.
 */
const readerLimits = { maxYoungGenerationSizeMb: 12 };

export const startThread = (start: ThreadStart): Worker =>
  startWorker('thread', `store-${start.role}`, start, start.role === 'reader' ? readerLimits : {});

/** Roughly the bytes of an argument: its texts and bytes, not deeper than records go. */
function weigh(value: unknown, depth = 4): number {
  if (typeof value === 'string') return value.length * 2;
  if (value instanceof Uint8Array) return value.byteLength;
  if (typeof value !== 'object' || value === null || depth === 0) return 8;
  let sum = 16;
  for (const part of Object.values(value)) sum += weigh(part, depth - 1);
  return sum;
}

/** The same for the arguments of many calls, most of which are texts. */
function weighAll(all: readonly (readonly unknown[])[]): number {
  let sum = 0;
  for (const args of all)
    for (const one of args) sum += typeof one === 'string' ? one.length * 2 : weigh(one);
  return sum;
}

export async function openThreads(options: SqliteOptions): Promise<SqliteStore> {
  const { path, clock, log = null, hubId = null } = options;
  const start = options.startThread ?? startThread;
  const shortOfSpace = new SharedArrayBuffer(4);
  let checkpointPages = 0;
  const maxQueuedBytes = options.maxQueuedBytes ?? 64 << 20;
  const channel = (role: ThreadRole) =>
    new StoreThread({
      name: role,
      start: () =>
        start({ role, path, tuning: { cacheBytes: cacheBytes[role], checkpointPages }, shortOfSpace }),
      clock,
      log,
      onTrouble: (trouble, cause) => disk.failed(trouble, cause),
      maxCalls: options.maxQueuedWrites ?? 4096,
      maxBytes: maxQueuedBytes,
    });
  const [writer, reader] = [channel('writer'), channel('reader')];
  const ask = (of: StoreThread, method: string) => of.call('store', method, [], 0);
  const disk = new Disk({
    path,
    clock,
    log,
    reserveBytes: options.reserveBytes ?? null,
    measured: (ms) => options.diskMeasured?.(ms),
    work: {
      spareBytes: async () => Number(await ask(reader, 'spareBytes')),
      emptyLog: () => ask(writer, 'checkpoint'),
      probe: () => ask(writer, 'probe'),
      mayGrow: (may) => Atomics.store(new Int32Array(shortOfSpace), 0, may ? 0 : 1),
    },
  });
  const logIndex = new LogIndex(path);
  const logCopier = () =>
    new LogCopier({
      start: () => startWorker('log-thread', 'store-log', { path }, { maxYoungGenerationSizeMb: 1 }),
      copyRest: () => ask(writer, 'copyLog'),
      pages: checkpointPages * logPart,
      count: () => logIndex.pagesToCopy(),
      log,
    });
  let copier: LogCopier | null = null;
  const summaries = new SummaryFlush(() => ask(writer, 'flush'), clock);
  const lock = lockStore(path);

  const identity = async () => (await ask(writer, 'identity')) as Identity;

  /** Right after set-up: a copy of the file alone must show that there are users, and the folder whose it is. */
  async function markFolder(file: HubIdFile): Promise<void> {
    try {
      checkIdentity(path, await identity(), file);
      await ask(writer, 'checkpoint');
    } catch (err) {
      log?.error({ err }, 'cannot write hub.id beside the database; the next start retries');
    }
  }

  // The reader first: the last connection that is closed empties the write-ahead log and removes it.
  async function close(): Promise<void> {
    disk.close();
    summaries.stop();
    await copier?.close();
    await reader.close();
    await writer.close();
    lock.release();
  }

  try {
    if (hubId) checkPresent(path, hubId);
    createPrivate(path);
    checkpointPages = await logPagesOn(dirname(path), options.reserveBytes ?? null);
    // The writer makes or updates the tables.
    await writer.open();
    await reader.open();
    // While the log is copied, commits lengthen it: a small disk has no room for that.
    if (checkpointPages === mostLogPages) copier = logCopier();
    if (hubId) checkIdentity(path, await identity(), hubId);
    await disk.watch();
  } catch (error) {
    await close();
    throw openingError(error, path);
  }

  /** The first tenant makes the folder this hub's; of one that is gone the write-ahead log keeps nothing either. */
  async function marked(store: string, method: string, answered: Promise<unknown>): Promise<unknown> {
    const answer = await answered;
    const isFirst =
      (store === 'tenants' && ['bootstrap', 'create', 'provision'].includes(method)) ||
      (store === 'tenantFiles' && method === 'open');
    if (store === 'tenantRecords' && method === 'forget') await ask(writer, 'checkpoint');
    if (isFirst && hubId && answer === 'created' && hubId.read() === null) await markFolder(hubId);
    return answer;
  }

  const channelOf = (store: StoreName, method: string): StoreThread =>
    (kinds[store] as { readonly [method: string]: string })[method] === 'write' ? writer : reader;

  const gathered = gatherCalls({
    send: async (store, method, all) =>
      (await channelOf(store, method).call(
        'store',
        'many',
        [store, method, all],
        weighAll(all),
      )) as CallResult[],
    onFailure({ trouble, cause }) {
      if (trouble !== null && cause !== null) disk.failed(trouble, cause);
      else if (cause !== null) log?.error({ cause }, 'the store failed');
    },
  });

  const call = (store: StoreName, method: string, args: readonly unknown[]): Promise<unknown> =>
    gathered(store, method, args) ?? callAlone(store, method, args);

  /** By tenant, the bytes of events that wait for the writer. */
  const shares = new Map<string, number>();
  /** Half of the queue at most is one tenant's. @throws HubError overloaded */
  function checkShare(tenantId: string): void {
    if ((shares.get(tenantId) ?? 0) < maxQueuedBytes / 2) return;
    throw new HubError(
      'overloaded',
      'Too many events from this tenant wait to be stored. Try again shortly.',
      {
        retryAfter: 1,
      },
    );
  }

  async function callAlone(store: StoreName, method: string, args: readonly unknown[]): Promise<unknown> {
    if (store === 'events' && method === 'ingest') {
      const eventBatch = args[0] as EventBatch;
      // Before the work of encoding, not after it.
      writer.check(0);
      checkShare(eventBatch.tenantId);
      disk.check();
      const batch = encodeBatch(eventBatch);
      await disk.take(batch.bytes);
      const { tenantId, bytes } = batch;
      checkShare(tenantId);
      shares.set(tenantId, (shares.get(tenantId) ?? 0) + bytes);
      try {
        const ingested = await writer.call(store, method, [batch], bytes, buffersOf(batch));
        summaries.note();
        copier?.note(bytes);
        return ingested;
      } finally {
        const left = (shares.get(tenantId) ?? 0) - bytes;
        if (left > 0) shares.set(tenantId, left);
        else shares.delete(tenantId);
      }
    }
    if (summaryReads.has(`${store}.${method}`)) await flushSummaries();
    const bytes = weigh(args);
    if (channelOf(store, method) === writer) copier?.note(bytes);
    const answer = await recoverable(store, method, () =>
      marked(store, method, channelOf(store, method).call(store, method, args, bytes)),
    );
    if (removals.has(`${store}.${method}`)) copier?.recount();
    if (store === 'events' && method === 'purge') await disk.purged();
    return answer;
  }

  /** Repeats a write that makes room in the space that is kept for it, if the disk had none. */
  async function recoverable(store: string, method: string, write: () => Promise<unknown>): Promise<unknown> {
    const use = recoveryWrites.get(`${store}.${method}`);
    if (use === undefined) return write();
    try {
      return await write();
    } catch (error) {
      const isFull = error instanceof HubError && error.code === 'disk_full';
      if (!isFull || !(await disk.release(use))) throw error;
      return write();
    }
  }

  /** On a disk without room nothing can be counted, and reads answer with what is. */
  async function flushSummaries(): Promise<void> {
    try {
      await summaries.finish();
    } catch (error) {
      if (disk.storage.state === 'ok') throw error;
    }
  }

  let closing: Promise<void> | null = null;
  return {
    ...storeMethods(call),
    noting: notingMethods(async (args) => {
      const [store, method] = args;
      const bytes = weigh(args);
      return recoverable(store, method, () =>
        marked(store, method, writer.call('noting', 'write', args, bytes)),
      );
    }),
    async ping() {
      const began = clock.monotonic();
      const both = Promise.all([writer, reader].map((c) => ask(c, 'ping')));
      await new Promise((resolve, reject) => {
        const limit = clock.after(pingMs, () => reject(unavailable()));
        both.then(resolve, reject).finally(() => limit.cancel());
      });
      return clock.monotonic() - began;
    },
    storage: () => disk.storage,
    readTenant: (tenantId) => readTenant(path, tenantId),
    close() {
      closing ??= close();
      return closing;
    },
  };
}
