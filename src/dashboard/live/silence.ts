// A frozen connection looks open: nobody closes it, and no data arrives. The hub sends a keepalive every 15 s, so a
// longer silence means that the connection is lost.
import type { Clock, Timer } from '../lib/browser.ts';

const keepaliveMs = 15_000;
/** Two missing keepalives, in milliseconds. */
export const silentMs = 2 * keepaliveMs;
/** Time limit for opening a connection, in milliseconds: longer than the pause between two SYNs on a slow network. */
export const openingMs = 8_000;

export class SilenceTimer {
  readonly #clock: Clock;
  readonly #onSilence: (lastHeardAt: number) => void;
  #limitMs = openingMs;
  #lastHeardAt: number;
  #timer: Timer | null = null;

  /**
   * Starts at once, with the time limit for opening a connection.
   * @param onSilence called once, with the epoch milliseconds of the latest byte
   */
  constructor(clock: Clock, onSilence: (lastHeardAt: number) => void) {
    this.#clock = clock;
    this.#onSilence = onSilence;
    this.#lastHeardAt = clock.now();
    this.#start();
  }

  /** The connection is open. From now on, the limit for keepalives applies. */
  open(): void {
    this.#limitMs = silentMs;
    this.hear();
    this.#start();
  }

  /** Records a byte, without a new timer for each message of a busy stream. */
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
