// The body of one request as it comes in: copied chunk by chunk, with a bound on its bytes.
import type { HubError } from '../../src/domain/error.ts';
import { tooLarge } from '../../src/http/body.ts';
import { TransportGone } from '../../src/http/raw.ts';

const empty = new Uint8Array(0);

export class IncomingBody {
  /** When it began (monotonic ms). */
  readonly startedAt: number;
  /** True when all of it is here, or no more of it is wanted. */
  done = false;
  /** True when its last byte has come, wanted or not. */
  whole = false;
  readonly #limit: number;
  readonly #chunks: Uint8Array[] = [];
  #size = 0;
  #error: Error | null = null;
  #settle: (() => void) | null = null;

  /** @param declared its Content-Length; null when it is chunked */
  constructor(limit: number, declared: number | null, startedAt: number) {
    this.#limit = limit;
    this.startedAt = startedAt;
    if (declared !== null && !(declared <= limit)) this.#fail(tooLarge(limit));
  }

  /** A chunk whose memory is only lent. */
  push(chunk: ArrayBuffer, isLast: boolean): void {
    this.whole ||= isLast;
    if (this.done) return;
    this.#size += chunk.byteLength;
    if (this.#size > this.#limit) {
      this.#fail(tooLarge(this.#limit));
      return;
    }
    if (chunk.byteLength > 0) this.#chunks.push(new Uint8Array(chunk.slice(0)));
    if (isLast) this.#finish();
  }

  abort(): void {
    if (!this.done) this.#fail(new TransportGone('the client left before its body was read'));
  }

  /** May be asked once. @throws HubError payload_too_large; TransportGone */
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
