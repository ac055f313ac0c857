// A bounded first-in-first-out queue. Knows nothing of actors. Keeps promise P4.
import { Queue } from '../../src/shared/concurrency/queue.ts';

export class Mailbox<T> extends Queue<T> {
  readonly #cap: number;

  constructor(cap: number) {
    super();
    this.#cap = cap;
  }

  /** False when full; the item is not taken then. */
  push(item: T): boolean {
    if (this.length >= this.#cap) return false;
    this.add(item);
    return true;
  }

  /** Takes the item though the mailbox be full: for items that are bounded otherwise (timers). */
  pushAnyway(item: T): void {
    this.add(item);
  }
}
