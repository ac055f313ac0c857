// The stored events that a stream of other frames missed: read from the store and written between its frames, which go
// on all the time. Owns how far such a stream has come.

import { Admission } from '../../admission/admission.ts';
import type { Frame } from '../../shared/frame.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Log } from '../../shared/ports/log.ts';
import { type Position, readId } from '../../shared/position.ts';
import type { EventSource, History } from '../contract/stream.ts';
import type { StreamFrames } from './announcer.ts';
import { Backlog } from './backlog.ts';
import { EncodedFrame, isAside, PlacedFrame } from './encoded.ts';
import type { PendingEvents, Stream } from './stream.ts';

/** Events of the tenant that are looked through for one stream. */
const maxMissed = 5_000;
/** A feed may be so far behind what a stream was sent from the store, in milliseconds. */
export const resumedMs = 60_000;
/** Bytes that are written at once. */
const portionBytes = 64 * 1024;

/** Ports for sending missed events. */
export interface MissedPorts {
  readonly source: EventSource;
  /** Runs a read of the store, few at once on this node. */
  readonly read: <T>(task: () => Promise<T>) => Promise<T>;
  /** Makes the frame that stands for events that cannot be read. */
  readonly gap: () => Frame;
}

/** Has streams that come back sent the events that they missed. @param options of the registry of streams */
export function createMissed({
  events: source,
  api,
  clock,
  log,
  admission = new Admission(clock),
}: {
  readonly events?: EventSource;
  readonly admission?: Admission;
  readonly api: Pick<StreamFrames, 'resync'>;
  readonly clock: Clock;
  readonly log: Log;
}) {
  const read = <T>(task: () => Promise<T>): Promise<T> => admission.run({}, 'missedEvents', task);
  return {
    /** Before the stream is in its feed: from then on no event reaches it in another way. */
    begin(stream: Stream): void {
      const place = stream.lastEventId === null ? null : readId(stream.lastEventId).place;
      if (!source || !stream.admitted.decisions || place === null) return;
      const gap = (): Frame => api.resync(stream.feed.audience, 'position_gone');
      stream.missed = new MissedEvents(stream, place, { source, read, gap });
      stream.resumedUntil = Number.POSITIVE_INFINITY;
    },
    /** Once it is joined. Never rejects: a failure ends the stream. */
    async send(stream: Stream): Promise<void> {
      try {
        await stream.missed?.send();
        stream.resumedUntil = clock.monotonic() + resumedMs;
      } catch (err) {
        if (!stream.ended) log.warn({ err, audience: stream.feed.audience }, 'cannot send missed events');
        stream.end('failed');
      }
    },
  };
}

/** One stream's. */
class MissedEvents implements PendingEvents {
  place: number;
  position: Position = '0-0';
  readonly #stream: Stream;
  readonly #ports: MissedPorts;
  /** Ids of the events that it was sent. */
  readonly #sent = new Set<string>();
  /** Events that come while the store is read for the last time; null: it will be read again. */
  #held: Backlog | null = null;
  #overflowed = false;

  /** @param place the highest place of the events that the client has */
  constructor(stream: Stream, place: number, ports: MissedPorts) {
    this.#stream = stream;
    this.place = place;
    this.#ports = ports;
  }

  pass(placed: PlacedFrame): PlacedFrame | null {
    if (!isAside(placed.frame)) {
      this.position = placed.position;
      return placed.after(this.place);
    }
    if (this.#held && !this.#held.add(placed, this.#stream.codec)) this.#overflowed = true;
    return null;
  }

  /**
   * Sends the joined stream the events that it missed, and then those that came in between: each event once.
   * @throws what the store throws
   */
  async send(): Promise<void> {
    const stream = this.#stream;
    const { source, gap } = this.#ports;
    const { decisions } = stream.admitted;
    const history = decisions && source.history?.(decisions.audience, this.place, maxMissed);
    if (!history) return;
    let isTold = await this.#sendAll(history, decisions.toFrame);
    do {
      this.#overflowed = false;
      this.#held = new Backlog();
      if (isTold && !stream.ended) {
        await history.again();
        isTold = await this.#sendAll(history, decisions.toFrame);
      }
      await stream.room();
    } while (this.#overflowed && isTold && !stream.ended);
    if (stream.ended) return;
    if (!isTold) stream.send(new PlacedFrame(this.position, new EncodedFrame(gap())));
    stream.resumed = this.#sent;
    stream.missed = null;
    for (const piece of this.#held.pieces()) {
      const isRepeat = piece instanceof PlacedFrame && this.#sent.has(piece.frame.event?.id ?? '');
      if (!isRepeat) stream.send(piece);
    }
  }

  /** False when they cannot be read to the end. */
  async #sendAll(history: History, toFrame: (frame: Frame) => Frame): Promise<boolean> {
    const stream = this.#stream;
    while (!stream.ended) {
      const page = await this.#ports.read(() => history.next());
      if (page === 'gone') return false;
      const left = [...page.frames].reverse();
      while (left.length > 0 && !stream.ended) {
        // All waiting frames are written by then, so the client has received the position of the last one.
        await stream.room();
        const bytes = this.#portion(left, toFrame);
        if (bytes.length > 0) stream.write(bytes);
      }
      if (!page.more) return true;
    }
    return true;
  }

  /** The bytes of the next write. @param left is emptied from its end */
  #portion(
    left: { readonly position: string; readonly frame: Frame }[],
    toFrame: (frame: Frame) => Frame,
  ): Buffer {
    const stream = this.#stream;
    const portion: Buffer[] = [];
    let size = 0;
    for (let next = left.pop(); next; next = left.pop()) {
      this.place = Math.max(this.place, Number(next.position));
      const encoded = new EncodedFrame(toFrame(next.frame));
      const placed = new PlacedFrame(this.position, encoded, 0, this.place);
      if (!stream.concerns(placed)) continue;
      this.#sent.add(next.frame.event?.id ?? '');
      const bytes = placed.bytes(stream.codec);
      portion.push(bytes);
      size += bytes.length;
      // A WebSocket's messages go one by one.
      if (stream.codec !== 'sse' || size >= portionBytes) break;
    }
    return Buffer.concat(portion, size);
  }
}
