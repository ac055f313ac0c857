// The store on two threads, a writer and a reader, so that the event loop never waits for the disk. A third thread
// copies the write-ahead log (log-copier.ts).
import { dirname } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { refusalOf } from '../../../src/admission/admission.ts';
import { admissionTable } from '../../../src/admission/table.ts';
import type { EventBatch } from '../../../src/event/port.ts';
import { HubError } from '../../../src/shared/error.ts';
import type { Clock } from '../../../src/shared/ports/clock.ts';
import type { Log } from '../../../src/shared/ports/log.ts';
import type { Storage } from '../../../src/shared/storage.ts';
import { Disk, logPagesOn, mostLogPages } from '../disk.ts';
import { buffersOf, encodeBatch } from '../events/encode.ts';
import { unavailable } from '../failure.ts';
import { checkIdentity, checkPresent, type HubIdFile, type Identity } from '../hub-id.ts';
import { notingMethods, storeMethods } from '../inline.ts';
import { createPrivate, lockStore } from '../lock.ts';
import { type Kind, kinds } from '../stores.ts';
import { readAnswer, type SqliteStore, type StoreCall, type StoreName, storeCall } from '../sync.ts';
import { openingError } from '../trouble.ts';
import { type CallResult, gatherCalls } from './gather.ts';
import { LogCopier } from './log-copier.ts';
import { LogIndex } from './log-index.ts';
import { startWorker } from './start-worker.ts';
import { StoreThread } from './store-thread.ts';
import { SummaryFlush } from './summary-flush.ts';
import { readTenant } from './tenant-reader.ts';
import { weigh, weighAll } from './weight.ts';
import type { NotedWrite, ThreadRole, ThreadStart } from './wire.ts';

const [storeWrites] = admissionTable.storeWrites.bounds;
const [tenantEvents] = admissionTable.tenantEvents.bounds;
const pingMs = 2000;
/** Part of the pages at which SQLite itself would copy the write-ahead log. */
const logPart = 0.8;

export interface SqliteOptions {
  /** The file; its folder is made when missing. */
  readonly path: string;
  readonly clock: Clock;
  readonly log?: Log;
  /** Writes that may wait; one more is `overloaded`. 4,096 by default. */
  readonly maxQueuedWrites?: number;
  /** Bytes of waiting writes. 64 MiB by default. */
  readonly maxQueuedBytes?: number;
  /** Bytes that ingest leaves free on the disk; null for the usual part of it, 0 for none. */
  readonly reserveBytes?: number | null;
  /** File in the folder with the id of its hub; without this option any database is taken. */
  readonly hubId?: HubIdFile;
  /** Called about once a second with the time that the disk took to answer, in milliseconds. */
  readonly diskMeasured?: (ms: number) => void;
  /** Starts a thread; tests stop what it returns. */
  readonly startThread?: (start: ThreadStart) => Worker;
}

/**
 * A commit that balanced a tree looks through all pages that the writer keeps. In files below 1 GiB, SQLite counts the
 * page which it never uses among them. Four times as many pages made no commit faster.
 */
const cacheBytes = { writer: 32 << 20, reader: 64 << 20 } as const;

/** Writes by which an administrator makes room. A full disk has space for them (adapters/sqlite/purge-reserve.ts). */
const recoveryWrites = new Map<StoreCall, 'purge' | 'sign-in'>([
  ['logins.create', 'sign-in'],
  ['logins.signedInFrom', 'sign-in'],
  // Notes of their own: a purge writes one before it removes the first event.
  ['audit.append', 'sign-in'],
  ['events.removeBefore', 'purge'],
  ['events.removeIdleRuns', 'purge'],
]);

/** Writes of many pages, whatever their arguments. */
const removals = new Set<StoreCall>([
  'events.removeBefore',
  'events.removeIdleRuns',
  'events.removeAll',
  'retention.remove',
]);

/** Reads of what events add to summaries, runs and the audit chain's index. */
const summaryReads = new Set<StoreCall>([
  'audit.list',
  'events.counts',
  'runs.get',
  'runs.list',
  'runs.listRecent',
  'retention.count',
  ...Object.keys(kinds.usage).map((method) => storeCall('usage', method)),
]);

/**
 * The objects of a read or a commit are garbage when its answer is sent: without a bound, V8 keeps up to 48 MiB in each
 * thread for such garbage.
 */
const threadLimits = { maxYoungGenerationSizeMb: 12 };

export const startThread = (start: ThreadStart): Worker =>
  startWorker('thread', `store-${start.role}`, start, threadLimits);

/** By tenant, the bytes of events that wait for the writer: one tenant has a part of the queue at most. */
class TenantShares {
  readonly #bytes = new Map<string, number>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  /** @throws HubError overloaded */
  check(tenantId: string): void {
    if ((this.#bytes.get(tenantId) ?? 0) < this.#max) return;
    throw refusalOf('tenantEvents');
  }

  take(tenantId: string, bytes: number): void {
    this.#bytes.set(tenantId, (this.#bytes.get(tenantId) ?? 0) + bytes);
  }

  give(tenantId: string, bytes: number): void {
    const left = (this.#bytes.get(tenantId) ?? 0) - bytes;
    if (left > 0) this.#bytes.set(tenantId, left);
    else this.#bytes.delete(tenantId);
  }
}

const kindOf = (store: StoreName, method: string): Kind | undefined =>
  (kinds[store] as { readonly [method: string]: Kind })[method];

/** Writes that may make the folder a hub's: the first tenant's. */
const foundingWrites = new Set<StoreCall>([
  'tenants.bootstrap',
  'tenants.create',
  'tenants.provision',
  'tenantFiles.open',
]);

/** The writer and the reader, with what decides which calls may go to them. */
class StoreThreads {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #log: Log | null;
  readonly #hubId: HubIdFile | null;
  readonly #reserveBytes: number | null;
  readonly #writer: StoreThread;
  readonly #reader: StoreThread;
  readonly #disk: Disk;
  readonly #logIndex: LogIndex;
  readonly #summaries: SummaryFlush;
  readonly #lock: ReturnType<typeof lockStore>;
  readonly #shares: TenantShares;
  readonly #gathered: ReturnType<typeof gatherCalls>;
  #copier: LogCopier | null = null;
  #checkpointPages = 0;
  #closing: Promise<void> | null = null;

  constructor(options: SqliteOptions) {
    const { path, clock, log = null, hubId = null, reserveBytes = null } = options;
    this.#path = path;
    this.#clock = clock;
    this.#log = log;
    this.#hubId = hubId;
    this.#reserveBytes = reserveBytes;
    const shortOfSpace = new SharedArrayBuffer(4);
    const maxQueuedBytes = options.maxQueuedBytes ?? storeWrites.bytes;
    const maxTenantBytes = options.maxQueuedBytes === undefined ? tenantEvents.bytes : maxQueuedBytes / 2;
    this.#writer = this.#thread('writer', options, shortOfSpace, maxQueuedBytes);
    this.#reader = this.#thread('reader', options, shortOfSpace, maxQueuedBytes);
    this.#disk = new Disk({
      path,
      clock,
      log,
      reserveBytes,
      measured: (ms) => options.diskMeasured?.(ms),
      work: {
        spareBytes: async () => Number(await ask(this.#reader, 'spareBytes')),
        emptyLog: () => ask(this.#writer, 'checkpoint'),
        probe: () => ask(this.#writer, 'probe'),
        mayGrow: (may) => Atomics.store(new Int32Array(shortOfSpace), 0, may ? 0 : 1),
      },
    });
    this.#logIndex = new LogIndex(path);
    this.#summaries = new SummaryFlush(() => ask(this.#writer, 'flush'), clock);
    this.#shares = new TenantShares(maxTenantBytes);
    this.#gathered = gatherCalls({
      send: async (store, method, all) =>
        (await this.#threadOf(store, method).call(
          'store',
          'many',
          [store, method, all],
          weighAll(all),
        )) as CallResult[],
      onFailure: ({ trouble, cause }) => {
        if (trouble !== null && cause !== null) this.#disk.failed(trouble, cause);
        else if (cause !== null) log?.error({ cause }, 'the store failed');
      },
    });
    this.#lock = lockStore(path);
  }

  get storage(): Storage {
    return this.#disk.storage;
  }

  /** Starts both threads. After a failure, they and the file are closed. */
  async open(): Promise<void> {
    const [path, hubId] = [this.#path, this.#hubId];
    try {
      if (hubId) checkPresent(path, hubId);
      createPrivate(path);
      this.#checkpointPages = await logPagesOn(dirname(path), this.#reserveBytes);
      // The writer makes or updates the tables.
      await this.#writer.open();
      await this.#reader.open();
      // While the log is copied, commits lengthen it: a small disk has no room for that.
      if (this.#checkpointPages === mostLogPages) this.#copier = this.#logCopier();
      if (hubId) checkIdentity(path, await this.#identity(), hubId);
      await this.#disk.watch();
    } catch (error) {
      await this.close();
      throw openingError(error, path);
    }
  }

  call(store: StoreName, method: string, args: readonly unknown[]): Promise<unknown> {
    return this.#gathered(store, method, args) ?? this.#callAlone(store, method, args);
  }

  /** A write and its note. */
  note(args: NotedWrite): Promise<unknown> {
    const [store, method] = args;
    const bytes = weigh(args);
    const name = storeCall(store, method);
    return this.#recoverable(name, () =>
      this.#marked(name, this.#writer.call('noting', 'write', args, bytes)),
    );
  }

  /** Milliseconds until both threads answered. @throws HubError('unavailable') */
  async ping(): Promise<number> {
    const began = this.#clock.monotonic();
    const both = Promise.all([this.#writer, this.#reader].map((thread) => ask(thread, 'ping')));
    await new Promise((resolve, reject) => {
      const limit = this.#clock.after(pingMs, () => reject(unavailable()));
      both.then(resolve, reject).finally(() => limit.cancel());
    });
    return this.#clock.monotonic() - began;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #thread(
    role: ThreadRole,
    options: SqliteOptions,
    shortOfSpace: SharedArrayBuffer,
    maxBytes: number,
  ): StoreThread {
    const { path, clock } = options;
    const start = options.startThread ?? startThread;
    return new StoreThread({
      name: role,
      start: () => {
        const tuning = { cacheBytes: cacheBytes[role], checkpointPages: this.#checkpointPages };
        return start({ role, path, tuning, shortOfSpace });
      },
      clock,
      log: options.log ?? null,
      onTrouble: (trouble, cause) => this.#disk.failed(trouble, cause),
      maxCalls: options.maxQueuedWrites ?? storeWrites.waiting,
      maxBytes,
    });
  }

  #threadOf(store: StoreName, method: string): StoreThread {
    return kindOf(store, method) === 'write' ? this.#writer : this.#reader;
  }

  #logCopier(): LogCopier {
    return new LogCopier({
      start: () =>
        startWorker('log-thread', 'store-log', { path: this.#path }, { maxYoungGenerationSizeMb: 1 }),
      copyFew: async () => (await ask(this.#writer, 'copyFew')) === true,
      copyRest: () => ask(this.#writer, 'copyLog'),
      pages: this.#checkpointPages * logPart,
      count: () => this.#logIndex.pagesToCopy(),
      log: this.#log,
    });
  }

  // The reader first: the last connection that is closed empties the write-ahead log and removes it.
  async #close(): Promise<void> {
    this.#disk.close();
    this.#summaries.stop();
    await this.#copier?.close();
    await this.#reader.close();
    await this.#writer.close();
    this.#lock.release();
  }

  async #identity(): Promise<Identity> {
    return (await ask(this.#writer, 'identity')) as Identity;
  }

  /** Right after set-up: a copy of the file alone must show that there are users, and the folder whose it is. */
  async #markFolder(file: HubIdFile): Promise<void> {
    try {
      checkIdentity(this.#path, await this.#identity(), file);
      await ask(this.#writer, 'checkpoint');
    } catch (err) {
      this.#log?.error({ err }, 'cannot write hub.id beside the database; the next start retries');
    }
  }

  /** The first tenant makes the folder this hub's; of one that is gone the write-ahead log keeps nothing either. */
  async #marked(name: StoreCall, answered: Promise<unknown>): Promise<unknown> {
    const answer = await answered;
    const hubId = this.#hubId;
    if (name === 'tenantRecords.remove') await ask(this.#writer, 'checkpoint');
    if (foundingWrites.has(name) && hubId && answer === 'created' && hubId.read() === null)
      await this.#markFolder(hubId);
    return answer;
  }

  async #callAlone(store: StoreName, method: string, args: readonly unknown[]): Promise<unknown> {
    const name = storeCall(store, method);
    if (name === 'events.ingest') return this.#ingest(args[0] as EventBatch);
    if (summaryReads.has(name)) await this.#flushSummaries();
    const bytes = weigh(args);
    const thread = this.#threadOf(store, method);
    if (thread === this.#writer) this.#copier?.note(bytes);
    const answer = await this.#recoverable(name, () =>
      this.#marked(name, thread.call(store, method, args, bytes)),
    );
    if (removals.has(name)) this.#copier?.recount();
    if (name === 'events.removeBefore') await this.#disk.purged();
    return readAnswer(name, answer);
  }

  async #ingest(received: EventBatch): Promise<unknown> {
    // Before the work of encoding, not after it.
    this.#writer.check(0);
    this.#shares.check(received.tenantId);
    this.#disk.check();
    const batch = encodeBatch(received);
    await this.#disk.take(batch.bytes);
    const { tenantId, bytes } = batch;
    this.#shares.check(tenantId);
    this.#shares.take(tenantId, bytes);
    try {
      const ingested = await this.#writer.call('events', 'ingest', [batch], bytes, buffersOf(batch));
      this.#summaries.note();
      this.#copier?.note(bytes);
      return ingested;
    } finally {
      this.#shares.give(tenantId, bytes);
    }
  }

  /** Repeats a write that makes room in the space that is kept for it, if the disk had none. */
  async #recoverable(name: StoreCall, write: () => Promise<unknown>): Promise<unknown> {
    const use = recoveryWrites.get(name);
    if (use === undefined) return write();
    try {
      return await write();
    } catch (error) {
      const isFull = error instanceof HubError && error.code === 'disk_full';
      if (!isFull || !(await this.#disk.release(use))) throw error;
      return write();
    }
  }

  /** On a disk without room nothing can be counted, and reads answer with what is. */
  async #flushSummaries(): Promise<void> {
    try {
      await this.#summaries.finish();
    } catch (error) {
      if (this.#disk.storage.state === 'ok') throw error;
    }
  }
}

const ask = (thread: StoreThread, method: string): Promise<unknown> => thread.call('store', method, [], 0);

export async function openThreads(options: SqliteOptions): Promise<SqliteStore> {
  const threads = new StoreThreads(options);
  await threads.open();
  return {
    ...storeMethods((store, method, args) => threads.call(store, method, args)),
    noting: notingMethods((args) => threads.note(args)),
    ping: () => threads.ping(),
    storage: () => threads.storage,
    readTenant: (tenantId) => readTenant(options.path, tenantId),
    close: () => threads.close(),
  };
}
