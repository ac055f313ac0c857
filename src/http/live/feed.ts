// The streams of one audience on this node, in a dense array, and the delivery of its frames to them in slices.

import type { Audience, Frame } from '../../shared/frame.ts';
import type { Position } from '../../shared/position.ts';
import type { EventSource } from '../contract/stream.ts';
import { EncodedFrame, isAside, PlacedFrame } from './encoded.ts';

/** Connections served in one turn of the event loop. */
const sliceSize = 250;

/** The part of a stream that a feed uses. */
export interface Follower<S> {
  readonly agentId: string | null;
  /** The order of the last frame it was offered. */
  lastOrder: number;
  /** Its place in the feed; -1: in none. */
  index: number;
  /** The streams of the same agent, newest first. */
  nextOfAgent: S | null;
  previousOfAgent: S | null;
  take(frame: PlacedFrame): void;
}

export class Feed<S extends Follower<S>> {
  readonly audience: Audience;
  readonly streams: S[] = [];
  /** Streams opened or about to be: the audience is followed while there are any. */
  holders = 0;
  /** The last position received here, or where following began. */
  head: Position = '0-0';
  /** The highest place of the events that came between its frames; null: none do. */
  place: number | null = null;
  /** Frames received since following began. */
  received = 0;
  readonly #resync: () => Frame;
  readonly #agents = new Map<string, S>();
  /** Streams of no agent. */
  readonly #others = new Set<S>();
  #aside: ReturnType<EventSource['follow']> | null = null;
  readonly #waiting: PlacedFrame[] = [];
  #following: ReturnType<EventSource['follow']> | null = null;
  #isFollowing = false;
  #delivered: (() => void)[] = [];
  #current: PlacedFrame | null = null;
  #cursor = -1;
  /** The stream that the current frame of an agent goes to next. */
  #next: S | null = null;
  #pumping = false;

  /** @param resync makes the frame that stands for those that were lost */
  constructor(audience: Audience, resync: () => Frame) {
    this.audience = audience;
    this.#resync = resync;
  }

  /** True once it follows the audience: `follow` has nothing more to do. */
  get isFollowing(): boolean {
    return this.#isFollowing;
  }

  /** Follows the audience from now on; once, however many ask. */
  async follow(source: EventSource): Promise<void> {
    this.#following ??= source.follow(
      this.audience,
      ({ position, frame }) => {
        this.#receive(position, frame);
        return this.#pumping ? new Promise((resolve) => this.#delivered.push(resolve)) : undefined;
      },
      (position) => this.#receive(position, this.#resync()),
    );
    const { position } = await this.#following;
    if (this.received === 0) this.head = position;
    this.#isFollowing = true;
  }

  /**
   * Has frames of another source come between its own: those of events, to the streams of their agent and of nobody.
   * From then on every frame contains how far the events had come.
   */
  async followAside(
    source: EventSource,
    audience: Audience,
    toFrame: (frame: Frame) => Frame,
  ): Promise<void> {
    this.#aside ??= source.follow(
      audience,
      ({ position, frame }) => {
        this.#reached(position);
        this.#receive(this.head, toFrame(frame));
        return this.#pumping ? new Promise((resolve) => this.#delivered.push(resolve)) : undefined;
      },
      (position) => {
        this.#reached(position);
        this.#receive(this.head, this.#resync());
      },
    );
    this.#reached((await this.#aside).position);
  }

  #reached(place: string): void {
    this.place = Math.max(this.place ?? 0, Number(place));
  }

  /** Ends following; harmless while it is still being set up. */
  stop(): void {
    for (const following of [this.#following, this.#aside])
      following?.then(
        (one) => one.stop(),
        () => undefined,
      );
  }

  /** Frames that were received before this are not delivered to the stream. */
  add(stream: S): void {
    stream.lastOrder = this.received;
    stream.index = this.streams.length;
    this.streams.push(stream);
    const agentId = stream.agentId;
    if (agentId === null) {
      this.#others.add(stream);
      return;
    }
    const first = this.#agents.get(agentId) ?? null;
    if (first) first.previousOfAgent = stream;
    stream.nextOfAgent = first;
    this.#agents.set(agentId, stream);
  }

  remove(stream: S): void {
    if (this.streams[stream.index] !== stream) return;
    const last = this.streams.pop();
    if (last && last !== stream) {
      this.streams[stream.index] = last;
      last.index = stream.index;
    }
    stream.index = -1;
    const agentId = stream.agentId;
    this.#others.delete(stream);
    if (agentId === null) return;
    const { previousOfAgent: previous, nextOfAgent: next } = stream;
    if (previous) previous.nextOfAgent = next;
    else if (next) this.#agents.set(agentId, next);
    else this.#agents.delete(agentId);
    if (next) next.previousOfAgent = previous;
    if (this.#next === stream) this.#next = next;
    stream.previousOfAgent = null;
    stream.nextOfAgent = null;
  }

  /** Agents with a stream here. */
  get agentCount(): number {
    return this.#agents.size;
  }

  /** For tests: the number of streams that the index by agent reaches. */
  indexed(): number {
    let count = 0;
    for (const first of this.#agents.values()) {
      for (let at: S | null = first; at; at = at.nextOfAgent) count++;
    }
    return count;
  }

  #receive(position: Position, frame: Frame): void {
    this.head = position;
    this.#waiting.push(new PlacedFrame(position, new EncodedFrame(frame), ++this.received, this.place));
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
          for (const done of this.#delivered.splice(0)) done();
          return;
        }
        const { agent } = this.#current.frame;
        this.#next = agent === undefined ? null : (this.#agents.get(agent) ?? null);
        this.#cursor = this.streams.length - 1;
      }
      const placed = this.#current;
      if (placed.frame.agent !== undefined) {
        while (this.#next) {
          if (left-- === 0) {
            this.#pumping = true;
            setImmediate(this.#pump);
            return;
          }
          const stream: S = this.#next;
          this.#next = stream.nextOfAgent;
          stream.take(placed);
        }
        if (isAside(placed.frame)) for (const other of [...this.#others]) other.take(placed);
        this.#current = null;
        continue;
      }
      // From the end: a removal in between moves only streams that were served, and `seen` keeps those from being
      // served twice.
      for (; this.#cursor >= 0; this.#cursor--) {
        if (this.#cursor >= this.streams.length) this.#cursor = this.streams.length - 1;
        if (left-- === 0) {
          this.#pumping = true;
          setImmediate(this.#pump);
          return;
        }
        this.streams[this.#cursor]?.take(placed);
      }
      this.#current = null;
    }
  };
}
