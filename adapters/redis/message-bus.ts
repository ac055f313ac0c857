// The bus on Redis Streams: one stream per shard, read through a consumer group by the shard's owner, and one stream of
// replies per node. MessagePack on the bus. What is acknowledged is deleted, so that a stream holds what waits and
// nothing else.

import { decode, Encoder } from '@msgpack/msgpack';
import { refusalOf } from '../../src/admission/admission.ts';
import { admissionTable } from '../../src/admission/table.ts';
import { createBatcher } from '../../src/shared/concurrency/batcher.ts';
import { dayMs } from '../../src/shared/duration.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import type { BusDelivery, BusReply, Envelope, MessageBus } from '../../src/shared/ports/message-bus.ts';
import { type Link, type RedisReply, unavailable } from './link.ts';
import { isList } from './log.ts';
import { openMessageBusReader, type RawEntry } from './message-bus-reader.ts';
import { acknowledgeScript, lagScript, sendScript } from './message-bus-scripts.ts';

export interface MessageBusOptions {
  /** Short commands. */
  readonly link: Link;
  /** A connection for the reader alone. */
  readonly blocking: Link;
  readonly prefix: string;
  /** This node's name. */
  readonly node: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after every turn of the reader that Redis answered. */
  readonly turned?: () => void;
  /** How many envelopes a shard's stream may hold; 50,000 by default. */
  readonly maxEnvelopes?: number;
}

export const group = 'owners';
const streamIdleMs = dayMs;
const replyIdleMs = 60_000;

type Wire = readonly [string, string, 0 | 1, string, string, string, unknown, string?];

/** One for all envelopes: making one costs as much as writing one. */
const encoder = new Encoder({ ignoreUndefined: true });
const bytesOf = (value: unknown): Buffer => Buffer.from(encoder.encodeSharedRef(value));

const pack = ({ id, from, asks, kind, key, type, body, trace }: Envelope): Buffer => {
  const items = [id, from, asks ? 1 : 0, kind, key, type, body] as const;
  return bytesOf((trace === undefined ? items : [...items, trace]) satisfies Wire);
};

function unpack(bytes: Buffer): Envelope | null {
  const value: unknown = decode(bytes);
  if (!Array.isArray(value) || value.length < 7) return null;
  const [id, from, asks, kind, key, type, body, trace] = value as unknown as Wire;
  const sender = typeof trace === 'string' ? { trace } : {};
  return { id, from, asks: asks === 1, kind, key, type, body, ...sender };
}

/** Numbers the different keys of some items, in order of appearance. */
function numbered<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const byKey = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const list = byKey.get(key);
    if (list) list.push(item);
    else byKey.set(key, [item]);
  }
  return byKey;
}

export function openMessageBus(options: MessageBusOptions): MessageBus {
  const { link, prefix, node, log, maxEnvelopes = admissionTable.busEnvelopes.bounds[0].waiting } = options;
  const streamOf = (shard: number): string => `${prefix}bus:${shard}`;
  const repliesOf = (name: string): string => `${prefix}replies:${name}`;
  const shards = new Map<string, number>();
  let deliver: (delivery: BusDelivery) => void = () => {};
  let answer: (reply: BusReply) => void = () => {};

  const read = <T>(bytes: Buffer | null, as: (bytes: Buffer) => T | null): T | null => {
    try {
      return bytes && as(bytes);
    } catch {
      return null;
    }
  };

  const reader = openMessageBusReader({
    ...options,
    group,
    home: repliesOf(node),
    take(key, { position, bytes, ageMs }: RawEntry) {
      if (key === repliesOf(node)) {
        acknowledge({ key, position }).catch(() => {});
        const reply = read(bytes, (b) => decode(b) as BusReply);
        if (reply?.id) answer(reply);
        return;
      }
      const shard = shards.get(key);
      if (shard === undefined) return;
      const envelope = read(bytes, unpack);
      if (envelope) deliver({ shard, position, envelope, ageMs });
      else {
        log.error({ shard, position }, 'dropped an unreadable envelope');
        acknowledge({ key, position }).catch(() => {});
      }
    },
  });

  const send = createBatcher<{ readonly key: string; readonly bytes: Buffer }, string>(async (envelopes) => {
    const keys = [...new Set(envelopes.map(({ key }) => key))];
    const numbers = new Map(keys.map((key, i) => [key, String(i + 1)]));
    const words = envelopes.flatMap(({ key, bytes }) => [numbers.get(key) ?? '', bytes]);
    const places = await link.run(sendScript, keys, [String(maxEnvelopes), String(streamIdleMs), ...words]);
    return envelopes.map((_, i) => {
      const place = isList(places) ? String(places[i]) : '';
      return place === '' ? refusalOf('busEnvelopes') : place;
    });
  });

  interface Settled {
    readonly key: string;
    /** Of an entry that is done with, or null: `reply` is to be added. */
    readonly position: string | null;
    readonly reply?: Buffer;
  }
  const acknowledgeAll = createBatcher<Settled, true>(async (items) => {
    const done = numbered(
      items.filter(({ position }) => position !== null),
      ({ key }) => key,
    );
    const replies = numbered(
      items.filter(({ position }) => position === null),
      ({ key }) => key,
    );
    const words = [...done.values(), ...replies.values()].flatMap((list): (string | Buffer)[] => [
      String(list.length),
      ...list.map(({ position, reply }) => position ?? reply ?? ''),
    ]);
    const args = [group, String(done.size), String(replyIdleMs), ...words];
    await link.run(acknowledgeScript, [...done.keys(), ...replies.keys()], args);
    return items.map(() => true as const);
  });
  const acknowledge = (item: Settled): Promise<true> => acknowledgeAll(item);

  return {
    async send(shard, envelope) {
      return send({ key: streamOf(shard), bytes: pack(envelope) });
    },
    async open(shard) {
      shards.set(streamOf(shard), shard);
      return reader.add(streamOf(shard));
    },
    async shut(list) {
      for (const shard of list) shards.delete(streamOf(shard));
      await reader.remove(list.map(streamOf));
    },
    onDelivery(take) {
      deliver = take;
    },
    onReply(take) {
      answer = take;
    },
    async acknowledge({ shard, position }, reply) {
      const items: Settled[] = [{ key: streamOf(shard), position }];
      if (reply) {
        const { error, ...rest } = reply.reply;
        items.push({
          key: repliesOf(reply.to),
          position: null,
          reply: bytesOf(error ? { ...rest, error } : rest),
        });
      }
      // Side by side: waiting for one after the other leaves the second's failure to nobody, which ends the process.
      await Promise.all(items.map(acknowledge));
    },
    async lag(list) {
      if (list.length === 0) return [];
      const lags: RedisReply = await link.run(lagScript, list.map(streamOf), []);
      if (!isList(lags)) throw unavailable();
      return list.map((shard, i) => {
        const [waiting, oldest] = isList(lags[i]) ? lags[i] : [];
        return { shard, waiting: Number(waiting ?? 0), oldestMs: Number(oldest ?? 0) };
      });
    },
    close: () => reader.close(),
  };
}
