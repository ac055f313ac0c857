// How a stream joins its feed: what it missed, what it must get at once, then what arrived meanwhile. Nothing lost, nothing twice, ids rising.
import { type Frame, readPosition, sharedPosition } from '../../domain/frame.ts';
import type { Broadcast } from '../../ports/broadcast.ts';
import { Backlog, maxWaitingBytes } from './backlog.ts';
import { EncodedFrame, isAfter, type Piece } from './encoded.ts';
import type { Stream } from './stream.ts';

type ResyncReason = 'position_unknown' | 'position_gone' | 'too_far_behind';

/**
 * Joins a registered stream. Frames that arrive while this runs gather in its backlog. A frame of the same bundle and content that was
 * replayed, or made for it at connect, is not sent a second time.
 * @throws whatever the log or the actors throw; the stream is to be ended then
 */
export async function join(stream: Stream, broadcast: Pick<Broadcast, 'since'>): Promise<void> {
  const { codec } = stream;
  let head = stream.feed.head;
  let k = 0;
  const { replay, resync } = await missed(stream, broadcast);
  if (stream.ended) return;
  const newest = replay.at(-1);
  if (newest && isAfter(newest.position, head)) head = newest.position;
  const seen = stream.lastEventId === null ? null : readPosition(stream.lastEventId);
  // A client that has seen `<head>.3` gets ids after it.
  if (seen && sharedPosition(stream.lastEventId ?? '') === head) k = seen.k;

  const out = new Backlog();
  const sent = new Map<string, string>();
  const add = (piece: EncodedFrame): void => {
    if (piece.key !== null) sent.set(piece.key, piece.json());
    // What a joining stream needs is bounded at its source; only what comes beside it counts.
    out.add(piece, codec, Number.POSITIVE_INFINITY);
  };
  const own = (frame: Frame): EncodedFrame => new EncodedFrame(`${head}.${++k}`, frame);
  const repeats = (piece: Piece): boolean =>
    piece instanceof EncodedFrame && piece.key !== null && sent.get(piece.key) === piece.json();

  for (const frame of replay) if (stream.concerns(frame)) add(frame);
  if (resync) {
    add(own({ audience: stream.feed.audience, type: 'resync', data: { type: 'resync', reason: resync } }));
  }
  const catchUp = await stream.admitted.catchUp();
  if (stream.ended) return;
  for (const frame of catchUp) {
    const piece = own(frame);
    stream.follow(piece);
    if (!repeats(piece)) add(piece);
  }
  for (const piece of stream.backlog?.pieces() ?? []) {
    const replayed = newest && piece instanceof EncodedFrame && !isAfter(piece.position, newest.position);
    if (replayed || repeats(piece)) continue;
    if (!out.add(piece, codec)) {
      stream.end('slow');
      return;
    }
  }
  stream.joined(out, newest?.position ?? null);
}

/** The frames after the client's position, or why they cannot be told. */
async function missed(
  stream: Stream,
  broadcast: Pick<Broadcast, 'since'>,
): Promise<{ replay: readonly EncodedFrame[]; resync: ResyncReason | null }> {
  const { lastEventId, codec } = stream;
  if (lastEventId === null) return { replay: [], resync: null };
  if (readPosition(lastEventId) === null) return { replay: [], resync: 'position_unknown' };
  const placed = await broadcast.since(stream.feed.audience, sharedPosition(lastEventId));
  if (placed === 'gone') return { replay: [], resync: 'position_gone' };
  const replay = placed.map(({ position, frame }) => new EncodedFrame(position, frame));
  let bytes = 0;
  for (const frame of replay) if (frame.key === null && stream.concerns(frame)) bytes += frame.size(codec);
  return bytes > maxWaitingBytes ? { replay: [], resync: 'too_far_behind' } : { replay, resync: null };
}
