// The bus, the leases and the members of several nodes in memory, in the time of one manual clock: for tests of what
// runs between nodes.
import { HubError } from '../../../src/shared/error.ts';
import type { Clock } from '../../../src/shared/ports/clock.ts';
import { type Lease, type Leases, leaseMs } from '../../../src/shared/ports/leases.ts';
import {
  type Member,
  type Membership,
  memberMs,
  type NodeNote,
} from '../../../src/shared/ports/membership.ts';
import type { BusDelivery, BusReply, Envelope, MessageBus } from '../../../src/shared/ports/message-bus.ts';

interface Entry {
  readonly position: string;
  readonly envelope: Envelope;
  readonly at: number;
  /** Handed to this node, not acknowledged. */
  takenBy: string | null;
}

interface Stream {
  readonly entries: Entry[];
  reader: string | null;
  last: string;
}

const away = () => new HubError('unavailable', 'The bus is away.', { retryAfter: 1 });

export class MemoryBus {
  readonly clock: Clock;
  readonly streams = new Map<number, Stream>();
  readonly #nodes = new Map<
    string,
    { deliver(delivery: BusDelivery): void; answer(reply: BusReply): void }
  >();
  readonly #leases = new Map<string, { owner: string; epoch: number; until: number }>();
  readonly #members = new Map<string, { note: NodeNote; at: number }>();
  /** Nodes that reach nothing, as if paused or cut off. */
  readonly cut = new Set<string>();
  readonly acknowledged: string[] = [];
  #count = 0;
  #epochs = 0;

  readonly #maxEnvelopes: number;

  constructor(clock: Clock, maxEnvelopes = 50_000) {
    this.clock = clock;
    this.#maxEnvelopes = maxEnvelopes;
  }

  stream(shard: number): Stream {
    const found = this.streams.get(shard) ?? { entries: [], reader: null, last: '0-0' };
    this.streams.set(shard, found);
    return found;
  }

  /** Puts an envelope in a stream as any node might. */
  put(shard: number, envelope: Envelope): string {
    const position = `${this.clock.now()}-${++this.#count}`;
    this.stream(shard).entries.push({ position, envelope, at: this.clock.now(), takenBy: null });
    return position;
  }

  #hand(shard: number): void {
    const stream = this.stream(shard);
    const { reader } = stream;
    const node = reader === null || this.cut.has(reader) ? undefined : this.#nodes.get(reader);
    if (!node || reader === null) return;
    for (const entry of [...stream.entries]) {
      if (entry.takenBy === reader) continue;
      entry.takenBy = reader;
      stream.last = entry.position;
      const { position, envelope, at } = entry;
      node.deliver({ shard, position, envelope, ageMs: this.clock.now() - at });
    }
  }

  bus(node: string): MessageBus {
    const here = { deliver: (_: BusDelivery) => {}, answer: (_: BusReply) => {} };
    this.#nodes.set(node, here);
    const reach = () => {
      if (this.cut.has(node)) throw away();
    };
    return {
      send: async (shard, envelope) => {
        reach();
        if (this.stream(shard).entries.length >= this.#maxEnvelopes)
          throw new HubError('overloaded', 'Full.');
        const position = this.put(shard, structuredClone(envelope));
        queueMicrotask(() => this.#hand(shard));
        return position;
      },
      open: async (shard) => {
        reach();
        const stream = this.stream(shard);
        stream.reader = node;
        const { last } = stream;
        for (const entry of stream.entries) entry.takenBy = null;
        this.#hand(shard);
        stream.last = last === '0-0' ? stream.last : last;
        return last;
      },
      shut: async (shards) => {
        for (const shard of shards) {
          const stream = this.stream(shard);
          if (stream.reader === node) stream.reader = null;
        }
      },
      onDelivery: (take) => {
        here.deliver = take;
      },
      onReply: (take) => {
        here.answer = take;
      },
      acknowledge: async ({ shard, position }, reply) => {
        reach();
        const { entries } = this.stream(shard);
        const at = entries.findIndex((entry) => entry.position === position);
        if (at >= 0) entries.splice(at, 1);
        this.acknowledged.push(position);
        if (reply) queueMicrotask(() => this.#nodes.get(reply.to)?.answer(structuredClone(reply.reply)));
      },
      lag: async (shards) =>
        shards.map((shard) => ({ shard, waiting: this.stream(shard).entries.length, oldestMs: 0 })),
      close: async () => {},
    };
  }

  leases(node: string): Leases {
    const reach = () => {
      if (this.cut.has(node)) throw away();
    };
    return {
      acquire: async (names) => {
        reach();
        return names.flatMap((name): Lease[] => {
          const now = this.clock.monotonic();
          const held = this.#leases.get(name);
          if (held && held.until > now && held.owner !== node) return [];
          const epoch = held && held.until > now ? held.epoch : ++this.#epochs;
          this.#leases.set(name, { owner: node, epoch, until: now + leaseMs });
          return [{ name, epoch, until: now + leaseMs }];
        });
      },
      renew: async (leases) => {
        reach();
        const now = this.clock.monotonic();
        return leases.flatMap((lease): Lease[] => {
          const held = this.#leases.get(lease.name);
          if (!held || held.until <= now || held.owner !== node || held.epoch !== lease.epoch) return [];
          held.until = now + leaseMs;
          return [{ ...lease, until: now + leaseMs }];
        });
      },
      release: async (leases) => {
        reach();
        for (const { name, epoch } of leases) {
          if (this.#leases.get(name)?.epoch === epoch) this.#leases.delete(name);
        }
      },
    };
  }

  members(node: string): Membership {
    const list = (): Member[] =>
      [...this.#members].map(([name, { note, at }]) => {
        return { node: name, note, ageMs: this.clock.monotonic() - at };
      });
    return {
      heartbeat: async (note) => {
        if (this.cut.has(node)) throw away();
        this.#members.set(node, { note, at: this.clock.monotonic() });
        return list().filter(({ ageMs }) => ageMs <= memberMs);
      },
      list: async () => list(),
      pulse: async () => [],
      leave: async () => {
        this.#members.delete(node);
      },
    };
  }
}
