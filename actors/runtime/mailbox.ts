// A bounded first-in-first-out queue. Knows nothing of actors.

export class Mailbox<T> {
  #items: (T | undefined)[] = [];
  /** Index of the oldest item; the array is cut when half of it is dead, so that taking costs O(1). */
  #head = 0;
  readonly #cap: number;

  constructor(cap: number) {
    this.#cap = cap;
  }

  get length(): number {
    return this.#items.length - this.#head;
  }

  /** False when full; the item is not taken then. */
  push(item: T): boolean {
    if (this.length >= this.#cap) return false;
    this.#items.push(item);
    return true;
  }

  /** Takes the item though the mailbox be full: for items that are bounded otherwise (timers). */
  pushAnyway(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head++;
    if (this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}
