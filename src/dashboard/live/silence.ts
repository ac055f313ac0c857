// A connection that stands still looks open: nobody closes it, and nothing comes. The hub sends something every 15 s,
// so a longer silence is the end of the connection.
import type { Clock, Timer } from '../lib/browser.ts';

const keepaliveMs = 15_000;
/** Two keepalives did not come. */
export const silentMs = 2 * keepaliveMs;
/** A connection that is not open by then is given up. Between two SYNs of a slow network there is less. */
export const openingMs = 8_000;

export class SilenceTimer {
  readonly #clock: Clock;
  readonly #onSilence: (lastHeardAt: number) => void;
  #limitMs = openingMs;
  #lastHeardAt: number;
  #timer: Timer | null = null;

  /**
   * Begins at once, with the limit of a connection that is not open yet.
   * @param onSilence is called once, with the epoch milliseconds of the last byte
   */
  constructor(clock: Clock, onSilence: (lastHeardAt: number) => void) {
    this.#clock = clock;
    this.#onSilence = onSilence;
    this.#lastHeardAt = clock.now();
    this.#start();
  }

  /** The connection is open: from now on keepalives count. */
  open(): void {
    this.#limitMs = silentMs;
    this.hear();
    this.#start();
  }

  /** Any byte. A busy stream starts no timer for each of its messages. */
  hear(): void {
    this.#lastHeardAt = this.#clock.now();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #start(): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.after(this.#lastHeardAt + this.#limitMs - this.#clock.now(), () => {
      if (this.#clock.now() - this.#lastHeardAt >= this.#limitMs) this.#onSilence(this.#lastHeardAt);
      else this.#start();
    });
  }
}
