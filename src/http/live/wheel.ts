// One timing wheel for all streams: each is visited once a turn. No timer per connection. Keeps promise P36.

export interface Turning {
  slot: number;
  slotIndex: number;
}

export class Wheel<T extends Turning> {
  readonly #slots: T[][];
  #next = 0;
  #size = 0;

  constructor(slots: number) {
    this.#slots = Array.from({ length: slots }, () => []);
  }

  get size(): number {
    return this.#size;
  }

  /** @param chance a number in [0, 1): where on the wheel */
  add(item: T, chance: number): void {
    const slot = Math.floor(chance * this.#slots.length);
    const list = this.#slots[slot];
    if (!list) return;
    item.slot = slot;
    item.slotIndex = list.length;
    list.push(item);
    this.#size++;
  }

  /** Harmless for an item that is not on the wheel. */
  remove(item: T): void {
    const list = this.#slots[item.slot];
    if (list?.[item.slotIndex] !== item) return;
    const last = list.pop();
    if (last && last !== item) {
      list[item.slotIndex] = last;
      last.slotIndex = item.slotIndex;
    }
    this.#size--;
  }

  /** Visits the items of the next slot. A visit may remove its own item. */
  turn(visit: (item: T) => void): void {
    const list = this.#slots[this.#next] ?? [];
    this.#next = (this.#next + 1) % this.#slots.length;
    // From the end: a removal moves only items that were visited already.
    for (let i = list.length - 1; i >= 0; i--) {
      const item = list[i];
      if (item) visit(item);
    }
  }

  /** Up to `count` items, in no order. */
  some(count: number): readonly T[] {
    const due: T[] = [];
    for (const list of this.#slots) {
      for (const item of list) {
        if (due.length >= count) return due;
        due.push(item);
      }
    }
    return due;
  }
}
