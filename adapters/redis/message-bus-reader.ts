// The one blocking reader of a node's bus: its owned shards and its replies on one connection, through a consumer
// group. Hands entries on; decides nothing. Claims what others left when a stream is added, every few seconds, and
// after every failure.

import { dayMs } from '../../src/shared/duration.ts';
import { type Clock, pause } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import { comparePositions } from '../../src/shared/position.ts';
import { type Link, type RedisReply, unavailable } from './link.ts';
import { isList } from './log.ts';
import { claimScript } from './message-bus-scripts.ts';

export interface RawEntry {
  readonly position: string;
  readonly bytes: Buffer | null;
  readonly ageMs: number;
}

export interface MessageBusReader {
  /**
   * Claims and hands on what was left, then reads on. Answers the position up to which all was handed out.
   * @throws HubError unavailable
   */
  add(key: string): Promise<string>;
  /** Resolves when Redis hands out nothing of them to this node any more. */
  remove(keys: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** Much shorter than a lease: a paused node's waiting read must have ended before another owns its shards. */
const blockMs = 1000;
const slackMs = 2000;
const pauseMs = 100;
const countPerStream = 200;
const claimEveryMs = 3000;
/** How long streams stay that nobody adds to or reads: those of shards, and a node's own. */
export const streamIdleMs = dayMs;
export const replyIdleMs = 60_000;

interface Options {
  readonly link: Link;
  readonly blocking: Link;
  readonly group: string;
  readonly node: string;
  /** The stream of this node alone: replies come there, and an entry there ends a wait. */
  readonly home: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly turned?: () => void;
  take(key: string, entry: RawEntry): void;
}

interface Followed {
  /** Claimed since it was added, or since the last failure. */
  ready: boolean;
}

function entryOf(answer: RedisReply | undefined, now: number): RawEntry | null {
  if (!isList(answer)) return null;
  const bytes = isList(answer[1]) ? answer[1][1] : undefined;
  const position = String(answer[0]);
  return {
    position,
    bytes: Buffer.isBuffer(bytes) ? bytes : null,
    ageMs: Math.max(0, now - Number.parseInt(position, 10)),
  };
}

class ShardReader implements MessageBusReader {
  readonly #options: Options;
  readonly #followed: Map<string, Followed>;
  #closed = false;
  /** Redis's time minus our monotonic one: nobody sets that. */
  #ahead = 0;
  #claimAt = 0;
  #turn: Promise<void> = Promise.resolve();
  readonly #done: Promise<void>;
  #waking: Promise<void> | null = null;

  constructor(options: Options) {
    this.#options = options;
    this.#followed = new Map([[options.home, { ready: false }]]);
    this.#done = this.#follow();
  }

  async add(key: string): Promise<string> {
    if (this.#closed) throw unavailable();
    const one: Followed = { ready: false };
    this.#followed.set(key, one);
    try {
      const [last] = await this.#claim([key], true);
      one.ready = true;
      this.#wake().catch(() => {});
      return last ?? '0-0';
    } catch (error) {
      if (this.#followed.get(key) === one) this.#followed.delete(key);
      throw error;
    }
  }

  async remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#followed.delete(key);
    const present = this.#turn;
    await this.#wake().catch(() => {});
    await present;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#wake().catch(() => {});
    await this.#options.blocking.close();
    await this.#done;
  }

  #guarded(key: string, entries: readonly RedisReply[]): void {
    const now = this.#options.clock.monotonic() + this.#ahead;
    for (const answer of entries) {
      const entry = entryOf(answer, now);
      if (!entry || !this.#followed.has(key)) continue;
      try {
        this.#options.take(key, entry);
      } catch (err) {
        this.#options.log.error({ err, stream: key }, 'cannot deliver an entry from the bus');
      }
    }
  }

  /** Takes over what others had taken; with `own` also what this node had taken. Answers where each stream stands. */
  async #claim(keys: readonly string[], own: boolean): Promise<readonly string[]> {
    const answer = await this.#options.link.run(claimScript, keys, [
      this.#options.group,
      this.#options.node,
      own ? '1' : '0',
      ...keys.map((key) => String(key === this.#options.home ? replyIdleMs : streamIdleMs)),
    ]);
    return keys.map((key, i) => {
      const [last, entries] = isList(answer) && isList(answer[i]) ? answer[i] : [];
      if (isList(entries)) {
        const sorted = [...entries].sort((a, b) =>
          comparePositions(String(isList(a) ? a[0] : ''), String(isList(b) ? b[0] : '')),
        );
        this.#guarded(key, sorted);
      }
      return String(last);
    });
  }

  async #learnTime(): Promise<void> {
    const answer = await this.#options.link.send(['TIME']);
    if (isList(answer))
      this.#ahead = Number(answer[0]) * 1000 + Number(answer[1]) / 1000 - this.#options.clock.monotonic();
  }

  async #maintain(): Promise<void> {
    const fresh = [...this.#followed].filter(([, { ready }]) => !ready).map(([key]) => key);
    if (fresh.length > 0) {
      // After a failure: groups may be gone, and an answer with entries may never have arrived.
      await this.#learnTime();
      await this.#claim(fresh, true);
      for (const key of fresh) {
        const one = this.#followed.get(key);
        if (one) one.ready = true;
      }
    }
    if (this.#options.clock.monotonic() < this.#claimAt) return;
    this.#claimAt = this.#options.clock.monotonic() + claimEveryMs;
    // The clock of Redis's machine may be set, which would make every ask seem old, or none.
    await this.#learnTime();
    await this.#claim([...this.#followed.keys()], false);
  }

  async #read(): Promise<void> {
    const keys = [...this.#followed].filter(([, { ready }]) => ready).map(([key]) => key);
    const command = [
      'XREADGROUP',
      'GROUP',
      this.#options.group,
      this.#options.node,
      'COUNT',
      String(countPerStream),
      'BLOCK',
      String(blockMs),
    ];
    const answer = await this.#options.blocking.send(
      [...command, 'STREAMS', ...keys, ...keys.map(() => '>')],
      blockMs + slackMs,
    );
    if (!isList(answer)) return;
    for (const stream of answer) {
      if (isList(stream) && isList(stream[1])) this.#guarded(String(stream[0]), stream[1]);
    }
  }

  async #follow(): Promise<void> {
    while (!this.#closed) {
      let ended = () => {};
      this.#turn = new Promise((resolve) => {
        ended = resolve;
      });
      try {
        await this.#maintain();
        if (!this.#closed) await this.#read();
        this.#options.turned?.();
      } catch {
        // The links log that Redis is away.
        for (const one of this.#followed.values()) one.ready = false;
        if (!this.#closed) await pause(this.#options.clock, pauseMs);
      } finally {
        ended();
      }
    }
  }

  /** Ends the present wait; many calls at once are one. */
  #wake(): Promise<void> {
    this.#waking ??= (async () => {
      await null;
      this.#waking = null;
      await this.#options.link.send(['XADD', this.#options.home, '*', 'w', '']);
      await this.#options.link.send(['PEXPIRE', this.#options.home, String(replyIdleMs)]);
    })();
    return this.#waking;
  }
}

export const openMessageBusReader = (options: Options): MessageBusReader => new ShardReader(options);
