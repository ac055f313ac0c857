// How a stream joins its feed: the frames that it missed, those that it must get at once, then those that arrived
// during the join. Nothing lost, nothing twice, ids rising.

import type { Announcement } from '../../shared/announcement.ts';
import type { Audience } from '../../shared/frame.ts';
import type { Broadcast } from '../../shared/ports/broadcast.ts';
import { isAfter, isPosition, ownCount, ownPosition, readId, sharedPosition } from '../../shared/position.ts';
import type { ResyncReason } from '../contract/frame-table.ts';
import type { History } from '../contract/stream.ts';
import type { StreamFrames } from './announcer.ts';
import { Backlog, maxWaitingBytes } from './backlog.ts';
import { EncodedFrame, isAside, type Piece, PlacedFrame } from './encoded.ts';
import type { Stream } from './stream.ts';

interface JoinPorts {
  readonly broadcast: Pick<Broadcast, 'since'>;
  readonly api: StreamFrames;
}

/**
 * Joins registered streams. Frames that arrive while that goes on gather in the stream's backlog. A frame of the same
 * bundle and content that was replayed, or made for it at connect, is not sent a second time.
 * @throws whatever the log or the actors throw; the stream is to be ended then
 */
export class StreamJoin {
  readonly #ports: JoinPorts;
  /** Caches frames by audience, because many streams get the same announcement at once. */
  readonly #encodedOf = new WeakMap<Announcement, Map<Audience, readonly EncodedFrame[]>>();

  constructor(ports: JoinPorts) {
    this.#ports = ports;
  }

  join(stream: Stream): Promise<void> {
    return stream.lastEventId === null && stream.missed === null
      ? this.#first(stream)
      : this.#whole(stream, { head: stream.feed.head, place: stream.feed.place }, null);
  }

  #encoded(announcement: Announcement, audience: Audience): readonly EncodedFrame[] {
    let byAudience = this.#encodedOf.get(announcement);
    if (!byAudience) {
      byAudience = new Map();
      this.#encodedOf.set(announcement, byAudience);
    }
    let frames = byAudience.get(audience);
    if (!frames) {
      const ofAudience = this.#ports.api
        .framesOf(announcement)
        .filter((frame) => frame.audience === audience);
      frames = ofAudience.map((frame) => new EncodedFrame(frame));
      byAudience.set(audience, frames);
    }
    return frames;
  }

  /** Those of the audience, which is one API's. Nearly always one document, or nothing. */
  #framesOf(catchUp: readonly Announcement[], audience: Audience): readonly EncodedFrame[] {
    const [first] = catchUp;
    return first && catchUp.length === 1
      ? this.#encoded(first, audience)
      : catchUp.flatMap((one) => this.#encoded(one, audience));
  }

  /** For a stream that missed nothing, and that nothing reaches in between: nearly all of a fleet that comes back. */
  async #first(stream: Stream): Promise<void> {
    const { audience, head, place } = stream.feed;
    const catchUp = await stream.admitted.catchUp();
    if (stream.ended) return;
    const frames = this.#framesOf(catchUp, audience);
    if (frames.length > 1 || stream.backlog) {
      await this.#whole(stream, { head, place }, catchUp);
      return;
    }
    const out = new Backlog();
    const [frame] = frames;
    if (frame && !stream.admitted.skips?.(frame.frame, stream.bundleName)) {
      const piece = frame.placedAt(ownPosition(head, 1), place);
      stream.follow(piece);
      out.add(piece, stream.codec, Number.POSITIVE_INFINITY);
    }
    stream.joined(out, null);
  }

  /**
   * @param at how far its feed was when it began to join
   * @param announcements what it must get at once, where that is known; otherwise it is asked for
   */
  async #whole(
    stream: Stream,
    at: Pick<Stream['feed'], 'head' | 'place'>,
    announcements: readonly Announcement[] | null,
  ): Promise<void> {
    const { codec, feed } = stream;
    const { broadcast, api } = this.#ports;
    let head = at.head;
    // `stream.missed` delivers the events of before this, or nothing does; later ones wait in the backlog.
    const place = stream.missed?.place ?? at.place;
    const isEventPlaceUnknown = stream.lastEventId !== null && stream.missed === null && place !== null;
    const { replay, resync } = stream.lastEventId === null ? nothingMissed : await missed(stream, broadcast);
    if (stream.ended) return;
    const newest = replay.at(-1);
    if (newest && isAfter(newest.position, head)) head = newest.position;
    // A client that has seen `<head>.3` gets ids after it.
    const { position: lastSeenPosition } = readId(stream.lastEventId ?? '');
    let k = sharedPosition(lastSeenPosition) === head ? ownCount(lastSeenPosition) : 0;

    const out = new Backlog();
    const sent = new Map<string, PlacedFrame>();
    const add = (piece: PlacedFrame): void => {
      if (piece.key !== null) sent.set(piece.key, piece);
      // The frames that a joining stream needs are bounded at their source. Only other frames count.
      out.add(piece, codec, Number.POSITIVE_INFINITY);
    };
    const own = (frame: EncodedFrame): PlacedFrame => frame.placedAt(ownPosition(head, ++k), place);
    const repeats = (piece: Piece): boolean => {
      const same = piece instanceof PlacedFrame && piece.key !== null && sent.get(piece.key);
      return same ? Buffer.compare(same.frame.json, piece.frame.json) === 0 : false;
    };

    for (const frame of replay)
      if (stream.concerns(frame)) add(stream.sentForm(place === null ? frame : frame.after(place)));
    const lost = resync ?? (isEventPlaceUnknown ? 'position_unknown' : null);
    if (lost) add(own(new EncodedFrame(api.resync(feed.audience, lost))));
    const catchUp = announcements ?? (await stream.admitted.catchUp());
    if (stream.ended) return;
    for (const frame of this.#framesOf(catchUp, feed.audience)) {
      if (stream.admitted.skips?.(frame.frame, stream.bundleName)) continue;
      const piece = own(frame);
      stream.follow(piece);
      if (!repeats(piece)) add(piece);
    }
    for (const piece of stream.backlog?.pieces() ?? []) {
      const placed = piece instanceof PlacedFrame && !isAside(piece.frame) ? piece : null;
      const replayed = newest && placed && !isAfter(placed.position, newest.position);
      if (replayed || repeats(piece)) continue;
      if (!out.add(piece, codec)) {
        stream.end('slow');
        return;
      }
    }
    const end = k > 0 ? ownPosition(head, k) : head;
    // A frame that arrived during the join may be further.
    if (stream.missed && isAfter(end, stream.missed.position)) stream.missed.position = end;
    stream.joined(out, newest?.position ?? null);
  }
}

/** Bytes that are written at once to a client that catches up. */
const chunkBytes = 64 * 1024;

/** Writes what a stream missed, piece by piece, as fast as the client takes it. */
class HistoryWriter {
  /** Ids of the events that were written. */
  readonly sent = new Set<string>();
  /** The store does not know what the stream missed. */
  isGone = false;
  readonly #stream: Stream;
  readonly #alive: () => void;

  constructor(stream: Stream, alive: () => void) {
    this.#stream = stream;
    this.#alive = alive;
  }

  /** Writes pieces until there is no more of them, or the stream ends. */
  async write(history: History): Promise<void> {
    while (!this.#stream.ended && (await this.#writeNext(history)));
  }

  /** The next piece; false when there is no more of it. */
  async #writeNext({ next }: History): Promise<boolean> {
    const stream = this.#stream;
    const page = await next();
    if (page === 'gone') {
      this.isGone = true;
      return false;
    }
    let waiting: Buffer[] = [];
    let size = 0;
    const writeChunk = async (): Promise<void> => {
      const bytes = Buffer.concat(waiting, size);
      waiting = [];
      size = 0;
      if (bytes.length > 0 && !stream.ended) await stream.pour(bytes);
      this.#alive();
    };
    for (const { position, frame } of page.frames) {
      const placed = new PlacedFrame(position, new EncodedFrame(frame));
      if (!stream.concerns(placed)) continue;
      this.sent.add(frame.event?.id ?? '');
      const bytes = placed.bytes(stream.codec);
      waiting.push(bytes);
      size += bytes.length;
      // A WebSocket's messages go one by one.
      if (stream.codec !== 'sse' || size >= chunkBytes) await writeChunk();
    }
    await writeChunk();
    return page.more;
  }
}

/**
 * Joins a stream whose frames are stored: what it missed is read piece by piece, as fast as the client takes it, and
 * only then does it get what is new. Nothing is lost between the two, and nothing that was sent is sent again.
 * @param alive is called while it goes on
 */
export async function joinByHistory(
  stream: Stream,
  api: Pick<StreamFrames, 'resync'>,
  alive: () => void,
): Promise<void> {
  const { feed, lastEventId, codec, admitted } = stream;
  const history = lastEventId === null ? null : (admitted.history?.(lastEventId) ?? null);
  const writer = new HistoryWriter(stream, alive);
  if (history) await writer.write(history);
  if (stream.ended) return;
  feed.add(stream);
  if (history && !writer.isGone) await writeRest(stream, writer, history);
  // Sent once, when new frames already reach the stream.
  if (writer.isGone && !stream.ended) {
    const gap = new PlacedFrame(feed.head, new EncodedFrame(api.resync(feed.audience)));
    await stream.pour(gap.bytes(codec));
  }
  if (stream.ended) return;
  const { sent } = writer;
  const out = new Backlog();
  for (const piece of stream.backlog?.pieces() ?? []) {
    if (piece instanceof PlacedFrame && sent.has(piece.frame.event?.id ?? '')) continue;
    out.add(piece, codec, Number.POSITIVE_INFINITY);
  }
  stream.resumed = sent.size > 0 ? sent : null;
  stream.joined(out, null);
}

/** Writes what was stored in between, again until the frames that arrive in between fit into the backlog. */
async function writeRest(stream: Stream, writer: HistoryWriter, history: History): Promise<void> {
  let isWhole: boolean;
  do {
    isWhole = true;
    stream.dropped = () => {
      isWhole = false;
    };
    await history.again();
    await writer.write(history);
  } while (!isWhole && !writer.isGone && !stream.ended);
  stream.dropped = null;
}

interface Missed {
  readonly replay: readonly PlacedFrame[];
  readonly resync: ResyncReason | null;
}

const nothingMissed: Missed = { replay: [], resync: null };

/** The frames after the client's position, or why they are not known. */
async function missed(stream: Stream, broadcast: Pick<Broadcast, 'since'>): Promise<Missed> {
  const { lastEventId, codec } = stream;
  if (lastEventId === null) return nothingMissed;
  const { position } = readId(lastEventId);
  if (!isPosition(position)) return { replay: [], resync: 'position_unknown' };
  const placed = await broadcast.since(stream.feed.audience, sharedPosition(position));
  if (placed === 'gone') return { replay: [], resync: 'position_gone' };
  const replay = placed.map(({ position, frame }) => new PlacedFrame(position, new EncodedFrame(frame)));
  let bytes = 0;
  for (const frame of replay) if (frame.key === null && stream.concerns(frame)) bytes += frame.size(codec);
  return bytes > maxWaitingBytes ? { replay: [], resync: 'too_far_behind' } : { replay, resync: null };
}
