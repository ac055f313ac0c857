// The askers that wait for a reply, and their common time limit: one timer for all. Knows no actor.
import { outageOf } from '../../src/admission/outages.ts';
import type { HubError } from '../../src/shared/error.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { Ask } from './activation.ts';

/** A class, because a fleet that comes back asks thousands of times at once: its methods are shared. */
class Waiting implements Ask {
  abandoned = false;
  /** Monotonic milliseconds, whole: V8 stores a fraction as an object of its own. */
  readonly deadline: number;
  next: Waiting | null = null;
  before: Waiting | null = null;
  readonly #among: WaitingList;
  readonly #resolve: (reply: unknown) => void;
  readonly #reject: (error: HubError) => void;

  constructor(
    among: WaitingList,
    deadline: number,
    resolve: (reply: unknown) => void,
    reject: (error: HubError) => void,
  ) {
    this.#among = among;
    this.deadline = deadline;
    this.#resolve = resolve;
    this.#reject = reject;
    among.add(this);
  }

  resolve(reply: unknown): void {
    this.#among.remove(this);
    this.#resolve(reply);
  }

  reject(error: HubError): void {
    this.#among.remove(this);
    this.#reject(error);
  }
}

/**
 * The askers in the order in which they came. This is no Set, because V8 links a Set's table to the next one at every
 * rebuild. Once one table is old, all later tables grow old too, with their dead askers and answers.
 */
class WaitingList {
  first: Waiting | null = null;
  size = 0;
  #last: Waiting | null = null;

  add(waiting: Waiting): void {
    waiting.before = this.#last;
    if (this.#last) this.#last.next = waiting;
    else this.first = waiting;
    this.#last = waiting;
    this.size++;
  }

  /** Harmless for one that is not in the list. */
  remove(waiting: Waiting): void {
    const { before, next } = waiting;
    if (before === null && this.first !== waiting) return;
    if (before) before.next = next;
    else this.first = next;
    if (next) next.before = before;
    else this.#last = before;
    waiting.before = null;
    waiting.next = null;
    this.size--;
  }
}

export class Asks {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  /** In order of their deadlines, since all wait equally long. */
  readonly #waiting = new WaitingList();
  #armed = false;

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /**
   * Hands an Ask to `send` and waits for it to be settled; rejects with what `send` throws, and with `unavailable` when
   * it takes too long.
   */
  wait(send: (ask: Ask) => void): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const deadline = Math.ceil(this.#clock.monotonic() + this.#timeoutMs);
      const waiting = new Waiting(this.#waiting, deadline, resolve, reject);
      this.#arm(this.#timeoutMs);
      try {
        send(waiting);
      } catch (error) {
        this.#waiting.remove(waiting);
        throw error;
      }
    });
  }

  #arm(ms: number): void {
    if (this.#armed) return;
    this.#armed = true;
    this.#clock.after(ms, () => {
      this.#armed = false;
      const now = this.#clock.monotonic();
      for (let waiting = this.#waiting.first; waiting; waiting = this.#waiting.first) {
        if (waiting.deadline > now) {
          this.#arm(waiting.deadline - now);
          return;
        }
        waiting.abandoned = true;
        waiting.reject(outageOf('ownerSilent'));
      }
    });
  }
}
