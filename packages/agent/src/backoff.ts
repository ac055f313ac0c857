// Waits between attempts at a hub or a server that fails: from 1 s, twice as long each time, up to 60 s.
import type { Clock } from './clock.ts';

/** Milliseconds. */
const minWait = 1000;
/** Milliseconds. */
const maxWait = 60_000;

export class Backoff {
  readonly #clock: Clock;
  #base = minWait;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The next wait in milliseconds. Jitter only adds: a thousand agents that lost one hub come back spread over twice
   * the wait.
   * @param least milliseconds from a Retry-After; default 0
   */
  next(least = 0): number {
    const wait = Math.max(this.#base + this.#base * this.#clock.random(), least);
    this.#base = Math.min(maxWait / 2, this.#base * 2);
    return Math.min(maxWait, wait);
  }

  /** The next wait is a short one again. */
  reset(): void {
    this.#base = minWait;
  }
}
