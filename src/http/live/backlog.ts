// What a connection that is full (or still joining) has not been sent: the latest frame per bundle, and a bounded
// number of bytes of others.
import type { Piece } from './encoded.ts';
import type { Codec } from './session.ts';

/** Bytes of frames without a bundle that one connection may have waiting. */
export const maxWaitingBytes = 256 * 1024;
/** Small pieces go out together, up to this many bytes a write. */
const writeBytes = 64 * 1024;

export class Backlog {
  readonly #pieces = new Map<string | number, Piece>();
  #count = 0;
  #bytes = 0;

  /**
   * Adds a piece in its place in the order. False: it would go over the bound, and was not added. One piece alone
   * always fits.
   */
  add(piece: Piece, codec: Codec, max: number = maxWaitingBytes): boolean {
    if (piece.key !== null) {
      // Deleted first, so that it moves to the end: ids must rise.
      this.#pieces.delete(piece.key);
      this.#pieces.set(piece.key, piece);
      return true;
    }
    const size = piece.size(codec);
    if (this.#bytes > 0 && this.#bytes + size > max) return false;
    this.#bytes += size;
    this.#pieces.set(this.#count++, piece);
    return true;
  }

  get empty(): boolean {
    return this.#pieces.size === 0;
  }

  /** Everything, oldest first. */
  pieces(): readonly Piece[] {
    return [...this.#pieces.values()];
  }

  /** Takes out the bytes of the next write: one WebSocket message, or some SSE frames in one buffer. */
  next(codec: Codec): Uint8Array | string {
    const taken: Uint8Array[] = [];
    let size = 0;
    for (const [key, piece] of this.#pieces) {
      const bytes = piece.bytes(codec);
      if (size > 0 && size + bytes.length > writeBytes) break;
      this.#pieces.delete(key);
      if (typeof key === 'number') this.#bytes -= bytes.length;
      if (codec !== 'sse' || typeof bytes === 'string') return bytes;
      taken.push(bytes);
      size += bytes.length;
    }
    const [only] = taken;
    return taken.length === 1 && only ? only : Buffer.concat(taken, size);
  }
}
