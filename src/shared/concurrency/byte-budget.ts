// Counts the bytes that are held for others, with a bound on all of them together and on the share of each holder.

export interface ByteLimits {
  /** Bytes of all holders together. */
  readonly total: number;
  /** Bytes of one holder. */
  readonly share: number;
}

export class ByteBudget {
  readonly #limits: ByteLimits;
  readonly #byHolder = new Map<string, number>();
  #held = 0;

  constructor(limits: ByteLimits) {
    this.#limits = limits;
  }

  /** Bytes held now. */
  get held(): number {
    return this.#held;
  }

  /**
   * Which bound so many more bytes would break; null when they fit. Of both, `share`: that one is the holder's own
   * doing.
   */
  exceeded(holder: string, bytes: number): 'share' | 'total' | null {
    if ((this.#byHolder.get(holder) ?? 0) + bytes > this.#limits.share) return 'share';
    return this.#held + bytes > this.#limits.total ? 'total' : null;
  }

  /** Counts bytes in, whether or not they fit. */
  take(holder: string, bytes: number): void {
    if (bytes === 0) return;
    this.#held += bytes;
    this.#byHolder.set(holder, (this.#byHolder.get(holder) ?? 0) + bytes);
  }

  /** Counts out what was counted in. */
  give(holder: string, bytes: number): void {
    if (bytes === 0) return;
    this.#held -= bytes;
    const left = (this.#byHolder.get(holder) ?? 0) - bytes;
    if (left > 0) this.#byHolder.set(holder, left);
    else this.#byHolder.delete(holder);
  }
}
