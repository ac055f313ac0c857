// A first-in-first-out queue whose every step costs the same, however long it is.

export class Queue<T> {
  #items: (T | undefined)[] = [];
  /** Index of the oldest item; the array is cut when half of it is dead. */
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  /** The oldest item, which stays. */
  get first(): T | undefined {
    return this.#items[this.#head];
  }

  add(item: T): void {
    // An array that grows makes room for many, and most queues hold one.
    if (this.#items.length === 0) this.#items = [item];
    else this.#items.push(item);
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
