// A rate with room for bursts: each use takes from a bucket that fills again with time. Keeps no timer.

export interface Rate {
  /** Amount that may be used at once. */
  readonly burst: number;
  /** Amount that comes back in a second. */
  readonly perSecond: number;
}

export class TokenBucket {
  readonly #rate: Rate;
  #left: number;
  #at: number;

  /** @param now milliseconds of a clock that never goes back */
  constructor(rate: Rate, now: number) {
    this.#rate = rate;
    this.#left = rate.burst;
    this.#at = now;
  }

  /** Uses so much. False: it is not there, and nothing was taken. */
  take(amount: number, now: number): boolean {
    const left = this.left(now);
    this.#at = now;
    this.#left = left;
    if (left < amount) return false;
    this.#left = left - amount;
    return true;
  }

  left(now: number): number {
    const { burst, perSecond } = this.#rate;
    return Math.min(burst, this.#left + ((now - this.#at) * perSecond) / 1000);
  }

  /** True when nothing was used for so long that a new bucket would answer the same. */
  isFull(now: number): boolean {
    return this.left(now) >= this.#rate.burst;
  }
}
