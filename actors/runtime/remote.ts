// The actors of a cluster: finds whose key it is, sends envelopes to the owner and waits for replies; keeps what this
// node owns with `system.ts`. Keeps promises P9 and P12.
import { outageOf } from '../../src/admission/outages.ts';
import { HubError } from '../../src/shared/error.ts';
import { shardOf } from '../../src/shared/ids.ts';
import type { TakeoverReason } from '../../src/shared/meters.ts';
import { type Clock, upTo } from '../../src/shared/ports/clock.ts';
import type { Leases } from '../../src/shared/ports/leases.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import type { Member, Membership, NodeNote } from '../../src/shared/ports/membership.ts';
import type { BusPosition, BusReply, Envelope, MessageBus } from '../../src/shared/ports/message-bus.ts';
import { currentTrace, resumed } from '../../src/shared/tracing.ts';
import { type ActorRuntime, rebuildMessage, wakeMessage } from './activation.ts';
import { Asks } from './asks.ts';
import type { Actors, Kinds, Tell } from './define.ts';
import { createInbox, type Inbox, isLater } from './inbox.ts';
import { type Ownership, startOwnership } from './ownership.ts';
import { type ActorSystem, type ActorsOptions, actorsOver, createActors } from './system.ts';

export interface RemoteOptions<K extends Kinds, Ports>
  extends Omit<ActorsOptions<K, Ports>, 'carry' | 'mayAct' | 'epochOf' | 'lost'> {
  /** This process's name among the nodes. */
  readonly node: string;
  readonly bus: MessageBus;
  readonly leases: Leases;
  readonly members: Membership;
  readonly note: () => Omit<NodeNote, 'shards'>;
  readonly shards?: number;
  readonly renewMs?: number;
  /** This node is the new owner of these shards. Edges with streams of these shards should announce them again. */
  readonly moved?: (shards: readonly number[], reason: TakeoverReason) => Promise<void>;
  /** After every turn of the lease loop that succeeded. */
  readonly turned?: () => void;
}

export interface RemoteActors<K extends Kinds> extends Actors<K> {
  /** As `ask`, for a message that has lost its types. */
  receive(message: Tell): Promise<unknown>;
  /**
   * Makes sure that the actor is in memory at its owner, so that its timers run and edges are asked for their streams.
   * Resolves when that is written down: it is tried until it succeeds, by the next owner if need be.
   */
  wake(kind: string, key: string): Promise<void>;
  /** True while this node owns the key's shard. */
  owns(key: string): boolean;
  readonly shards: readonly number[];
  readonly members: readonly Member[];
  /** Activations in memory. */
  readonly size: number;
  /** One turn of the lease loop now: for the start, and for tests. Never throws. */
  turn(): Promise<void>;
  /**
   * Finishes what is in the mailboxes, gives the shards back, waits up to `graceMs` for the replies still owed, then
   * ends. New requests go to the next owners.
   */
  stop(graceMs?: number): Promise<void>;
}

/** Shard of a key, made from its tenant and environment; an agent is in the shard of its environment. */
export const shardOfKey = (key: string): number => shardOf(key.split('/', 2).join('/'));

/** How long what is under way for a shard may take before the shard goes to another node; much shorter than a lease. */
const handOverMs = 2000;

/** Envelopes that this node has sent to a shard over the bus. */
interface Sent {
  sending: number;
  last: BusPosition;
}

const gone = () => outageOf('ownerUnreachable');

class ClusterActors<K extends Kinds, Ports> implements RemoteActors<K> {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #node: string;
  readonly #bus: MessageBus;
  readonly #asks: Asks;
  readonly #waiting = new Map<string, (reply: BusReply) => void>();
  readonly #sentTo = new Map<number, Sent>();
  readonly #owed = new Set<Promise<unknown>>();
  #envelopes = 0;
  #stopping = false;
  readonly #system: ActorSystem<K>;
  readonly #inbox: Inbox;
  readonly #ownership: Ownership;
  readonly #typed = actorsOver<K>(
    (message) => this.receive(message),
    (tell) => this.#send(tell),
  );
  readonly ask = this.#typed.ask;
  readonly tell = this.#typed.tell;

  constructor(options: RemoteOptions<K, Ports>) {
    const { clock, log, node, bus, askTimeoutMs = 5000 } = options;
    this.#clock = clock;
    this.#log = log;
    this.#node = node;
    this.#bus = bus;
    this.#asks = new Asks(clock, askTimeoutMs);
    this.#system = createActors<K, Ports>({
      ...options,
      carry: (tell) => this.#byPost(tell, false).then(() => undefined),
      epochOf: (key) => this.#ownership.epochOf(shardOfKey(key)),
      mayAct: (key) => this.#owns(shardOfKey(key)),
      lost: (kind, key) => {
        log.warn({ kind, actor: key }, 'a handler ended after its node lost the shard');
        this.#byPost({ kind, key, type: rebuildMessage, body: null }, false).catch(() => {});
      },
      forward: (message, ask) => this.#forward(message, ask),
    });
    this.#inbox = createInbox({
      clock,
      log,
      bus,
      owns: (shard) => this.#owns(shard),
      askTimeoutMs,
      handle: (message, abandoned) => this.#handleDelivery(message, abandoned),
    });
    bus.onDelivery((delivery) => this.#inbox.take(delivery));
    bus.onReply((reply) => this.#waiting.get(reply.id)?.(reply));
    this.#ownership = startOwnership({
      ...options,
      taken: async (shards, reason) => {
        for (const shard of shards) this.#inbox.open(shard);
        await Promise.all(shards.map(async (shard) => this.#inbox.reached(shard, await bus.open(shard))));
        await options.moved?.(shards, reason);
      },
      leaving: async (shards) => {
        const going = new Set(shards);
        await Promise.all([
          upTo(clock, handOverMs, this.#inbox.rest(shards)),
          this.#system.quiet((key) => going.has(shardOfKey(key)), handOverMs),
        ]);
      },
      dropped: (shards) => {
        this.#inbox.drop(shards);
        const lost = new Set(shards);
        this.#system.release((_kind, key) => !lost.has(shardOfKey(key)));
      },
      cleared: (shards) => bus.shut(shards),
    });
  }

  receive(message: Tell): Promise<unknown> {
    return this.#isHere(message.key) ? this.#system.receive(message) : this.#askByPost(message);
  }

  // Also when the key lives here: an envelope is kept until its actor could be built, a message in a mailbox is not.
  wake(kind: string, key: string): Promise<void> {
    return this.#byPost({ kind, key, type: wakeMessage, body: null }, false);
  }

  owns(key: string): boolean {
    return this.#owns(shardOfKey(key));
  }

  get shards(): readonly number[] {
    return this.#ownership.shards;
  }

  get members(): readonly Member[] {
    return this.#ownership.members;
  }

  get size(): number {
    return this.#system.size;
  }

  turn(): Promise<void> {
    return this.#ownership.turn();
  }

  async stop(graceMs = 5000): Promise<void> {
    await this.#ownership.stop();
    await upTo(this.#clock, graceMs, Promise.allSettled(this.#owed));
    this.#stopping = true;
    this.#inbox.close();
    await this.#system.stop(graceMs);
  }

  #owns(shard: number): boolean {
    return this.#ownership.owns(shard);
  }

  #handleDelivery(message: Tell & Pick<Envelope, 'trace'>, abandoned: () => boolean): Promise<unknown> {
    return resumed(`bus ${message.kind} ${message.type}`, message.trace, () =>
      this.#system.handle(message, abandoned),
    );
  }

  /** Appends to the shard's stream. Tells from effects always go this way, because envelopes outlive this process. */
  async #byPost(tell: Tell, asking: boolean, id = `${this.#node}:${++this.#envelopes}`): Promise<void> {
    const shard = shardOfKey(tell.key);
    const sent = this.#sentTo.get(shard) ?? { sending: 0, last: '0-0' };
    this.#sentTo.set(shard, sent);
    sent.sending++;
    const { kind, key, type, body } = tell;
    const trace = currentTrace();
    const sender = trace === null ? {} : { trace };
    const envelope: Envelope = { id, from: this.#node, asks: asking, kind, key, type, body, ...sender };
    try {
      const position = await this.#bus.send(shard, envelope);
      if (isLater(position, sent.last)) sent.last = position;
    } finally {
      sent.sending--;
    }
  }

  /** The next owner has the message next. */
  #forward(message: Tell, ask: Parameters<ActorRuntime<Ports>['forward']>[1]): void {
    if (ask) {
      this.#askByPost(message).then(
        (reply) => ask.resolve(reply),
        (error) => ask.reject(error),
      );
      return;
    }
    this.#byPost(message, false).catch((err: unknown) => {
      const { kind, key: actor, type } = message;
      this.#log.error({ err, kind, actor, type }, 'lost a message to an actor');
    });
  }

  /**
   * True when this node owns the key and has nothing on its way to it over the bus: then the mailbox is the next in
   * order.
   */
  #isHere(key: string): boolean {
    const shard = shardOfKey(key);
    if (!this.#owns(shard)) return false;
    const position = this.#inbox.position(shard);
    if (position === null) return false;
    const sent = this.#sentTo.get(shard);
    if (!sent) return true;
    if (sent.sending > 0 || isLater(sent.last, position)) return false;
    this.#sentTo.delete(shard);
    return true;
  }

  #askByPost(message: Tell): Promise<unknown> {
    const reply = this.#asking(message);
    this.#owed.add(reply);
    return reply.finally(() => this.#owed.delete(reply));
  }

  async #asking(message: Tell): Promise<unknown> {
    if (this.#stopping) throw outageOf('actorsClosed');
    const id = `${this.#node}:${++this.#envelopes}`;
    try {
      return await this.#asks.wait((ask) => {
        this.#waiting.set(id, ({ value, error }) => {
          if (error) ask.reject(new HubError(error.code, error.message, error.detail));
          else ask.resolve(value);
        });
        this.#byPost(message, true, id).catch((error: unknown) => {
          ask.reject(error instanceof HubError ? error : gone());
        });
      });
    } finally {
      this.#waiting.delete(id);
    }
  }

  #send(tell: Tell): Promise<void> {
    return this.#isHere(tell.key) ? this.#system.send(tell) : this.#byPost(tell, false);
  }
}

export const createRemoteActors = <K extends Kinds, Ports>(
  options: RemoteOptions<K, Ports>,
): RemoteActors<K> => new ClusterActors<K, Ports>(options);
