// The actors of a cluster: finds whose key it is, sends envelopes to the owner and waits for replies; keeps what this
// node owns with `system.ts`. Keeps promises P9 and P12.
import { HubError } from '../../src/shared/error.ts';
import { shardOf } from '../../src/shared/ids.ts';
import type { TakeoverReason } from '../../src/shared/meters.ts';
import { upTo } from '../../src/shared/ports/clock.ts';
import type { Leases } from '../../src/shared/ports/leases.ts';
import type { Member, Membership, NodeNote } from '../../src/shared/ports/membership.ts';
import type { BusPosition, BusReply, Envelope, MessageBus } from '../../src/shared/ports/message-bus.ts';
import { currentTrace, resumed } from '../../src/shared/tracing.ts';
import { rebuildMessage, wakeMessage } from './activation.ts';
import { Asks } from './asks.ts';
import type { Actors, Kinds, Tell } from './define.ts';
import { createInbox, isLater } from './inbox.ts';
import { type Ownership, startOwnership } from './ownership.ts';
import { type ActorsOptions, actorsOver, createActors } from './system.ts';

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
  /** These shards have a new owner: this node. Whoever is connected to their actors should say so again. */
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
   * ends. What is asked meanwhile goes to the next owners.
   */
  stop(graceMs?: number): Promise<void>;
}

/** What a key's shard is made of: its tenant and environment; an agent is in the shard of its environment. */
export const shardOfKey = (key: string): number => shardOf(key.split('/', 2).join('/'));

/** How long what is under way for a shard may take before the shard goes to another node; much shorter than a lease. */
const handOverMs = 2000;

/** What this node has sent to a shard over the bus. */
interface Sent {
  sending: number;
  last: BusPosition;
}

const gone = () =>
  new HubError('unavailable', 'The hub cannot reach the node that owns this state. Try again shortly.', {
    retryAfter: 1,
  });

export function createRemoteActors<K extends Kinds, Ports>(
  options: RemoteOptions<K, Ports>,
): RemoteActors<K> {
  const { clock, log, node, bus, askTimeoutMs = 5000 } = options;
  const asks = new Asks(clock, askTimeoutMs);
  const waiting = new Map<string, (reply: BusReply) => void>();
  const sentTo = new Map<number, Sent>();
  const owed = new Set<Promise<unknown>>();
  let ownership: Ownership | null = null;
  let envelopes = 0;
  let stopping = false;

  const owns = (shard: number): boolean => ownership?.owns(shard) ?? false;
  const system = createActors<K, Ports>({
    ...options,
    carry: (tell) => byPost(tell, false).then(() => undefined),
    epochOf: (key) => ownership?.epochOf(shardOfKey(key)) ?? 0,
    mayAct: (key) => owns(shardOfKey(key)),
    lost: (kind, key) => {
      log.warn({ kind, actor: key }, 'a handler ended after its node lost the shard');
      byPost({ kind, key, type: rebuildMessage, body: null }, false).catch(() => {});
    },
    forward(message, ask) {
      // The next owner has it next.
      if (ask) {
        return void askByPost(message).then(
          (reply) => ask.resolve(reply),
          (error) => ask.reject(error),
        );
      }
      byPost(message, false).catch((err: unknown) => {
        const { kind, key: actor, type } = message;
        log.error({ err, kind, actor, type }, 'lost a message to an actor');
      });
    },
  });
  const handleDelivery = (
    message: Tell & Pick<Envelope, 'trace'>,
    abandoned: () => boolean,
  ): Promise<unknown> =>
    resumed(`bus ${message.kind} ${message.type}`, message.trace, () => system.handle(message, abandoned));
  const inbox = createInbox({ clock, log, bus, owns, askTimeoutMs, handle: handleDelivery });

  /** Appends to the shard's stream. What effects tell goes this way always: it outlives this process. */
  async function byPost(tell: Tell, asking: boolean, id = `${node}:${++envelopes}`): Promise<void> {
    const shard = shardOfKey(tell.key);
    const sent = sentTo.get(shard) ?? { sending: 0, last: '0-0' };
    sentTo.set(shard, sent);
    sent.sending++;
    const { kind, key, type, body } = tell;
    const trace = currentTrace();
    const sender = trace === null ? {} : { trace };
    const envelope: Envelope = { id, from: node, asks: asking, kind, key, type, body, ...sender };
    try {
      const position = await bus.send(shard, envelope);
      if (isLater(position, sent.last)) sent.last = position;
    } finally {
      sent.sending--;
    }
  }

  /**
   * True when this node owns the key and has nothing on its way to it over the bus: then the mailbox is the next in
   * order.
   */
  function isHere(key: string): boolean {
    const shard = shardOfKey(key);
    if (!owns(shard)) return false;
    const position = inbox.position(shard);
    if (position === null) return false;
    const sent = sentTo.get(shard);
    if (!sent) return true;
    if (sent.sending > 0 || isLater(sent.last, position)) return false;
    sentTo.delete(shard);
    return true;
  }

  const receive = (message: Tell): Promise<unknown> =>
    isHere(message.key) ? system.receive(message) : askByPost(message);

  function askByPost(message: Tell): Promise<unknown> {
    const reply = asking(message);
    owed.add(reply);
    return reply.finally(() => owed.delete(reply));
  }

  async function asking(message: Tell): Promise<unknown> {
    if (stopping) throw new HubError('shutting_down', 'The hub is shutting down.', { retryAfter: 1 });
    const id = `${node}:${++envelopes}`;
    try {
      return await asks.wait((ask) => {
        waiting.set(id, ({ value, error }) => {
          if (error) ask.reject(new HubError(error.code, error.message, error.detail));
          else ask.resolve(value);
        });
        byPost(message, true, id).catch((error: unknown) => {
          ask.reject(error instanceof HubError ? error : gone());
        });
      });
    } finally {
      waiting.delete(id);
    }
  }

  const send = (tell: Tell): Promise<void> => (isHere(tell.key) ? system.send(tell) : byPost(tell, false));

  bus.onDelivery(inbox.take);
  bus.onReply((reply) => waiting.get(reply.id)?.(reply));
  ownership = startOwnership({
    ...options,
    async taken(shards, reason) {
      for (const shard of shards) inbox.open(shard);
      await Promise.all(shards.map(async (shard) => inbox.reached(shard, await bus.open(shard))));
      await options.moved?.(shards, reason);
    },
    async leaving(shards) {
      const going = new Set(shards);
      await Promise.all([
        upTo(clock, handOverMs, inbox.rest(shards)),
        system.quiet((key) => going.has(shardOfKey(key)), handOverMs),
      ]);
    },
    dropped(shards) {
      inbox.drop(shards);
      const lost = new Set(shards);
      system.release((_kind, key) => !lost.has(shardOfKey(key)));
    },
    cleared: (shards) => bus.shut(shards),
  });
  const owned = ownership;

  return {
    ...actorsOver<K>(receive, send),
    receive,
    // Also when the key lives here: an envelope is kept until its actor could be built, a message in a mailbox is not.
    wake: (kind, key) => byPost({ kind, key, type: wakeMessage, body: null }, false),
    owns: (key) => owns(shardOfKey(key)),
    get shards() {
      return owned.shards;
    },
    get members() {
      return owned.members;
    },
    get size() {
      return system.size;
    },
    turn: () => owned.turn(),
    async stop(graceMs = 5000) {
      await owned.stop();
      await upTo(clock, graceMs, Promise.allSettled(owed));
      stopping = true;
      inbox.close();
      await system.stop(graceMs);
    },
  };
}
