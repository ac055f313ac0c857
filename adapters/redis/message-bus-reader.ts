// The one blocking reader of a node's bus: its owned shards and its replies on one connection, through a consumer
// group. Hands entries on; decides nothing. Claims what others left when a stream is added, every few seconds, and
// after every failure.

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

export function openMessageBusReader(options: Options): MessageBusReader {
  const { link, blocking, group, node, home, clock, take } = options;
  const followed = new Map<string, Followed>([[home, { ready: false }]]);
  let closed = false;
  /** Redis's time minus our monotonic one: nobody sets that. */
  let ahead = 0;
  let claimAt = 0;
  let turn: Promise<void> = Promise.resolve();

  const guarded = (key: string, entries: readonly RedisReply[]): void => {
    const now = clock.monotonic() + ahead;
    for (const answer of entries) {
      const entry = entryOf(answer, now);
      if (!entry || !followed.has(key)) continue;
      try {
        take(key, entry);
      } catch (err) {
        options.log.error({ err, key }, 'cannot deliver an entry from the bus');
      }
    }
  };

  /** Takes over what others had taken; with `own` also what this node had taken. Answers where each stream stands. */
  async function claim(keys: readonly string[], own: boolean): Promise<readonly string[]> {
    const answer = await link.run(claimScript, keys, [group, node, own ? '1' : '0']);
    return keys.map((key, i) => {
      const [last, entries] = isList(answer) && isList(answer[i]) ? answer[i] : [];
      if (isList(entries)) {
        const sorted = [...entries].sort((a, b) =>
          comparePositions(String(isList(a) ? a[0] : ''), String(isList(b) ? b[0] : '')),
        );
        guarded(key, sorted);
      }
      return String(last);
    });
  }

  async function learnTime(): Promise<void> {
    const answer = await link.send(['TIME']);
    if (isList(answer)) ahead = Number(answer[0]) * 1000 + Number(answer[1]) / 1000 - clock.monotonic();
  }

  async function maintain(): Promise<void> {
    const fresh = [...followed].filter(([, { ready }]) => !ready).map(([key]) => key);
    if (fresh.length > 0) {
      // After a failure: groups may be gone, and an answer with entries may never have arrived.
      await learnTime();
      await claim(fresh, true);
      for (const key of fresh) {
        const one = followed.get(key);
        if (one) one.ready = true;
      }
    }
    if (clock.monotonic() < claimAt) return;
    claimAt = clock.monotonic() + claimEveryMs;
    // The clock of Redis's machine may be set, which would make every ask seem old, or none.
    await learnTime();
    await link.send(['PEXPIRE', home, '60000']);
    await claim([...followed.keys()], false);
  }

  async function read(): Promise<void> {
    const keys = [...followed].filter(([, { ready }]) => ready).map(([key]) => key);
    const command = [
      'XREADGROUP',
      'GROUP',
      group,
      node,
      'COUNT',
      String(countPerStream),
      'BLOCK',
      String(blockMs),
    ];
    const answer = await blocking.send(
      [...command, 'STREAMS', ...keys, ...keys.map(() => '>')],
      blockMs + slackMs,
    );
    if (!isList(answer)) return;
    for (const stream of answer) {
      if (isList(stream) && isList(stream[1])) guarded(String(stream[0]), stream[1]);
    }
  }

  async function follow(): Promise<void> {
    while (!closed) {
      let ended = () => {};
      turn = new Promise((resolve) => {
        ended = resolve;
      });
      try {
        await maintain();
        if (!closed) await read();
        options.turned?.();
      } catch {
        // The links say in the log that Redis is away.
        for (const one of followed.values()) one.ready = false;
        if (!closed) await pause(clock, pauseMs);
      } finally {
        ended();
      }
    }
  }
  const done = follow();

  let waking: Promise<void> | null = null;
  /** Ends the present wait; many calls at once are one. */
  const wake = (): Promise<void> => {
    waking ??= (async () => {
      await null;
      waking = null;
      await link.send(['XADD', home, '*', 'w', '']);
      await link.send(['PEXPIRE', home, '60000']);
    })();
    return waking;
  };

  return {
    async add(key) {
      if (closed) throw unavailable();
      const one: Followed = { ready: false };
      followed.set(key, one);
      try {
        const [last] = await claim([key], true);
        one.ready = true;
        wake().catch(() => {});
        return last ?? '0-0';
      } catch (error) {
        if (followed.get(key) === one) followed.delete(key);
        throw error;
      }
    },
    async remove(keys) {
      for (const key of keys) followed.delete(key);
      const present = turn;
      await wake().catch(() => {});
      await present;
    },
    async close() {
      closed = true;
      await wake().catch(() => {});
      await blocking.close();
      await done;
    },
  };
}
