// Answers calls on one connection. Writes are committed in groups and answered after the commit; long reads take turns
// with short ones.
import { maxSearchMs, searchTimeout } from '../../../src/event/record.ts';
import { noted } from '../audit.ts';
import { busyMs, type Database, TransactionLost } from '../database.ts';
import { failureOf } from '../failure.ts';
import { identityOf } from '../hub-id.ts';
import { type Kind, kinds } from '../stores.ts';
import { isSteps, type Steps, type StoreName, type Stores } from '../sync.ts';
import type { CallResult } from './gather.ts';
import type { Call, NotedWrite, ThreadReply } from './wire.ts';
import { isIngest, WriteQueue } from './write-queue.ts';

export interface ThreadServer {
  accept(calls: readonly Call[]): void;
  /** Runs `then` once everything accepted is answered. */
  whenIdle(then: () => void): void;
}

/** A connection and the way back to the callers. */
export interface Connection {
  readonly db: Database;
  readonly stores: Stores;
  readonly answer: (replies: readonly ThreadReply[]) => void;
  /** Runs a task after accepting the calls that have arrived by now. */
  readonly later: (task: () => void) => unknown;
  /** Pages of the write-ahead log that are not in the file yet. */
  readonly pagesToCopy: () => number;
}

type AnyMethod = (...args: readonly unknown[]) => unknown;

const pragma = (db: Database, name: string): number => Number(db.get(`PRAGMA ${name}`)?.[0] ?? 0);

/** Calls to the connection itself. */
const ofConnection: { readonly [method: string]: (db: Database) => unknown } = {
  ping: (db) => db.get('SELECT 1') !== undefined,
  identity: identityOf,
  spareBytes: (db) => pragma(db, 'freelist_count') * pragma(db, 'page_size'),
  /** Leaves nothing behind, but changes pages that the commit must write. */
  probe(db) {
    db.run(`INSERT INTO seals (name, value) VALUES ('probe', hex(randomblob(512)))`);
    db.run(`DELETE FROM seals WHERE name = 'probe'`);
  },
};

/** Milliseconds that emptying the log waits for readers, writes with it: a back-up reads for minutes. */
const checkpointWaitMs = 50;

/** Pages of the write-ahead log that `copyFew` copies, at most: 2 MiB. Commits wait for it. */
const mostFewPages = 512;

/** Work on the write-ahead log between commits, by the name of the call. */
const logWork: { readonly [method: string]: (connection: Connection) => unknown } = {
  copyLog: ({ db }) => checkpoint(db, 'PASSIVE'),
  /** @returns true if nothing is left to copy, false without a copy if more pages than few were left */
  copyFew({ db, pagesToCopy }) {
    if (pagesToCopy() > mostFewPages) return false;
    checkpoint(db, 'PASSIVE');
    return true;
  },
  checkpoint: ({ db }) => checkpoint(db, 'TRUNCATE'),
};

/**
 * Copies the write-ahead log into the file, as far as no reader needs it; `TRUNCATE` empties it too. Not to be called
 * in a transaction.
 */
function checkpoint(db: Database, mode: 'PASSIVE' | 'TRUNCATE'): unknown {
  db.get(`PRAGMA busy_timeout = ${checkpointWaitMs}`);
  try {
    return db.get(`PRAGMA wal_checkpoint(${mode})`);
  } finally {
    db.get(`PRAGMA busy_timeout = ${busyMs}`);
  }
}

/** Has what events add to summaries and runs written in this commit. */
const isFlush = ([, store, method]: Call): boolean => store === 'store' && method === 'flush';

const isCheckpoint = ([, store, method]: Call): boolean =>
  store === 'store' && Object.hasOwn(logWork, method);

/** Makes many calls of one method (adapters/sqlite/threads/gather.ts); a write that fails undoes itself alone. */
function many(connection: Connection, args: readonly unknown[]): readonly CallResult[] {
  const [store, method, all] = args as [StoreName, string, readonly (readonly unknown[])[]];
  const writes = (kinds[store] as { readonly [method: string]: Kind })[method] === 'write';
  const make = (of: readonly unknown[]): unknown => run(connection, [0, store, method, of]);
  if (writes) {
    // One savepoint for all: of its own, each costs as much as the write. Only when a call fails is each made alone.
    const [, ok, results] = attempt(0, () =>
      connection.db.atomically(() => all.map((of) => [true, make(of)] as const)),
    );
    if (ok) return results as readonly CallResult[];
  }
  return all.map((of) => {
    const [, ...outcome] = attempt(0, () => (writes ? connection.db.atomically(() => make(of)) : make(of)));
    return outcome as CallResult;
  });
}

function run(connection: Connection, [, store, method, args]: Call): unknown {
  const { db, stores } = connection;
  if (store === 'store' && method === 'many') return many(connection, args);
  if (store === 'store') return ofConnection[method]?.(db);
  if (store === 'noting') return notedWrite({ db, stores }, args as NotedWrite);
  return writeOrRead(stores, store, method, args);
}

function writeOrRead(stores: Stores, store: string, method: string, args: readonly unknown[]): unknown {
  const storeMethod = (stores as unknown as { readonly [n: string]: { readonly [m: string]: AnyMethod } })[
    store
  ]?.[method];
  if (!storeMethod) throw new TypeError(`no method ${store}.${method}`);
  return storeMethod(...args);
}

/** A write and its note; to be called in a transaction. */
export const notedWrite = (
  { db, stores }: Pick<Connection, 'db' | 'stores'>,
  [store, method, args, noting]: NotedWrite,
): unknown => noted(db, noting, writeOrRead(stores, store, method, args));

function attempt(id: number, task: () => unknown): ThreadReply {
  try {
    return [id, true, task()];
  } catch (error) {
    if (error instanceof TransactionLost) throw error;
    return [id, false, failureOf(error)];
  }
}

class WriteServer implements ThreadServer {
  readonly #connection: Connection;
  readonly #maintain: () => void;
  readonly #beforeEnd: (mustFlush: boolean) => void;
  readonly #queue: WriteQueue;
  #scheduled = false;
  #idle: (() => void) | null = null;

  constructor(
    connection: Connection,
    maintain: () => void,
    beforeEnd: (mustFlush: boolean) => void,
    now = () => performance.now(),
  ) {
    this.#connection = connection;
    this.#maintain = maintain;
    this.#beforeEnd = beforeEnd;
    this.#queue = new WriteQueue(now);
  }

  accept(calls: readonly Call[]): void {
    this.#queue.add(calls);
    if (!this.#scheduled) this.#connection.later(() => this.#drain());
    this.#scheduled = true;
  }

  whenIdle(then: () => void): void {
    this.#idle = then;
    if (!this.#scheduled) then();
  }

  /**
   * Batches of events hardly ever fail, and a savepoint for each costs as much as a statement: they have none, and a
   * commit in which one fails is made again with them.
   * @param group given out while it is made; all that it gives out is pushed to `taken`
   */
  #commit(group: Iterable<Call>, isAlone: boolean, taken: Call[], isRepeat = false): ThreadReply[] {
    let isCallMade = false;
    try {
      return this.#connection.db.atomically(() => {
        const replies: ThreadReply[] = [];
        let isMaintained = false;
        let mustFlush = false;
        for (const call of group) {
          taken.push(call);
          if (isCheckpoint(call)) continue;
          if (isFlush(call)) {
            mustFlush = true;
            replies.push([call[0], true, null]);
            continue;
          }
          if (isIngest(call) && !isMaintained) {
            this.#maintain();
            isMaintained = true;
          }
          // Its own transaction undoes a call that is alone.
          if (isAlone) replies.push([call[0], true, run(this.#connection, call)]);
          else if (isIngest(call) && !isRepeat) {
            isCallMade = true;
            replies.push([call[0], true, run(this.#connection, call)]);
            isCallMade = false;
          } else
            replies.push(
              attempt(call[0], () => this.#connection.db.atomically(() => run(this.#connection, call))),
            );
        }
        this.#beforeEnd(mustFlush);
        return replies;
      });
    } catch (error) {
      if (isCallMade) return this.#commit([...taken], false, [], true);
      const failure = failureOf(error);
      const mutations = taken.filter((call) => !isCheckpoint(call));
      if (failure.trouble === 'full' && mutations.length > 1)
        return mutations.flatMap((call) => this.#commit([call], true, []));
      return mutations.map(([id]) => [id, false, failure]);
    }
  }

  #drain(): void {
    const taken: Call[] = [];
    const replies = this.#commit(this.#queue.take(), this.#queue.size === 1, taken);
    if (replies.length > 0) this.#connection.answer(replies);
    const after = taken.filter(isCheckpoint);
    if (after.length > 0)
      this.#connection.answer(
        after.map(([id, , method]) => attempt(id, () => logWork[method]?.(this.#connection))),
      );
    this.#scheduled = this.#queue.size > 0;
    if (this.#scheduled) this.#connection.later(() => this.#drain());
    else this.#idle?.();
  }
}

/**
 * Group commit: one failing call undoes itself alone, and a failing commit fails its whole group. If the disk had no
 * room for the group, each call has a commit of its own. So a large batch does not take a decision with it.
 * @param maintain runs before the first events of each commit that stores some
 * @param beforeEnd runs last in each commit, which may be one that must write all that was gathered
 * @param now milliseconds of a clock that never jumps
 */
export const serveWrites = (
  connection: Connection,
  maintain: () => void,
  beforeEnd: (mustFlush: boolean) => void,
  now = () => performance.now(),
): ThreadServer => new WriteServer(connection, maintain, beforeEnd, now);

/** A read that takes several turns. */
interface LongRead {
  readonly id: number;
  readonly steps: Steps<unknown>;
  readonly began: number;
  /** Milliseconds that its steps took. */
  spent: number;
}

/** One turn among so many goes to the read that waits longest, however much it had. */
const fairTurns = 4;

/** @param now milliseconds of a clock that never jumps */
export function serveReads(connection: Connection, now = () => performance.now()): ThreadServer {
  const { answer, later } = connection;
  const running: LongRead[] = [];
  let scheduled = false;
  let idle: (() => void) | null = null;
  let turns = 0;

  /** The read that had the least: a page of events is not slowed down by the counts that are asked for with it. */
  function next(): LongRead | undefined {
    turns = (turns + 1) % fairTurns;
    if (turns === 0) return running.shift();
    let least = 0;
    for (const [at, { spent }] of running.entries()) if (spent < (running[least]?.spent ?? 0)) least = at;
    return running.splice(least, 1)[0];
  }

  /** One step of one long read, so that a short one never waits for more. */
  function turn(): void {
    const read = next();
    if (read) {
      const before = now();
      let done = true;
      const reply = attempt(read.id, () => {
        const isLate = now() - read.began > maxSearchMs;
        const step = isLate ? read.steps.throw(searchTimeout()) : read.steps.next();
        done = step.done === true;
        return step.value;
      });
      read.spent += now() - before;
      if (done) answer([reply]);
      else running.push(read);
    }
    scheduled = running.length > 0;
    if (scheduled) later(turn);
    else idle?.();
  }

  return {
    accept(calls) {
      const replies: ThreadReply[] = [];
      for (const call of calls) {
        const reply = attempt(call[0], () => run(connection, call));
        if (reply[1] && isSteps(reply[2])) {
          running.push({ id: call[0], steps: reply[2], began: now(), spent: 0 });
        } else replies.push(reply);
      }
      if (replies.length > 0) answer(replies);
      if (running.length > 0 && !scheduled) {
        scheduled = true;
        later(turn);
      }
    },
    whenIdle(then) {
      idle = then;
      if (!scheduled) then();
    },
  };
}
