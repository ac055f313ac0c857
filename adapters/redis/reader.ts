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
  /** Position of the reading: later entries are still to be handed on. */
  position: Position;
  /** Each entry once, in order. */
  take(entry: LogEntry): void;
  /** Entries up to this position are lost: the log was trimmed or lost before this node read them. */
  missed(position: Position): void;
  /** The log can be read again after a failure, and none of its entries are lost. */
  resumed?(): void;
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

interface ReaderParts {
  /** For short commands. */
  readonly link: Link;
  /** A connection for the reader alone. */
  readonly blocking: Link;
  readonly logs: Logs;
  readonly clock: Clock;
  readonly log: Log;
  /** After every turn that Redis answered. */
  readonly turned?: () => void;
}

class LogReader implements Reader {
  readonly #parts: ReaderParts;
  readonly #wakeKey: string;
  readonly #followed = new Map<string, Followed>();
  #wakePosition = '0-0';
  #closed = false;
  #interrupted = false;
  #count = countPerLog;
  readonly #done: Promise<void>;

  constructor(parts: ReaderParts, wakeKey: string) {
    this.#parts = parts;
    this.#wakeKey = wakeKey;
    this.#done = this.#follow();
  }

  add(one: Followed): void {
    this.#followed.set(this.#parts.logs.keyOf(one.audience), one);
    void this.#wake(60_000);
  }

  remove(audience: Audience): void {
    this.#followed.delete(this.#parts.logs.keyOf(audience));
  }

  async lagMs(): Promise<number> {
    const some = [...this.#followed.values()].slice(0, lagSample);
    const behind = some.map(async (one) => {
      const before = one.position;
      const { end } = await this.#parts.logs.bounds(one.audience);
      return isAfter(end, before) ? Number.parseInt(end, 10) - Number.parseInt(before, 10) : 0;
    });
    return Math.max(0, ...(await Promise.all(behind)));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#wake(1_000);
    await this.#parts.blocking.close();
    await this.#done;
  }

  /** Ends the present wait; where Redis does not answer, it ends by itself. @param keepMs what the entry stays for */
  async #wake(keepMs: number): Promise<void> {
    try {
      await this.#parts.link.send(['XADD', this.#wakeKey, 'MAXLEN', '=', '1', '*', 'w', '']);
      await this.#parts.link.send(['PEXPIRE', this.#wakeKey, String(keepMs)]);
    } catch {
      // The link logs that Redis is away.
    }
  }

  async #catchUp(): Promise<void> {
    for (const one of [...this.#followed.values()]) {
      const { floor, end } = await this.#parts.logs.bounds(one.audience);
      const before = one.position;
      if (isAfter(floor, before)) {
        one.position = floor;
        this.#guard(() => one.missed(floor));
      } else if (isAfter(before, end)) {
        // Redis came back with less than it had: the lost entries may be more than were read here. Positions still only
        // rise.
        one.position = end;
        this.#guard(() => one.missed(ownPosition(sharedPosition(before), 1)));
      } else this.#guard(() => one.resumed?.());
    }
  }

  #guard(task: () => void): void {
    try {
      task();
    } catch (error) {
      this.#parts.log.error({ error: String(error) }, 'a subscriber failed to handle a frame');
    }
  }

  #hand(key: string, entries: readonly LogEntry[]): void {
    const one = this.#followed.get(key);
    if (!one) return;
    for (const entry of entries) {
      const { before } = entry;
      // A log that was left and followed again is read from a later position than this answer's.
      if (!isAfter(entry.position, one.position)) continue;
      if (before !== null && isAfter(before, one.position)) this.#guard(() => one.missed(before));
      one.position = entry.position;
      this.#guard(() => one.take(entry));
    }
  }

  async #read(): Promise<void> {
    const keys = [this.#wakeKey, ...this.#followed.keys()];
    const positions = [this.#wakePosition, ...[...this.#followed.values()].map((one) => one.position)];
    const command = ['XREAD', 'COUNT', String(this.#count), 'BLOCK', String(blockMs), 'STREAMS'];
    const begun = this.#parts.clock.monotonic();
    let answer: RedisReply;
    try {
      answer = await this.#parts.blocking.send([...command, ...keys, ...positions], blockMs + slackMs);
    } catch (error) {
      if (this.#parts.clock.monotonic() - begun >= blockMs + slackMs)
        this.#count = Math.max(1, Math.floor(this.#count / 2));
      throw error;
    }
    this.#count = Math.min(countPerLog, this.#count * 2);
    if (this.#closed || !isList(answer)) return;
    for (const stream of answer) {
      if (!isList(stream)) continue;
      const key = String(stream[0]);
      if (key === this.#wakeKey) {
        const last = isList(stream[1]) ? stream[1].at(-1) : undefined;
        if (isList(last)) this.#wakePosition = String(last[0]);
      } else {
        this.#hand(key, entriesOf(stream[1]));
      }
    }
  }

  async #follow(): Promise<void> {
    while (!this.#closed) {
      try {
        if (this.#interrupted) {
          await this.#catchUp();
          this.#interrupted = false;
        }
        await this.#read();
        this.#parts.turned?.();
      } catch {
        // The links log that Redis is away; positions are kept, so nothing is lost or repeated.
        this.#interrupted = true;
        if (!this.#closed) await pause(this.#parts.clock, pauseMs);
      }
    }
  }
}

/** @param wakeKey a stream of this node alone */
export const openReader = (parts: ReaderParts, wakeKey: string): Reader => new LogReader(parts, wakeKey);
