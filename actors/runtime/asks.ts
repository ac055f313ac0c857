// The askers that wait for a reply, and their common time limit: one timer for all. Knows no actor.
import { HubError } from '../../src/domain/error.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Ask } from './activation.ts';

interface Waiting extends Ask {
  abandoned: boolean;
  readonly deadline: number;
}

export class Asks {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  /** In order of their deadlines, since all wait equally long. */
  readonly #waiting = new Set<Waiting>();
  #armed = false;

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Hands an Ask to `send` and waits for it to be settled; rejects with `unavailable` when that takes too long. */
  wait(send: (ask: Ask) => void): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        abandoned: false,
        deadline: this.#clock.monotonic() + this.#timeoutMs,
        resolve: (reply) => {
          this.#waiting.delete(waiting);
          resolve(reply);
        },
        reject: (error) => {
          this.#waiting.delete(waiting);
          reject(error);
        },
      };
      this.#waiting.add(waiting);
      this.#arm(this.#timeoutMs);
      send(waiting);
    });
  }

  #arm(ms: number): void {
    if (this.#armed) return;
    this.#armed = true;
    this.#clock.after(ms, () => {
      this.#armed = false;
      const now = this.#clock.monotonic();
      for (const waiting of this.#waiting) {
        if (waiting.deadline > now) {
          this.#arm(waiting.deadline - now);
          return;
        }
        waiting.abandoned = true;
        waiting.reject(
          new HubError('unavailable', 'No answer in time. Try again shortly.', { retryAfter: 1 }),
        );
      }
    });
  }
}
