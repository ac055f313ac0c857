// Unsent frames of a connection that is full or still joining: the latest frame of each bundle, and a bounded number of
// bytes of other frames. Keeps promise P37.
import { admissionTable } from '../../admission/table.ts';
import type { Piece } from './encoded.ts';
import type { Codec } from './session.ts';

/** Bytes of frames without a bundle that one connection may have waiting. */
export const [{ bytes: maxWaitingBytes }] = admissionTable.unsentFrames.bounds;
/** Small pieces go out together, up to this many bytes a write. */
const writeBytes = 64 * 1024;

export class Backlog {
  /** The piece when there is only one, as in nearly every stream that is opened; null: see the map. */
  #only: Piece | null = null;
  /** Made for the second piece. */
  #several: Map<string | number, Piece> | null = null;
  #count = 0;
  #bytes = 0;

  /**
   * Adds a piece in its place in the order. False: it would go over the bound, and was not added. One piece alone
   * always fits.
   */
  add(piece: Piece, codec: Codec, max: number = maxWaitingBytes): boolean {
    const size = piece.key === null ? piece.size(codec) : 0;
    if (size > 0 && this.#bytes > 0 && this.#bytes + size > max) return false;
    this.#bytes += size;
    if (this.empty) {
      this.#only = piece;
      return true;
    }
    const pieces = this.#map();
    // Deleted first, so that it moves to the end: ids must rise.
    if (piece.key !== null) pieces.delete(piece.key);
    pieces.set(piece.key ?? this.#count++, piece);
    return true;
  }

  #map(): Map<string | number, Piece> {
    this.#several ??= new Map();
    if (this.#only) this.#several.set(this.#only.key ?? this.#count++, this.#only);
    this.#only = null;
    return this.#several;
  }

  get empty(): boolean {
    return this.#only === null && (this.#several === null || this.#several.size === 0);
  }

  /** Bytes of all pieces. Encodes none that is shared: each encoding is made once for all connections. */
  unsentBytes(codec: Codec): number {
    return this.pieces().reduce((sum, piece) => sum + piece.size(codec), 0);
  }

  /** Everything, oldest first. */
  pieces(): readonly Piece[] {
    return this.#only ? [this.#only] : [...(this.#several?.values() ?? [])];
  }

  /** Takes out the bytes of the next write: one WebSocket message, or some SSE frames in one buffer. */
  next(codec: Codec): Uint8Array | string {
    const only = this.#only;
    if (only) {
      this.#only = null;
      const bytes = only.bytes(codec);
      if (only.key === null) this.#bytes -= bytes.length;
      return bytes;
    }
    return this.#nextOf(this.#map(), codec);
  }

  #nextOf(pieces: Map<string | number, Piece>, codec: Codec): Uint8Array | string {
    const taken: Uint8Array[] = [];
    let size = 0;
    for (const [key, piece] of pieces) {
      const bytes = piece.bytes(codec);
      if (size > 0 && size + bytes.length > writeBytes) break;
      pieces.delete(key);
      if (typeof key === 'number') this.#bytes -= bytes.length;
      if (codec !== 'sse' || typeof bytes === 'string') return bytes;
      taken.push(bytes);
      size += bytes.length;
    }
    const [first] = taken;
    return taken.length === 1 && first ? first : Buffer.concat(taken, size);
  }
}
