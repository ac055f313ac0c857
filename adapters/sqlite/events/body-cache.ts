// The bodies that searches read last, unpacked: the next page, or the same page for another reader, needs most of them
// again. A large body whose events have all been read goes at once: the next page needs none of them. Pages of few
// bodies keep none (candidates.ts).
import type { Database } from '../database.ts';
import { EventSpans } from './event-spans.ts';
import { type BodyVersion, bodyVersion, type SegmentJson, segmentJson } from './segment.ts';

/** Bytes of unpacked bodies that are kept, at most: those of two pages with an event from each of 100 batches. */
const maxKeptBytes = 12 << 20;

/** Smaller bodies stay, like those of batches of one event: each page of the newest events reads up to 100 of them. */
const minLargeBytes = 16 << 10;

/** A body with the places of its events. */
export interface ReadBody extends Omit<SegmentJson, 'json'> {
  readonly spans: EventSpans;
  /** Positions of the events that were read; null for a small body. */
  readonly positions: Set<number> | null;
}

/** Memory of a body's objects beside its JSON, in bytes. */
const objectBytes = 1 << 10;

/** Memory of an unpacked body, which may be a part of a larger piece, without the places of its events. */
const bytesOf = ({ spans }: ReadBody): number => spans.json.buffer.byteLength + objectBytes;

const isSame = (one: BodyVersion, other: BodyVersion | null): boolean =>
  one[0] === other?.[0] && one[1] === other[1];

/** True for a large body whose events have all been read. */
export const isReadToEnd = ({ positions, spans }: ReadBody): boolean =>
  positions !== null && spans.endsAfter(positions.size);

export class BodyCache {
  readonly #db: Database;
  readonly #maxBytes: number;
  /** The one that was read last is the last. */
  readonly #bodies = new Map<number, ReadBody>();
  #bytes = 0;

  /** @param maxBytes memory of unpacked bodies, at most. Default: 12 MiB */
  constructor(db: Database, maxBytes: number = maxKeptBytes) {
    this.#db = db;
    this.#maxBytes = maxBytes;
  }

  /**
   * Body of a segment as it is stored now; null if the segment was removed.
   * @param isKept false: a large body that is not in the cache stays out of it. Default: true
   */
  read(segment: number, isKept = true): ReadBody | null {
    const keptBody = this.#bodies.get(segment);
    if (keptBody) {
      this.#drop(segment, keptBody);
      if (isSame(keptBody.version, bodyVersion(this.#db, segment))) return this.keep(segment, keptBody);
    }
    const body = segmentJson(this.#db, segment);
    if (body === null) return null;
    const { json, ...rest } = body;
    const positions = json.byteLength < minLargeBytes ? null : new Set<number>();
    const readBody = { ...rest, spans: new EventSpans(json), positions };
    return isKept || positions === null ? this.keep(segment, readBody) : readBody;
  }

  /** Keeps a body that `read` returned. The oldest make room. */
  keep(segment: number, body: ReadBody): ReadBody {
    const keptBody = this.#bodies.get(segment);
    if (keptBody) this.#drop(segment, keptBody);
    this.#bodies.set(segment, body);
    this.#bytes += bytesOf(body);
    for (const [oldest, oldestBody] of this.#bodies) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#drop(oldest, oldestBody);
    }
    return body;
  }

  /**
   * Notes that an event was read. A large body without nulls goes with its last event: kept, it would only push V8 to
   * collect old objects sooner.
   */
  noteRead(segment: number, body: ReadBody, position: number): void {
    body.positions?.add(position);
    if (isReadToEnd(body) && this.#bodies.get(segment) === body) this.#drop(segment, body);
  }

  #drop(segment: number, body: ReadBody): void {
    this.#bodies.delete(segment);
    this.#bytes -= bytesOf(body);
  }
}
