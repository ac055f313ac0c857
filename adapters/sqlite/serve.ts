// Answers calls on one connection. Writes are committed in groups and answered after the commit; long reads take turns with short ones.
import { maxSearchMs, searchTimeout } from '../../src/domain/event.ts';
import type { Database } from './database.ts';
import { failureOf } from './failure.ts';
import { identityOf } from './hub-id.ts';
import { isSteps, type Nouns, type Steps } from './sync.ts';
import type { Call, Reply } from './wire.ts';

/** Calls that one commit takes, at most. */
const groupSize = 64;

export interface Server {
  accept(calls: readonly Call[]): void;
  /** Runs `then` once everything accepted is answered. */
  whenIdle(then: () => void): void;
}

/** A connection and the way back to the callers. */
export interface Connection {
  readonly db: Database;
  readonly stores: Nouns;
  readonly answer: (replies: readonly Reply[]) => void;
  /** Runs a task after calls that have arrived meanwhile were accepted. */
  readonly later: (task: () => void) => unknown;
}

type AnyMethod = (...args: readonly unknown[]) => unknown;

/** What is asked of the connection itself. */
const ofConnection: { readonly [method: string]: (db: Database) => unknown } = {
  ping: (db) => db.get('SELECT 1') !== undefined,
  identity: identityOf,
};

/** Copies the write-ahead log into the file, as far as no reader needs it, and empties it. Not to be called in a transaction. */
const checkpoint = (db: Database): unknown => db.get('PRAGMA wal_checkpoint(TRUNCATE)');

const isCheckpoint = ([, noun, method]: Call): boolean => noun === 'store' && method === 'checkpoint';

function run({ db, stores }: Connection, [, noun, method, args]: Call): unknown {
  if (noun === 'store') return ofConnection[method]?.(db);
  const found = (stores as unknown as { readonly [n: string]: { readonly [m: string]: AnyMethod } })[noun]?.[
    method
  ];
  if (!found) throw new TypeError(`no method ${noun}.${method}`);
  return found(...args);
}

function attempt(id: number, task: () => unknown): Reply {
  try {
    return [id, true, task()];
  } catch (error) {
    return [id, false, failureOf(error)];
  }
}

/**
 * Group commit: one failing call undoes itself alone; a failing commit fails its whole group.
 * @param maintain runs first in each commit
 */
export function serveWrites(line: Connection, maintain: () => void): Server {
  const { db, answer, later } = line;
  let queue: Call[] = [];
  let scheduled = false;
  let idle: (() => void) | null = null;

  function commit(group: readonly Call[]): Reply[] {
    try {
      return db.atomically(() => {
        maintain();
        const [only] = group;
        // Its own transaction undoes a call that is alone.
        if (only && group.length === 1) return [[only[0], true, run(line, only)]];
        return group.map((call) => attempt(call[0], () => db.atomically(() => run(line, call))));
      });
    } catch (error) {
      const failure = failureOf(error);
      return group.map(([id]) => [id, false, failure]);
    }
  }

  function drain(): void {
    const taken = queue.slice(0, groupSize);
    queue = queue.slice(groupSize);
    const group = taken.filter((call) => !isCheckpoint(call));
    const after = taken.filter(isCheckpoint);
    if (group.length > 0) answer(commit(group));
    if (after.length > 0) answer(after.map(([id]) => attempt(id, () => checkpoint(db))));
    scheduled = queue.length > 0;
    if (scheduled) later(drain);
    else idle?.();
  }

  return {
    accept(calls) {
      queue.push(...calls);
      if (!scheduled) later(drain);
      scheduled = true;
    },
    whenIdle(then) {
      idle = then;
      if (!scheduled) then();
    },
  };
}

/** A read that takes several turns. */
interface LongRead {
  readonly id: number;
  readonly steps: Steps<unknown>;
  readonly began: number;
}

/** @param now milliseconds of a clock that never jumps */
export function serveReads(line: Connection, now = () => performance.now()): Server {
  const { answer, later } = line;
  const running: LongRead[] = [];
  let scheduled = false;
  let idle: (() => void) | null = null;

  /** One step of one long read, so that a short one never waits for more. */
  function turn(): void {
    const read = running.shift();
    if (read) {
      let done = true;
      const reply = attempt(read.id, () => {
        const isLate = now() - read.began > maxSearchMs;
        const step = isLate ? read.steps.throw(searchTimeout()) : read.steps.next();
        done = step.done === true;
        return step.value;
      });
      if (done) answer([reply]);
      else running.push(read);
    }
    scheduled = running.length > 0;
    if (scheduled) later(turn);
    else idle?.();
  }

  return {
    accept(calls) {
      const replies: Reply[] = [];
      for (const call of calls) {
        const reply = attempt(call[0], () => run(line, call));
        if (reply[1] && isSteps(reply[2])) running.push({ id: call[0], steps: reply[2], began: now() });
        else replies.push(reply);
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
