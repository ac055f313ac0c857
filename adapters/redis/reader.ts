// The one blocking reader of a node: follows many logs on one connection, each from where it stands, through outages. A
// stream of the node's own is read along, so that an entry there ends the waiting when a log is added. Hands entries
// on; decides nothing about them.
import type { Audience } from '../../src/shared/frame.ts';
import { type Clock, pause } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import { isAfter, ownPosition, type Position, sharedPosition } from '../../src/shared/position.ts';
import type { Link, RedisReply } from './link.ts';
import { entriesOf, isList, type LogEntry, type Logs } from './log.ts';

export interface Followed {
  readonly audience: Audience;
  /** Where reading stands: what comes after is still to be handed on. */
  position: Position;
  /** Each entry once, in order. */
  take(entry: LogEntry): void;
  /** Entries up to this position are lost: the log was trimmed or lost before this node read them. */
  missed(position: Position): void;
}

export interface Reader {
  add(followed: Followed): void;
  remove(audience: Audience): void;
  /** How far reading is behind the logs, at most, in milliseconds. @throws HubError unavailable */
  lagMs(): Promise<number>;
  close(): Promise<void>;
}

const blockMs = 2000;
/** Beyond the blocking time: then the connection counts as dead. */
const slackMs = 2000;
const pauseMs = 100;
/** Entries of each log in one answer. Fewer after an answer that was too large for its time. */
const countPerLog = 256;
/** Logs whose lag is asked for. */
const lagSample = 200;

/**
 * @param link for short commands
 * @param blocking a connection for the reader alone
 * @param wakeKey a stream of this node alone
 */
export function openReader(
  {
    link,
    blocking,
    logs,
    clock,
    log,
    turned,
  }: {
    readonly link: Link;
    readonly blocking: Link;
    readonly logs: Logs;
    readonly clock: Clock;
    readonly log: Log;
    /** After every turn that Redis answered. */
    readonly turned?: () => void;
  },
  wakeKey: string,
): Reader {
  const followed = new Map<string, Followed>();
  let wakePosition = '0-0';
  let closed = false;
  let interrupted = false;
  let count = countPerLog;

  async function catchUp(): Promise<void> {
    for (const one of [...followed.values()]) {
      const { floor, end } = await logs.bounds(one.audience);
      const before = one.position;
      if (isAfter(floor, before)) {
        one.position = floor;
        guard(() => one.missed(floor));
      } else if (isAfter(before, end)) {
        // Redis came back with less than it had: what it lost may be more than what was read here. Positions still only
        // rise.
        one.position = end;
        guard(() => one.missed(ownPosition(sharedPosition(before), 1)));
      }
    }
  }

  function guard(task: () => void): void {
    try {
      task();
    } catch (error) {
      log.error({ error: String(error) }, 'a subscriber failed to handle a frame');
    }
  }

  function hand(key: string, entries: readonly LogEntry[]): void {
    const one = followed.get(key);
    if (!one) return;
    for (const entry of entries) {
      const { before } = entry;
      // A log that was left and followed again is read from a later position than this answer's.
      if (!isAfter(entry.position, one.position)) continue;
      if (before !== null && isAfter(before, one.position)) guard(() => one.missed(before));
      one.position = entry.position;
      guard(() => one.take(entry));
    }
  }

  async function read(): Promise<void> {
    const keys = [wakeKey, ...followed.keys()];
    const positions = [wakePosition, ...[...followed.values()].map((one) => one.position)];
    const command = ['XREAD', 'COUNT', String(count), 'BLOCK', String(blockMs), 'STREAMS'];
    const begun = clock.monotonic();
    let answer: RedisReply;
    try {
      answer = await blocking.send([...command, ...keys, ...positions], blockMs + slackMs);
    } catch (error) {
      if (clock.monotonic() - begun >= blockMs + slackMs) count = Math.max(1, Math.floor(count / 2));
      throw error;
    }
    count = Math.min(countPerLog, count * 2);
    if (closed || !isList(answer)) return;
    for (const stream of answer) {
      if (!isList(stream)) continue;
      const key = String(stream[0]);
      if (key === wakeKey) {
        const last = isList(stream[1]) ? stream[1].at(-1) : undefined;
        if (isList(last)) wakePosition = String(last[0]);
      } else {
        hand(key, entriesOf(stream[1]));
      }
    }
  }

  async function follow(): Promise<void> {
    while (!closed) {
      try {
        if (interrupted) {
          await catchUp();
          interrupted = false;
        }
        await read();
        turned?.();
      } catch {
        // The links say in the log that Redis is away; positions are kept, so nothing is lost or repeated.
        interrupted = true;
        if (!closed) await pause(clock, pauseMs);
      }
    }
  }
  const done = follow();

  return {
    add(one) {
      followed.set(logs.keyOf(one.audience), one);
      const wake = ['XADD', wakeKey, 'MAXLEN', '=', '1', '*', 'w', ''];
      // Without this the log is read when the present wait ends.
      link.send(wake).then(
        () => link.send(['PEXPIRE', wakeKey, '60000']).catch(() => {}),
        () => {},
      );
    },
    remove(audience) {
      followed.delete(logs.keyOf(audience));
    },
    async lagMs() {
      const some = [...followed.values()].slice(0, lagSample);
      const behind = some.map(async (one) => {
        const before = one.position;
        const { end } = await logs.bounds(one.audience);
        return isAfter(end, before) ? Number.parseInt(end, 10) - Number.parseInt(before, 10) : 0;
      });
      return Math.max(0, ...(await Promise.all(behind)));
    },
    async close() {
      closed = true;
      await link.send(['XADD', wakeKey, 'MAXLEN', '=', '1', '*', 'w', '']).catch(() => {});
      await link.send(['PEXPIRE', wakeKey, '1000']).catch(() => {});
      await blocking.close();
      await done;
    },
  };
}
