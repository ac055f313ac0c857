// The envelopes of the shards that a node owns: each handled once, acknowledged after its write, answered again when it
// comes again. An envelope whose shard was lost is left alone: the next owner finds the envelope unacknowledged. Keeps
// promise P9.
import { HubError } from '../../src/shared/error.ts';
import { type Clock, pause } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import type {
  BusDelivery,
  BusPosition,
  BusReply,
  Envelope,
  MessageBus,
} from '../../src/shared/ports/message-bus.ts';
import type { Tell } from './define.ts';

export interface InboxOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly bus: Pick<MessageBus, 'acknowledge'>;
  readonly owns: (shard: number) => boolean;
  readonly handle: (message: Tell & Pick<Envelope, 'trace'>, abandoned: () => boolean) => Promise<unknown>;
  /** How long an asker waits. */
  readonly askTimeoutMs: number;
}

/** Replies kept per shard, for envelopes that come again. */
const remembered = 1000;
/** Until an envelope is tried again, when the mailbox was full or the store away, or acknowledged again. */
const againMs = 250;
/** From then on such an envelope is given up. */
const giveUpMs = 3_600_000;

interface Shard {
  /** Up to here all was delivered. */
  position: BusPosition;
  readonly atWork: Set<BusPosition>;
  /** By the envelope's id; null while it is handled. */
  readonly done: Map<string, BusReply | null>;
  /** The shard goes to another node: new envelopes are left for that node. */
  resting: boolean;
  /** Called when nothing is at work any more. */
  idle: (() => void) | null;
}

const order = (position: BusPosition): readonly [number, number] => {
  const [ms = '0', n = '0'] = position.split('-');
  return [Number(ms), Number(n)];
};

export function isLater(a: BusPosition, b: BusPosition): boolean {
  const [[aMs, aN], [bMs, bN]] = [order(a), order(b)];
  return aMs === bMs ? aN > bN : aMs > bMs;
}

export interface Inbox {
  open(shard: number): void;
  /** All up to here was delivered. */
  reached(shard: number, position: BusPosition): void;
  /** Null while the shard is not open, not yet read, or about to go. */
  position(shard: number): BusPosition | null;
  /** Takes nothing of these any more; resolves when what was taken is acknowledged. They are to be dropped then. */
  rest(shards: readonly number[]): Promise<void>;
  drop(shards: readonly number[]): void;
  take(delivery: BusDelivery): void;
  /** Takes no more: new envelopes are left for the next owner. */
  close(): void;
}

class ShardInbox implements Inbox {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #bus: Pick<MessageBus, 'acknowledge'>;
  readonly #owns: (shard: number) => boolean;
  readonly #handle: (message: Tell & Pick<Envelope, 'trace'>, abandoned: () => boolean) => Promise<unknown>;
  readonly #askTimeoutMs: number;
  readonly #shards = new Map<number, Shard>();
  #closed = false;

  constructor(options: InboxOptions) {
    const { clock, log, bus, owns, handle, askTimeoutMs } = options;
    this.#clock = clock;
    this.#log = log;
    this.#bus = bus;
    this.#owns = owns;
    this.#handle = handle;
    this.#askTimeoutMs = askTimeoutMs;
  }

  open(number: number): void {
    this.#shards.set(number, {
      position: '',
      atWork: new Set(),
      done: new Map(),
      resting: false,
      idle: null,
    });
  }

  reached(number: number, position: BusPosition): void {
    const shard = this.#shards.get(number);
    if (shard && (shard.position === '' || isLater(position, shard.position))) shard.position = position;
  }

  position(number: number): BusPosition | null {
    const shard = this.#shards.get(number);
    return shard && !shard.resting && shard.position !== '' ? shard.position : null;
  }

  async rest(numbers: readonly number[]): Promise<void> {
    const busy = numbers.flatMap((number): Promise<void>[] => {
      const shard = this.#shards.get(number);
      if (!shard) return [];
      shard.resting = true;
      if (shard.atWork.size === 0) return [];
      return [new Promise((resolve) => (shard.idle = resolve))];
    });
    await Promise.all(busy);
  }

  drop(numbers: readonly number[]): void {
    for (const number of numbers) this.#shards.delete(number);
  }

  take(delivery: BusDelivery): void {
    const { envelope, position } = delivery;
    const shard = this.#shards.get(delivery.shard);
    if (this.#closed || !shard || shard.resting || !this.#owns(delivery.shard)) return;
    if (shard.position !== '' && isLater(position, shard.position)) shard.position = position;
    if (shard.atWork.has(position)) return;
    shard.atWork.add(position);
    const before = shard.done.get(envelope.id);
    // A second copy of one that is at work: the first will answer. Of one whose asker has left: nobody reads an answer.
    if (before !== undefined || (envelope.asks && delivery.ageMs > this.#askTimeoutMs)) {
      void this.#acknowledge(shard, delivery, before ?? null);
      return;
    }
    shard.done.set(envelope.id, null);
    for (const id of shard.done.keys()) {
      if (shard.done.size <= remembered) break;
      if (shard.done.get(id) !== null) shard.done.delete(id);
      else break;
    }
    void this.#work(shard, delivery);
  }

  close(): void {
    this.#closed = true;
  }

  #isOurs(shard: Shard, number: number): boolean {
    return this.#shards.get(number) === shard && this.#owns(number);
  }

  /**
   * Tried again while the shard is ours: the bus does not deliver the envelope again, and the next owner would carry it
   * out a second time.
   */
  async #acknowledge(shard: Shard, delivery: BusDelivery, reply: BusReply | null): Promise<void> {
    const { envelope, position } = delivery;
    const back = reply && envelope.asks ? { to: envelope.from, reply } : undefined;
    for (let [isOver, isFirst] = [false, true]; !isOver; isFirst = false) {
      try {
        await this.#bus.acknowledge(delivery, back);
        isOver = true;
      } catch (err) {
        const { shard: number } = delivery;
        if (isFirst) this.#log.warn({ err, shard: number }, 'cannot acknowledge an envelope; it is retried');
        await pause(this.#clock, againMs);
        isOver = this.#closed || !this.#isOurs(shard, delivery.shard);
      }
    }
    shard.atWork.delete(position);
    if (shard.atWork.size === 0) shard.idle?.();
  }

  async #work(shard: Shard, delivery: BusDelivery): Promise<void> {
    const { envelope } = delivery;
    const until = this.#clock.monotonic() + this.#askTimeoutMs - delivery.ageMs;
    const ours = () => this.#isOurs(shard, delivery.shard);
    for (;;) {
      let reply: BusReply;
      try {
        const value = await this.#handle(envelope, () => envelope.asks && this.#clock.monotonic() >= until);
        reply = { id: envelope.id, value };
      } catch (error) {
        const { code, message, detail } =
          error instanceof HubError ? error : new HubError('internal', 'Internal error.');
        reply = { id: envelope.id, error: { code, message, detail } };
        if (code === 'shutting_down') return;
        const passing = code === 'unavailable' || code === 'overloaded';
        if (!envelope.asks && passing && ours() && this.#clock.monotonic() - until < giveUpMs) {
          await pause(this.#clock, againMs);
          if (ours()) continue;
        }
      }
      if (!ours()) return;
      shard.done.set(envelope.id, reply);
      void this.#acknowledge(shard, delivery, reply);
      return;
    }
  }
}

export const createInbox = (options: InboxOptions): Inbox => new ShardInbox(options);
