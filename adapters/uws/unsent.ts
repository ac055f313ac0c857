// An answer that its connection has not taken whole. The answer's bytes stay here and are counted until then: the
// native server would copy them all, and does not report how many still wait.
import type { HttpResponse } from 'uWebSockets.js';
import type { ByteBudget } from '../../src/shared/concurrency/byte-budget.ts';

export class UnsentAnswer {
  readonly #res: HttpResponse;
  readonly #bytes: Uint8Array;
  readonly #unsent: ByteBudget;
  readonly #caller: string;
  readonly #finished: () => void;
  #counted = true;

  /** @param finished called once when the last byte is taken; the response must not be touched from then on */
  constructor(
    res: HttpResponse,
    bytes: Uint8Array,
    { unsent, caller, finished }: { unsent: ByteBudget; caller: string; finished: () => void },
  ) {
    this.#res = res;
    this.#bytes = bytes;
    this.#unsent = unsent;
    this.#caller = caller;
    this.#finished = finished;
    unsent.take(caller, bytes.length);
  }

  /** Hands on what the connection takes now. Answers whether it took all that it was given. */
  writable(): boolean {
    const res = this.#res;
    const bytes = this.#bytes;
    let took = true;
    let done = false;
    res.cork(() => {
      [took, done] = res.tryEnd(bytes.subarray(res.getWriteOffset()), bytes.length);
    });
    if (done) {
      this.gone();
      this.#finished();
    }
    return took;
  }

  /** Safe to repeat. */
  gone(): void {
    if (this.#counted) this.#unsent.give(this.#caller, this.#bytes.length);
    this.#counted = false;
  }
}
