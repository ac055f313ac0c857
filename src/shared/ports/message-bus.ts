// The bus between nodes: envelopes to the actors of a shard, and replies to the node that asked. Knows no actor: an
// envelope is data. Adapters keep promise P10.
import type { ErrorCode, ErrorDetail } from '../error.ts';

/** Place in a shard's stream, `<ms>-<n>`: rises within a shard. */
export type BusPosition = string;

/** A message to an actor, on its way. */
export interface Envelope {
  /** Unique. Handlers recognize repeats by it. */
  readonly id: string;
  /** The node that sent it. */
  readonly from: string;
  /** True when the sender waits for a reply. */
  readonly asks: boolean;
  readonly kind: string;
  readonly key: string;
  readonly type: string;
  readonly body: unknown;
  /** The span that it was sent in, as a `traceparent`; absent: none. */
  readonly trace?: string;
}

/** The reply to a question: the value, or the error in its parts. */
export interface BusReply {
  /** The envelope's. */
  readonly id: string;
  readonly value?: unknown;
  readonly error?: { readonly code: ErrorCode; readonly message: string; readonly detail: ErrorDetail };
}

/** An envelope as its reader gets it. */
export interface BusDelivery {
  readonly shard: number;
  readonly position: BusPosition;
  readonly envelope: Envelope;
  /** Time that the envelope has been in the stream, in milliseconds of the bus's own time. */
  readonly ageMs: number;
}

/** Lag of a shard's reader. */
export interface ShardLag {
  readonly shard: number;
  /** Envelopes that are not acknowledged. */
  readonly waiting: number;
  /** Age of the oldest of them, in milliseconds; 0 when there is none. */
  readonly oldestMs: number;
}

/** The streams of all shards. */
export interface MessageBus {
  /**
   * Appends an envelope to a shard's stream; envelopes of one node stand there in the order of these calls. Answers its
   * position. It stays until it is acknowledged, whoever reads it before, for up to a day.
   * @throws HubError overloaded (the stream holds all it may; the envelope is not in it), unavailable (it may be in it
   *   all the same)
   */
  send(shard: number, envelope: Envelope): Promise<BusPosition>;
  /**
   * Begins to read a shard: first what earlier readers took and did not acknowledge, oldest first, then what comes,
   * each once and in order. Resolves when the earlier ones were delivered, with the position up to which all was
   * delivered or acknowledged. Another reader may take envelopes before it knows that it lost the shard. Those
   * envelopes are taken over within a few seconds.
   * @throws HubError unavailable; nothing is read then
   */
  open(shard: number): Promise<BusPosition>;
  /**
   * Ends reading: nothing of these shards is delivered after the call; resolves when the bus hands out nothing of them
   * to this node any more.
   */
  shut(shards: readonly number[]): Promise<void>;
  /** Sets the receiver of deliveries: called in order; must not throw. */
  onDelivery(take: (delivery: BusDelivery) => void): void;
  /** Sets the receiver of replies to this node. A reply may come twice, or never. */
  onReply(take: (reply: BusReply) => void): void;
  /**
   * The envelope is done with: removes it, and sends the reply to the node that asked. Safe to repeat.
   * @throws HubError unavailable; the envelope may come again then
   */
  acknowledge(
    delivery: Pick<BusDelivery, 'shard' | 'position'>,
    reply?: { readonly to: string; readonly reply: BusReply },
  ): Promise<void>;
  /** @throws HubError unavailable */
  lag(shards: readonly number[]): Promise<readonly ShardLag[]>;
  close(): Promise<void>;
}
