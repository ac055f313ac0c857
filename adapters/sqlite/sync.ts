// The shape of the store on its own thread: the port's methods without promises. No behaviour except running steps.
import type { EventStore, IngestResult } from '../../src/event/port.ts';
import { maxSearchMs, searchTimeout } from '../../src/event/record.ts';
import type { JobTable } from '../../src/shared/ports/job-table.ts';
import type { Store } from '../../src/shared/ports/store.ts';
import type { EncodedBatch } from './events/encode.ts';
import { readCountablePage, readPage, type StoredPage } from './events/stored-page.ts';

/** Work done in slices, so that a long read does not hold up the short ones; it returns its result at the end. */
export type Steps<R> = Generator<undefined, R, undefined>;

/** A port whose methods return at once, or in steps. */
export type Sync<T> = {
  readonly [M in keyof T]: T[M] extends (...args: infer A) => Promise<infer R>
    ? (...args: A) => R | Steps<R>
    : never;
};

/** The store port, and the table of jobs, which the cluster keeps elsewhere. */
export interface SqliteStore extends Store {
  readonly jobs: JobTable;
}

/** Members that belong to the store as a whole, not to one of its parts. */
export type OfStore = 'ping' | 'storage' | 'close' | 'noting' | 'readTenant';

export type StoreName = Exclude<keyof SqliteStore, OfStore>;

/** Name of a method with its store, as `events.ingest`: code that treats some methods differently compares these. */
export type StoreCall = { [N in StoreName]: `${N}.${keyof SqliteStore[N] & string}` }[StoreName];

export const storeCall = (store: string, method: string): StoreCall => `${store}.${method}` as StoreCall;

/** The answer of a store's method as the port has it. */
export function readAnswer(name: StoreCall, answer: unknown): unknown {
  if (name === 'events.search') return readPage(answer as StoredPage);
  return name === 'events.listCountable' ? readCountablePage(answer as StoredPage) : answer;
}

/**
 * Every store on one connection. Batches arrive encoded, and pages of events leave as they are stored: the caller's
 * thread encodes and parses.
 */
export type Stores = {
  readonly [N in Exclude<StoreName, 'events'>]: Sync<SqliteStore[N]>;
} & {
  readonly events: Omit<Sync<EventStore>, 'ingest' | 'search' | 'listCountable'> & {
    ingest(batch: EncodedBatch): IngestResult;
    search(...args: Parameters<EventStore['search']>): Steps<StoredPage>;
    listCountable(...args: Parameters<EventStore['listCountable']>): Steps<StoredPage>;
  };
};

/** True for a result that is still to be worked out in steps. */
export const isSteps = (result: unknown): result is Steps<unknown> =>
  typeof result === 'object' && result !== null && typeof (result as Steps<unknown>).next === 'function';

/** The same steps, within a time. @throws HubError search_timeout after about `budgetMs` */
export function* within<R>(steps: Steps<R>, budgetMs = maxSearchMs): Steps<R> {
  const began = performance.now();
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    if (performance.now() - began > budgetMs) throw searchTimeout();
    yield;
  }
}

/** Runs to the end at once. */
export function finish<R>(result: R | Steps<R>): R {
  if (!isSteps(result)) return result;
  for (;;) {
    const step = (result as Steps<R>).next();
    if (step.done) return step.value;
  }
}
