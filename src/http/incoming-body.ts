// The body of one request as it comes in from either server: copied chunk by chunk, with a bound on its bytes, and
// counted among those of all requests.

import { noRoom } from '../admission/byte-budgets.ts';
import type { ByteBudget } from '../shared/concurrency/byte-budget.ts';
import type { HubError } from '../shared/error.ts';
import type { Clock } from '../shared/ports/clock.ts';
import { tooLarge } from './body.ts';
import { TransportGone } from './raw.ts';

const empty = new Uint8Array(0);
/**
 * Bytes below which a chunk is gathered with its neighbours: an array of its own takes some 200 bytes beside what it
 * holds.
 */
const smallChunk = 4_096;

export interface BodyOptions {
  /** Bytes. */
  readonly limit: number;
  /** Its Content-Length; null when it is chunked. */
  readonly declared: number | null;
  readonly received: ByteBudget;
  /** Network whose share of the budget the body takes. */
  readonly network: string;
}

export class IncomingBody {
  /** True when all of it is here, or no more of it is wanted. */
  done = false;
  /** True when its last byte has come, wanted or not. */
  whole = false;
  readonly #declared: number | null;
  readonly #limit: number;
  readonly #received: ByteBudget;
  readonly #network: string;
  readonly #chunks: Uint8Array[] = [];
  /** Small chunks that came after those, one behind the other; its first `#gathered` bytes are taken. */
  #gathering: Uint8Array = empty;
  #gathered = 0;
  #size = 0;
  /** Bytes that came after nobody wanted them any more. */
  #passed = 0;
  #left = false;
  #error: Error | null = null;
  #settle: (() => void) | null = null;

  constructor({ limit, declared, received, network }: BodyOptions) {
    this.#limit = limit;
    this.#received = received;
    this.#network = network;
    this.#declared = declared;
    if (declared !== null && !(declared <= limit)) this.#fail(tooLarge(limit));
  }

  /** A chunk, which is kept as it is unless its memory is only lent (an ArrayBuffer). */
  push(chunk: ArrayBuffer | Uint8Array, isLast: boolean): void {
    this.whole ||= isLast;
    const bytes = chunk.byteLength;
    if (this.done) {
      this.#passed += bytes;
      if (isLast) this.#finish();
      return;
    }
    if (this.#size + bytes > this.#limit) this.#fail(tooLarge(this.#limit));
    else if (this.#received.exceeded(this.#network, bytes) !== null) this.#fail(noRoom());
    else {
      this.#received.take(this.#network, bytes);
      this.#size += bytes;
      if (bytes > 0) this.#keep(chunk, isLast);
      if (isLast) this.#finish();
    }
  }

  abort(): void {
    this.#left = true;
    if (this.done) this.#finish();
    else this.#fail(new TransportGone('the client disconnected before its body was read'));
  }

  /** May be asked once. @throws HubError payload_too_large, overloaded; TransportGone */
  async read(): Promise<Uint8Array> {
    if (!this.done) {
      await new Promise<void>((resolve) => {
        this.#settle = resolve;
      });
    }
    if (this.#error) throw this.#error;
    this.#closeGathered();
    const chunks = this.#chunks.splice(0);
    const [only] = chunks;
    if (chunks.length <= 1) return only ?? empty;
    return Buffer.concat(chunks, this.#size);
  }

  /** The request is dealt with: what came of its body no longer counts, and what still comes is forgotten. */
  release(): void {
    this.done = true;
    this.#forget();
    this.#received.give(this.#network, this.#size);
    this.#size = 0;
  }

  /**
   * Waits for the rest of a body that nobody reads: until it is whole, none of it comes for `quietMs`, more than
   * `maxBytes` of it came (or are declared), or the client is gone. To be asked once the request is dealt with.
   */
  async pass(clock: Clock, quietMs: number, maxBytes: number): Promise<void> {
    this.release();
    if (this.#declared !== null && this.#declared > maxBytes) return;
    let before = -1;
    while (!this.whole && !this.#left && this.#passed !== before && this.#passed <= maxBytes) {
      before = this.#passed;
      await new Promise<void>((resolve) => {
        const timer = clock.after(quietMs, resolve);
        this.#settle = () => {
          timer.cancel();
          resolve();
        };
      });
    }
  }

  #keep(chunk: ArrayBuffer | Uint8Array, isLast: boolean): void {
    const isWhole = isLast && this.#size === chunk.byteLength;
    if (isWhole || chunk.byteLength >= smallChunk) {
      this.#closeGathered();
      this.#chunks.push(chunk instanceof Uint8Array ? chunk : new Uint8Array(chunk.slice(0)));
      return;
    }
    if (this.#gathered + chunk.byteLength > this.#gathering.length) {
      this.#closeGathered();
      this.#gathering = new Uint8Array(2 * smallChunk);
    }
    this.#gathering.set(chunk instanceof Uint8Array ? chunk : new Uint8Array(chunk), this.#gathered);
    this.#gathered += chunk.byteLength;
  }

  #closeGathered(): void {
    if (this.#gathered > 0) this.#chunks.push(this.#gathering.subarray(0, this.#gathered));
    this.#gathering = empty;
    this.#gathered = 0;
  }

  #forget(): void {
    this.#chunks.length = 0;
    this.#gathering = empty;
    this.#gathered = 0;
  }

  #fail(error: HubError | TransportGone): void {
    this.#error = error;
    this.#forget();
    this.#finish();
  }

  #finish(): void {
    this.done = true;
    this.#settle?.();
    this.#settle = null;
  }
}
