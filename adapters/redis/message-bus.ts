// The bus on Redis Streams: one stream per shard, read through a consumer group by the shard's owner, and one stream of
// replies per node. MessagePack on the bus. Acknowledged envelopes are deleted, so that a stream holds waiting ones
// alone.
import { decode, Encoder } from '@msgpack/msgpack';
import { refusalOf } from '../../src/admission/admission.ts';
import { admissionTable } from '../../src/admission/table.ts';
import { createBatcher } from '../../src/shared/concurrency/batcher.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import type {
  BusDelivery,
  BusPosition,
  BusReply,
  Envelope,
  MessageBus,
  ShardLag,
} from '../../src/shared/ports/message-bus.ts';
import { type Link, type RedisReply, unavailable } from './link.ts';
import { isList } from './log.ts';
import {
  type MessageBusReader,
  openMessageBusReader,
  type RawEntry,
  replyIdleMs,
  streamIdleMs,
} from './message-bus-reader.ts';
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

/** Null for bytes that are not what they should be. */
function read<T>(bytes: Buffer | null, as: (bytes: Buffer) => T | null): T | null {
  try {
    return bytes && as(bytes);
  } catch {
    return null;
  }
}

interface Settled {
  readonly key: string;
  /** Of an entry that is done with, or null: `reply` is to be added. */
  readonly position: string | null;
  readonly reply?: Buffer;
}

class RedisMessageBus implements MessageBus {
  readonly #link: Link;
  readonly #prefix: string;
  readonly #node: string;
  readonly #log: Log;
  readonly #shards = new Map<string, number>();
  #deliver: (delivery: BusDelivery) => void = () => {};
  #answer: (reply: BusReply) => void = () => {};
  readonly #reader: MessageBusReader;
  readonly #append: (item: { readonly key: string; readonly bytes: Buffer }) => Promise<string>;
  readonly #settle: (item: Settled) => Promise<true>;

  constructor(options: MessageBusOptions) {
    const { link, prefix, node, log, maxEnvelopes = admissionTable.busEnvelopes.bounds[0].waiting } = options;
    this.#link = link;
    this.#prefix = prefix;
    this.#node = node;
    this.#log = log;
    this.#reader = openMessageBusReader({
      ...options,
      group,
      home: this.#repliesOf(node),
      take: (key, entry) => this.#take(key, entry),
    });
    this.#append = createBatcher<{ readonly key: string; readonly bytes: Buffer }, string>(
      async (envelopes) => {
        const keys = [...new Set(envelopes.map(({ key }) => key))];
        const numbers = new Map(keys.map((key, i) => [key, String(i + 1)]));
        const words = envelopes.flatMap(({ key, bytes }) => [numbers.get(key) ?? '', bytes]);
        const places = await link.run(sendScript, keys, [
          String(maxEnvelopes),
          String(streamIdleMs),
          ...words,
        ]);
        return envelopes.map((_, i) => {
          const place = isList(places) ? String(places[i]) : '';
          return place === '' ? refusalOf('busEnvelopes') : place;
        });
      },
    );
    this.#settle = createBatcher<Settled, true>(async (items) => {
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
  }

  async send(shard: number, envelope: Envelope): Promise<BusPosition> {
    return this.#append({ key: this.#streamOf(shard), bytes: pack(envelope) });
  }

  async open(shard: number): Promise<BusPosition> {
    this.#shards.set(this.#streamOf(shard), shard);
    return this.#reader.add(this.#streamOf(shard));
  }

  async shut(list: readonly number[]): Promise<void> {
    for (const shard of list) this.#shards.delete(this.#streamOf(shard));
    await this.#reader.remove(list.map((shard) => this.#streamOf(shard)));
  }

  onDelivery(take: (delivery: BusDelivery) => void): void {
    this.#deliver = take;
  }

  onReply(take: (reply: BusReply) => void): void {
    this.#answer = take;
  }

  async acknowledge(
    { shard, position }: Pick<BusDelivery, 'shard' | 'position'>,
    reply?: { readonly to: string; readonly reply: BusReply },
  ): Promise<void> {
    const items: Settled[] = [{ key: this.#streamOf(shard), position }];
    if (reply) {
      const { error, ...rest } = reply.reply;
      items.push({
        key: this.#repliesOf(reply.to),
        position: null,
        reply: bytesOf(error ? { ...rest, error } : rest),
      });
    }
    // Side by side: waiting for one after the other leaves the second's failure to nobody, which ends the process.
    await Promise.all(items.map((item) => this.#settle(item)));
  }

  async lag(list: readonly number[]): Promise<readonly ShardLag[]> {
    if (list.length === 0) return [];
    const lags: RedisReply = await this.#link.run(
      lagScript,
      list.map((shard) => this.#streamOf(shard)),
      [],
    );
    if (!isList(lags)) throw unavailable();
    return list.map((shard, i) => {
      const [waiting, oldest] = isList(lags[i]) ? lags[i] : [];
      return { shard, waiting: Number(waiting ?? 0), oldestMs: Number(oldest ?? 0) };
    });
  }

  close(): Promise<void> {
    return this.#reader.close();
  }

  #streamOf(shard: number): string {
    return `${this.#prefix}bus:${shard}`;
  }

  #repliesOf(name: string): string {
    return `${this.#prefix}replies:${name}`;
  }

  #take(key: string, { position, bytes, ageMs }: RawEntry): void {
    if (key === this.#repliesOf(this.#node)) {
      this.#settle({ key, position }).catch(() => {});
      const reply = read(bytes, (b) => decode(b) as BusReply);
      if (reply?.id) this.#answer(reply);
      return;
    }
    const shard = this.#shards.get(key);
    if (shard === undefined) return;
    const envelope = read(bytes, unpack);
    if (envelope) this.#deliver({ shard, position, envelope, ageMs });
    else {
      this.#log.error({ shard, position }, 'dropped an unreadable envelope');
      this.#settle({ key, position }).catch(() => {});
    }
  }
}

export const openMessageBus = (options: MessageBusOptions): MessageBus => new RedisMessageBus(options);
