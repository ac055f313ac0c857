// The streams of one audience on this node, in a dense array, and the delivery of its frames to them in slices.
import type { Audience, Position } from '../../domain/frame.ts';
import type { Broadcast, Following, Placed } from '../../ports/broadcast.ts';
import { EncodedFrame } from './encoded.ts';
import type { Stream } from './stream.ts';

/** Connections served in one turn of the event loop. */
const sliceSize = 250;

export class Feed {
  readonly audience: Audience;
  readonly streams: Stream[] = [];
  /** Streams opened or about to be: the audience is followed while there are any. */
  holders = 0;
  /** The last position received here, or where following began. */
  head: Position = '0-0';
  /** Frames received since following began. */
  received = 0;
  readonly #agents = new Map<string, Stream>();
  readonly #waiting: EncodedFrame[] = [];
  #following: Promise<Following> | null = null;
  #current: EncodedFrame | null = null;
  #cursor = -1;
  #pumping = false;

  constructor(audience: Audience) {
    this.audience = audience;
  }

  /** Follows the audience from now on; once, however many ask. */
  async follow(broadcast: Pick<Broadcast, 'follow'>): Promise<void> {
    this.#following ??= broadcast.follow(this.audience, (placed) => this.#receive(placed));
    const { position } = await this.#following;
    if (this.received === 0) this.head = position;
  }

  /** Ends following; harmless while it is still being set up. */
  stop(): void {
    this.#following?.then(
      (following) => following.stop(),
      () => undefined,
    );
  }

  /** Frames that were received before this are not delivered to the stream. */
  add(stream: Stream): void {
    stream.seen = this.received;
    stream.index = this.streams.length;
    this.streams.push(stream);
    const agentId = stream.agentId;
    if (agentId === null) return;
    stream.nextOfAgent = this.#agents.get(agentId) ?? null;
    this.#agents.set(agentId, stream);
  }

  remove(stream: Stream): void {
    if (this.streams[stream.index] !== stream) return;
    const last = this.streams.pop();
    if (last && last !== stream) {
      this.streams[stream.index] = last;
      last.index = stream.index;
    }
    stream.index = -1;
    const agentId = stream.agentId;
    if (agentId === null) return;
    const first = this.#agents.get(agentId) ?? null;
    if (first === stream) {
      if (stream.nextOfAgent) this.#agents.set(agentId, stream.nextOfAgent);
      else this.#agents.delete(agentId);
      return;
    }
    for (let at = first; at; at = at.nextOfAgent) {
      if (at.nextOfAgent === stream) at.nextOfAgent = stream.nextOfAgent;
    }
  }

  /** Agents with a stream here. */
  get agentCount(): number {
    return this.#agents.size;
  }

  /** For tests: the number of streams that the index by agent reaches. */
  indexed(): number {
    let count = 0;
    for (const first of this.#agents.values()) {
      for (let at: Stream | null = first; at; at = at.nextOfAgent) count++;
    }
    return count;
  }

  #receive(placed: Placed): void {
    this.head = placed.position;
    this.#waiting.push(new EncodedFrame(placed.position, placed.frame, ++this.received));
    if (!this.#pumping) this.#pump();
  }

  /** One frame after another, so that every connection gets them in order; about 250 connections a turn. */
  readonly #pump = (): void => {
    let left = sliceSize;
    for (;;) {
      if (!this.#current) {
        this.#current = this.#waiting.shift() ?? null;
        if (!this.#current) {
          this.#pumping = false;
          return;
        }
        this.#cursor = this.streams.length - 1;
      }
      const frame = this.#current;
      if (frame.frame.toAgent !== undefined) {
        let at = this.#agents.get(frame.frame.toAgent) ?? null;
        while (at) {
          const next: Stream | null = at.nextOfAgent;
          at.take(frame);
          at = next;
        }
        this.#current = null;
        continue;
      }
      // From the end: a removal meanwhile moves only streams that were served, and `seen` keeps those from being served twice.
      for (; this.#cursor >= 0; this.#cursor--) {
        if (this.#cursor >= this.streams.length) this.#cursor = this.streams.length - 1;
        if (left-- === 0) {
          this.#pumping = true;
          setImmediate(this.#pump);
          return;
        }
        this.streams[this.#cursor]?.take(frame);
      }
      this.#current = null;
    }
  };
}
