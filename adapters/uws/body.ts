// The body of one request as it comes in: copied chunk by chunk, with a bound on its bytes, and counted among those of all requests.
import type { ByteBudget } from '../../src/concurrency/byte-budget.ts';
import type { HubError } from '../../src/domain/error.ts';
import { tooLarge } from '../../src/http/body.ts';
import { noRoom } from '../../src/http/budgets.ts';
import { TransportGone } from '../../src/http/raw.ts';

const empty = new Uint8Array(0);

export interface BodyOptions {
  /** Bytes. */
  readonly limit: number;
  /** Its Content-Length; null when it is chunked. */
  readonly declared: number | null;
  readonly received: ByteBudget;
  /** Whose share of the budget it takes. */
  readonly network: string;
}

export class IncomingBody {
  /** True when all of it is here, or no more of it is wanted. */
  done = false;
  /** True when its last byte has come, wanted or not. */
  whole = false;
  /** Its Content-Length; infinite when it is chunked. */
  readonly declared: number;
  readonly #limit: number;
  readonly #received: ByteBudget;
  readonly #network: string;
  readonly #chunks: Uint8Array[] = [];
  #size = 0;
  #error: Error | null = null;
  #settle: (() => void) | null = null;

  constructor({ limit, declared, received, network }: BodyOptions) {
    this.#limit = limit;
    this.#received = received;
    this.#network = network;
    this.declared = declared ?? Number.POSITIVE_INFINITY;
    if (declared !== null && !(declared <= limit)) this.#fail(tooLarge(limit));
  }

  /** A chunk whose memory is only lent. */
  push(chunk: ArrayBuffer, isLast: boolean): void {
    this.whole ||= isLast;
    if (this.done) return;
    const bytes = chunk.byteLength;
    if (this.#size + bytes > this.#limit) this.#fail(tooLarge(this.#limit));
    else if (this.#received.exceeded(this.#network, bytes) !== null) this.#fail(noRoom());
    else {
      this.#received.take(this.#network, bytes);
      this.#size += bytes;
      if (bytes > 0) this.#chunks.push(new Uint8Array(chunk.slice(0)));
      if (isLast) this.#finish();
    }
  }

  abort(): void {
    if (!this.done) this.#fail(new TransportGone('the client left before its body was read'));
  }

  /** May be asked once. @throws HubError payload_too_large, overloaded; TransportGone */
  async read(): Promise<Uint8Array> {
    if (!this.done) {
      await new Promise<void>((resolve) => {
        this.#settle = resolve;
      });
    }
    if (this.#error) throw this.#error;
    const chunks = this.#chunks.splice(0);
    const [only] = chunks;
    if (chunks.length <= 1) return only ?? empty;
    return Buffer.concat(chunks, this.#size);
  }

  /** The request is dealt with: what came of its body no longer counts, and what still comes is forgotten. */
  release(): void {
    this.done = true;
    this.#chunks.length = 0;
    this.#received.give(this.#network, this.#size);
    this.#size = 0;
  }

  #fail(error: HubError | TransportGone): void {
    this.#error = error;
    this.#chunks.length = 0;
    this.#finish();
  }

  #finish(): void {
    this.done = true;
    this.#settle?.();
    this.#settle = null;
  }
}
