// How a frame of a live stream reaches clients at once that read whole chunks. The native server ends a chunk only
// together with the beginning of the next one. A client that reads whole chunks would see every frame only when the
// next one comes. So the first byte of the next frame follows a frame in a chunk of its own. Others are spared it: it
// is one more packet.

/** urllib3 hands a chunk on when it has read its end, and so does Python's requests, which is built on it. */
const inWholeChunks = /\b(?:python-requests|python-urllib3|urllib3)\//i;

/** @param agent the request's `User-Agent` */
export const readsWholeChunks = (agent: string | undefined): boolean =>
  agent !== undefined && inWholeChunks.test(agent);

const colon = ':'.charCodeAt(0);
/** Frames begin with `id:`. */
const start = 'i';
/** Rest of that byte's line before a comment, and at the end: the line becomes a field that nobody reads. */
const unread = ': \n';

export class NextFrame {
  #isAhead = false;
  #isGreeted = false;

  /** The piece as it follows what went ahead. */
  after(piece: Uint8Array | string): Uint8Array | string {
    if (!this.#isAhead || piece.length === 0) return piece;
    this.#isAhead = false;
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
    return bytes[0] === start.charCodeAt(0) ? bytes.subarray(1) : Buffer.concat([Buffer.from(unread), bytes]);
  }

  /**
   * Text to send ahead of the next piece, after this one was written; empty for none. The greeting has none, because
   * no client waits for it.
   */
  ahead(piece: Uint8Array | string): string {
    if (this.#isAhead || piece.length === 0) return '';
    const first = typeof piece === 'string' ? piece.charCodeAt(0) : piece[0];
    const isGreeting = first === colon && !this.#isGreeted;
    this.#isGreeted = true;
    this.#isAhead = !isGreeting;
    return isGreeting ? '' : start;
  }

  /** Text that ends the stream after a byte that went ahead; empty if none did. */
  end(): string {
    return this.#isAhead ? unread : '';
  }
}
