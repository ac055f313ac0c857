// One live stream: what it follows, whether its connection can take more, and its end. Owns no timer and no queue while
// all is well.

import { isAfter, type Position } from '../../shared/position.ts';
import type { AdmittedStream, StreamCaller } from '../contract/stream.ts';
import { Backlog } from './backlog.ts';
import { isAside, type Piece, type PlacedFrame, SocketPiece } from './encoded.ts';
import type { EndReason } from './endings.ts';
import type { Feed, Follower } from './feed.ts';
import type { IncomingMessages } from './incoming.ts';
import type { Codec, Session, Sink } from './session.ts';

/** Stored events that a stream missed, while it is sent them between its other frames (missed-events.ts). */
export interface PendingEvents {
  /** The highest place of the events that the stream was sent. */
  readonly place: number;
  /** The position of the last other frame that it was sent. */
  position: Position;
  /** A frame that comes during the read, in the form that the stream may get now; null: not now. */
  pass(placed: PlacedFrame): PlacedFrame | null;
  /** Sends the joined stream what it missed. @throws what the store throws */
  send(): Promise<void>;
}

/** The part of the registry that a stream uses. */
export interface StreamHome {
  attached(stream: Stream): void;
  blocked(stream: Stream): void;
  unblocked(stream: Stream): void;
  ended(stream: Stream, reason: EndReason): void;
  received(stream: Stream, message: Uint8Array, binary: boolean): void;
  pinged(stream: Stream, unread: boolean): void;
  /** A deployment that was accepted then is in the stream's socket. */
  pushed(acceptedAt: number): void;
}

export type LiveCaller = StreamCaller;

/** Initial values of a stream. */
export interface Opening {
  readonly admitted: AdmittedStream;
  readonly caller: LiveCaller;
  readonly codec: Codec;
  readonly protocol: string | null;
  /** True if its frames contain the trace that they belong to. */
  readonly isTraced?: boolean;
  /** The client's Last-Event-ID; null without one. */
  readonly lastEventId: string | null;
  /** The registry's count of endings as it was before the caller was identified. */
  readonly revocationSequence: number;
}

const drained = ':\n\n';

/** Messages for clients whose mistake ended the stream. */
const faults: { readonly [R in EndReason]?: string } = {
  flood: 'Too many messages, or too large ones.',
  mistakes: 'Too many invalid messages.',
};

/** State of a stream that is not joined and attached yet. */
interface Beginning {
  /** The last position that the client reported. */
  readonly lastEventId: string | null;
  /** The registry's count of endings when the caller was identified. */
  readonly revocationSequence: number;
  /** Called when it ended before it was joined; null unless its opening waits for that. */
  prepared: (() => void) | null;
  /** Called when the frames that wait went over their bound, and were dropped; null: the stream ends then. */
  dropped: (() => void) | null;
}

/** State that few streams have. */
class RareState {
  incoming: IncomingMessages | null = null;
  blockedSince = -1;
  resumed: Set<string> | null = null;
  resumedUntil = 0;
  missed: PendingEvents | null = null;
  replayed: Position | null = null;
  drained: (() => void)[] = [];
}

/** Small, because a node keeps tens of thousands: what few of them have lies in an object of its own. */
export class Stream implements Session, Follower<Stream> {
  readonly home: StreamHome;
  readonly feed: Feed<Stream>;
  readonly admitted: AdmittedStream;
  readonly codec: Codec;
  readonly protocol: string | null;
  readonly caller: LiveCaller;
  readonly isTraced: boolean;
  /** Whole monotonic milliseconds. */
  readonly openedAt: number;
  /** The bundle it follows now; null: all. */
  bundleName: string | null;
  sink: Sink | null = null;
  ended = false;
  /** True until the frames it missed are written; frames that arrive in between wait in the backlog. */
  joining = true;
  backlog: Backlog | null = null;
  lastOrder = 0;
  index = -1;
  slot = -1;
  slotIndex = -1;
  nextOfAgent: Stream | null = null;
  previousOfAgent: Stream | null = null;
  #endsAt = 0;
  #beginning: Beginning | null;
  #rare: RareState | null = null;

  /** @param openedAt monotonic milliseconds */
  constructor(home: StreamHome, feed: Feed<Stream>, opening: Opening, openedAt: number) {
    this.home = home;
    this.feed = feed;
    this.admitted = opening.admitted;
    this.bundleName = opening.admitted.bundleName;
    this.codec = opening.codec;
    this.protocol = opening.protocol;
    this.caller = opening.caller;
    this.isTraced = opening.isTraced === true;
    // Only whole numbers are small.
    this.openedAt = Math.floor(openedAt);
    const { lastEventId, revocationSequence } = opening;
    this.#beginning = { lastEventId, revocationSequence, prepared: null, dropped: null };
  }

  /** Time when the stream must end, in whole monotonic milliseconds. */
  get endsAt(): number {
    return this.#endsAt;
  }

  set endsAt(at: number) {
    this.#endsAt = Math.ceil(at);
  }

  /** The last position that the client reported. Null once joined. */
  get lastEventId(): string | null {
    return this.joining ? (this.#beginning?.lastEventId ?? null) : null;
  }

  /** The registry's count of endings when the caller was identified; 0 once joined and attached. */
  get revocationSequence(): number {
    return this.#beginning?.revocationSequence ?? 0;
  }

  /** Called when it ended before it was joined; null unless its opening waits for that. */
  get prepared(): (() => void) | null {
    return this.#beginning?.prepared ?? null;
  }

  set prepared(call: (() => void) | null) {
    if (this.#beginning) this.#beginning.prepared = call;
  }

  set dropped(call: (() => void) | null) {
    if (this.#beginning) this.#beginning.dropped = call;
  }

  /** Messages from the client; null before the first one. */
  get incoming(): IncomingMessages | null {
    return this.#rare?.incoming ?? null;
  }

  set incoming(messages: IncomingMessages | null) {
    this.#rareState().incoming = messages;
  }

  /** Since when the connection takes nothing (monotonic ms), or -1. */
  get blockedSince(): number {
    return this.#rare?.blockedSince ?? -1;
  }

  set blockedSince(since: number) {
    this.#rareState().blockedSince = since;
  }

  /** Ids of events that it was sent on the way here: its feed may bring them again. */
  get resumed(): Set<string> | null {
    return this.#rare?.resumed ?? null;
  }

  set resumed(ids: Set<string> | null) {
    if (ids || this.#rare) this.#rareState().resumed = ids;
  }

  /** Until when (monotonic ms). */
  get resumedUntil(): number {
    return this.#rare?.resumedUntil ?? 0;
  }

  set resumedUntil(at: number) {
    this.#rareState().resumedUntil = at;
  }

  /** Null: it has what it can have. */
  get missed(): PendingEvents | null {
    return this.#rare?.missed ?? null;
  }

  set missed(events: PendingEvents | null) {
    this.#rareState().missed = events;
  }

  /** The last position replayed: the log may be ahead of what this node was sent of it. Null once that is passed. */
  get replayed(): Position | null {
    return this.#rare?.replayed ?? null;
  }

  set replayed(position: Position | null) {
    if (position !== null || this.#rare) this.#rareState().replayed = position;
  }

  get agentId(): string | null {
    return this.admitted.agentId;
  }

  get sender(): string | null {
    // The client's messages come from its agent.
    return this.caller.kind === 'key' && this.agentId !== null ? this.caller.keyId : null;
  }

  get isBlocked(): boolean {
    return this.blockedSince >= 0;
  }

  get unsentBytes(): number {
    return this.backlog?.unsentBytes(this.codec) ?? 0;
  }

  attach(sink: Sink): void {
    if (this.ended) {
      sink.end();
      return;
    }
    this.sink = sink;
    this.home.attached(this);
    if (!this.joining) this.#beginning = null;
  }

  /** True when a shared frame is for this stream. */
  concerns({ frame }: PlacedFrame): boolean {
    const isOfAnother = frame.agent !== undefined && frame.agent !== this.agentId;
    // A client that is no agent receives all agents' events, and no other frames for single agents.
    if (isOfAnother && (this.agentId !== null || !isAside(frame))) return false;
    if (this.admitted.skips?.(frame, this.bundleName)) return false;
    if (frame.bundle === undefined || this.bundleName === null || frame.bundle === this.bundleName)
      return true;
    return frame.anyAssignment === true && !this.admitted.pinned;
  }

  /** A shared frame, in the order of the log; each order number once. */
  take(placed: PlacedFrame): void {
    if (this.lastOrder >= placed.order || this.ended) return;
    this.lastOrder = placed.order;
    if (this.replayed !== null && !isAside(placed.frame)) {
      if (!isAfter(placed.position, this.replayed)) return;
      this.replayed = null;
    }
    if (this.resumed?.has(placed.frame.event?.id ?? '')) return;
    if (!this.concerns(placed)) return;
    const now = this.missed ? this.missed.pass(placed) : placed;
    if (!now) return;
    this.follow(now);
    this.send(this.sentForm(now));
    const { acceptedAt } = placed.frame;
    if (acceptedAt !== undefined && this.backlog === null && !this.ended) this.home.pushed(acceptedAt);
  }

  /** The frame as this stream is sent it. */
  sentForm(placed: PlacedFrame): PlacedFrame {
    return this.isTraced ? placed.traced() : placed;
  }

  /** Writes while it is joining; resolves when the connection takes more, or has ended. */
  async pour(bytes: Uint8Array): Promise<void> {
    this.write(bytes);
    await this.room();
  }

  /** Writes at once, before what waits. */
  write(bytes: Uint8Array): void {
    if (this.sink && !this.sink.write(bytes)) this.home.blocked(this);
  }

  /** Resolves when nothing waits and the connection takes more, or when it has ended. */
  async room(): Promise<void> {
    if (!this.isBlocked || this.ended) return;
    await new Promise<void>((resolve) => {
      this.#rareState().drained.push(resolve);
    });
  }

  /** A frame that assigns its agent a bundle moves what it follows, unless it asked for one bundle by name. */
  follow({ frame: { assigned, agent } }: PlacedFrame): void {
    if (assigned === undefined || this.admitted.pinned || agent !== this.agentId) return;
    this.bundleName = assigned;
  }

  /** Sends a piece, or keeps it within the bound; over the bound the stream ends, or reads its history again. */
  send(piece: Piece): void {
    if (this.ended) return;
    if (!this.sink || this.joining || this.isBlocked) {
      this.backlog ??= new Backlog();
      if (!this.backlog.add(piece, this.codec)) this.#overflow();
      return;
    }
    if (!this.sink.write(piece.bytes(this.codec))) this.home.blocked(this);
  }

  /** Joined: writes the waiting frames, in this order, and goes on live after `replayed`. */
  joined(pieces: Backlog, replayed: Position | null): void {
    this.joining = false;
    this.replayed = replayed;
    if (this.sink) this.#beginning = null;
    this.backlog = pieces.empty ? null : pieces;
    this.writeWaiting();
  }

  /** Writes what waits, unless the connection takes nothing or is not there yet. */
  writeWaiting(): void {
    if (!this.isBlocked && !this.#flush()) this.home.blocked(this);
  }

  /** A keepalive, when the connection can take it. */
  keepalive(comment: Uint8Array): void {
    if (this.ended || this.isBlocked || !this.sink) return;
    if (this.codec !== 'sse') {
      if (this.sink.ping?.() === false) this.end('silent');
      else if (this.admitted.keepalive) this.send(new SocketPiece(this.admitted.keepalive));
    } else if (!this.sink.write(comment)) this.home.blocked(this);
  }

  writable(): boolean {
    if (this.ended || !this.sink) return true;
    // An SSE connection has to be written to here, or it never drains again.
    const waiting = !this.joining && this.backlog !== null;
    const all = waiting ? this.#flush() : this.codec !== 'sse' || this.sink.write(drained);
    if (this.ended) return true;
    if (all && this.isBlocked) {
      this.home.unblocked(this);
      this.#release();
    } else if (!all && !this.isBlocked) this.home.blocked(this);
    return all;
  }

  received(message: Uint8Array, binary: boolean): void {
    if (!this.ended) this.home.received(this, message, binary);
  }

  pinged(unread: boolean): void {
    if (!this.ended) this.home.pinged(this, unread);
  }

  gone(): void {
    this.end('client');
  }

  /** Ends it: the connection is closed, and `closed` is called, both exactly once. */
  end(reason: EndReason): void {
    if (this.ended) return;
    this.ended = true;
    const sink = this.sink;
    this.sink = null;
    this.backlog = null;
    if (sink && reason !== 'client') {
      if (reason === 'slow' || reason === 'silent' || this.isBlocked) sink.cut();
      else sink.end(faults[reason]);
    }
    this.home.ended(this, reason);
    this.#release();
  }

  #overflow(): void {
    const dropped = this.joining ? (this.#beginning?.dropped ?? null) : null;
    if (dropped === null) this.end('slow');
    else {
      this.backlog = null;
      dropped();
    }
  }

  #release(): void {
    for (const done of this.#rare?.drained.splice(0) ?? []) done();
  }

  #rareState(): RareState {
    this.#rare ??= new RareState();
    return this.#rare;
  }

  #flush(): boolean {
    while (this.backlog && this.sink) {
      const bytes = this.backlog.next(this.codec);
      if (this.backlog.empty) this.backlog = null;
      if (!this.sink.write(bytes)) return false;
    }
    return true;
  }
}
