// The driver's failures as the product's errors, and the guard that every store call goes through: it counts what is
// under way, refuses calls after closing, and lets no error of the driver out.
import {
  type BulkWriteResult,
  MongoBulkWriteError,
  MongoError,
  MongoServerError,
  MongoWriteConcernError,
} from 'mongodb';
import { refusalOf } from '../../src/admission/admission.ts';
import { outageOf } from '../../src/admission/outages.ts';
import { searchTimeout } from '../../src/event/record.ts';
import { connectionLoss } from '../../src/shared/connect-failure.ts';
import { HubError, taken } from '../../src/shared/error.ts';
import { gatherRepeats } from '../../src/shared/log-repeats.ts';
import type { Clock, Timer } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import type { Storage } from '../../src/shared/storage.ts';

/** The server changes its role, shuts down, or gave up waiting: asking again may help. */
const passing = new Set([6, 7, 64, 89, 91, 189, 202, 262, 9001, 10107, 11600, 11602, 13388, 13435, 13436]);
/** The server has no room on its disk. */
const noRoom = 14031;
/** While that is so, it is asked for a write so often. */
const probeEveryMs = 1000;
const tooLarge = new Set([10334, 17419, 17420]);
const duplicateKey = 11000;
/** The bound that searches have: nothing else has one. */
const tookTooLong = 50;

/** True for a search that the server ended because of its time. */
export const isOutOfTime = (error: unknown): boolean =>
  error instanceof MongoServerError && error.code === tookTooLong;
/** No connection became free in time. The driver does not export the class. */
const isPoolTimeout = (error: unknown): boolean =>
  error instanceof MongoError && error.name === 'MongoWaitQueueTimeoutError';

export const unavailable = (): HubError => outageOf('mongoAway');

/** True for a write refused by a unique index. */
export const isDuplicate = (error: unknown): boolean =>
  error instanceof MongoServerError && error.code === duplicateKey;

/** True for a write refused because its document would be larger than the server keeps. */
export const isTooLarge = (error: unknown): boolean =>
  error instanceof MongoServerError && tooLarge.has(Number(error.code));

/** True when the write was carried out, false when a unique index refused it. @throws any other error */
export async function unlessTaken(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (isDuplicate(error)) return false;
    throw error;
  }
}

/** The indexes of a bulk write's items that a unique index refused. @throws the error when anything else went wrong */
export async function takenAmong(write: Promise<unknown>): Promise<readonly number[]> {
  try {
    await write;
    return [];
  } catch (error) {
    return refusedAsDuplicates(error);
  }
}

function refusedAsDuplicates(error: unknown): readonly number[] {
  if (!(error instanceof MongoBulkWriteError)) throw error;
  const refused = Array.isArray(error.writeErrors) ? error.writeErrors : [error.writeErrors];
  const duplicates = refused.filter((one) => one.code === duplicateKey);
  const unsure = error.result.getWriteConcernError() !== undefined;
  if (unsure || duplicates.length === 0 || duplicates.length < refused.length) throw error;
  return duplicates.map((one) => one.index);
}

/**
 * The indexes of a bulk write's items that inserted a document. A unique index may refuse others.
 * @throws the error when anything else went wrong
 */
export async function insertedAmong(write: Promise<BulkWriteResult>): Promise<readonly number[]> {
  const result = await write.catch((error: unknown) => {
    refusedAsDuplicates(error);
    return (error as MongoBulkWriteError).result;
  });
  return Object.keys(result.upsertedIds).map(Number);
}

const isPassing = (error: MongoServerError): boolean =>
  error instanceof MongoWriteConcernError ||
  passing.has(Number(error.code)) ||
  error.hasErrorLabel('RetryableWriteError') ||
  error.hasErrorLabel('RetryableError');

/** A socket's own error, which the driver lets through as it is when a write meets a connection that just ended. */
const isSocketError = (error: unknown): error is Error =>
  error instanceof Error &&
  'code' in error &&
  /^(E[A-Z]+|ERR_(STREAM|SOCKET)_[A-Z_]+)$/.test(String(error.code));

/** An owner writes that has lost its role without noticing. */
export const stale = (): HubError => outageOf('ownerReplaced');

/**
 * A bulk write that lost its connection comes as an answer of the server's, with the failure of the connection inside.
 */
const withinBulk = (error: unknown): unknown =>
  error instanceof MongoBulkWriteError && error.errorResponse instanceof Error ? error.errorResponse : error;

type FailureLog = Pick<Log, 'warn' | 'error'>;

const outageFields = (error: Error): object => ({
  cause: connectionLoss(error),
  error: error.message,
  kind: error.name,
});

/** The error to throw instead of `error`; one that is not of the driver is returned as it is. */
export function asHubError(thrown: unknown, log: FailureLog): unknown {
  const error = withinBulk(thrown);
  if (isSocketError(error)) {
    log.warn(outageFields(error), 'cannot reach the store');
    return unavailable();
  }
  if (!(error instanceof MongoError)) return error;
  if (isOutOfTime(error)) return searchTimeout();
  if (isTooLarge(error)) {
    return new HubError('unprocessable', 'The record is larger than the store allows. Send less data.');
  }
  if (error instanceof MongoServerError && Number(error.code) === noRoom) {
    log.warn({ error: error.message }, 'the disk of the store is full');
    return outageOf('mongoFull');
  }
  if (error instanceof MongoServerError && !isPassing(error)) {
    log.error({ code: error.code, error: error.message }, 'the store refused a command');
    return new HubError('internal', 'The store refused a command.');
  }
  if (isPoolTimeout(error)) {
    log.warn({ error: error.message }, 'no connection to the store became free in time');
    return refusalOf('mongoCommands');
  }
  log.warn(outageFields(error), 'cannot reach the store');
  return unavailable();
}

export interface GuardedStore {
  /** The same methods, each behind the guard. Every method must be asynchronous. */
  guarded<T extends object>(store: T): T;
  /** `full` from a write that found no room until one that did. */
  storage(): Storage;
  /** Refuses further calls and resolves when those under way have ended. */
  close(): Promise<void>;
}

/** True for a failure from the driver, not for a refusal that a store made itself. */
const isDriverFailure = (error: unknown): boolean => error instanceof MongoError || isSocketError(error);

class StoreGuard implements GuardedStore {
  readonly #to: Log;
  readonly #clock: Clock;
  readonly #probe: () => Promise<unknown>;
  // An outage fails every call, each with the words of its own connection.
  readonly #log: ReturnType<typeof gatherRepeats>;
  #probing: Timer | null = null;
  /** Failures to reach the store since it could be reached. */
  #unreachable = 0;
  #underWay = 0;
  #closed = false;
  #idle: (() => void) | null = null;

  constructor(to: Log, clock: Clock, probe: () => Promise<unknown>) {
    this.#to = to;
    this.#clock = clock;
    this.#probe = probe;
    this.#log = gatherRepeats(to, clock, (_, message) => message);
  }

  guarded<T extends object>(store: T): T {
    const entries = Object.entries(store).map(([name, method]) => [
      name,
      (...args: unknown[]) => this.#enter(method, store, args),
    ]);
    return Object.fromEntries(entries) as T;
  }

  storage(): Storage {
    const state = this.#probing ? 'full' : 'ok';
    return { state, freeBytes: null, totalBytes: null, reserveBytes: null };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#endProbing();
    this.#log.clear();
    if (this.#underWay === 0) return;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
  }

  #endProbing(): void {
    this.#probing?.cancel();
    this.#probing = null;
  }

  /** The disk is full: asks once a second whether it still is. */
  #startProbing(): void {
    this.#probing ??= this.#clock.every(probeEveryMs, () => {
      this.#probe().then(
        () => {
          this.#endProbing();
          this.#log.clear();
        },
        () => {},
      );
    });
  }

  /** @param before failures when the call that succeeded began: one that began earlier proves nothing */
  #noteSuccess(before: number): void {
    if (this.#unreachable === 0 || before !== this.#unreachable) return;
    this.#to.info({ failed_calls: this.#unreachable }, 'the store is back');
    this.#unreachable = 0;
    this.#log.clear();
  }

  async #enter(method: (...args: unknown[]) => unknown, self: object, args: unknown[]) {
    if (this.#closed) throw outageOf('mongoClosed');
    this.#underWay++;
    const before = this.#unreachable;
    try {
      const result = await Reflect.apply(method, self, args);
      this.#noteSuccess(before);
      return result;
    } catch (thrown) {
      const error = asHubError(thrown, this.#log);
      if (isPoolTimeout(withinBulk(thrown))) {
        // While the store is away, connections are not in use but wait for it.
        if (this.#unreachable > 0) throw unavailable();
      } else if (isDriverFailure(thrown) && error instanceof HubError && error.code === 'unavailable')
        this.#unreachable++;
      if (error instanceof HubError && error.code === 'disk_full') this.#startProbing();
      throw error;
    } finally {
      this.#underWay--;
      if (this.#underWay === 0) this.#idle?.();
    }
  }
}

/** @param probe a write that changes nothing of what the store holds */
export const guardStore = (to: Log, clock: Clock, probe: () => Promise<unknown>): GuardedStore =>
  new StoreGuard(to, clock, probe);

/** For what has an id of its caller's choosing. @throws HubError conflict when the id is taken, else the failure */
export function whenTaken(failure: unknown): never {
  if (isDuplicate(failure)) throw taken();
  throw failure;
}
