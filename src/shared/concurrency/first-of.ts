// The first few of many items in their order, without sorting the many.

export class FirstOf<T> {
  readonly #max: number;
  readonly #compare: (one: T, other: T) => number;
  #kept: T[] = [];
  /** Once there are enough, the last that may be among the first. */
  #bound: T | null = null;

  constructor(max: number, compare: (one: T, other: T) => number) {
    this.#max = max;
    this.#compare = compare;
  }

  add(item: T): void {
    if (this.#bound !== null && this.#compare(item, this.#bound) >= 0) return;
    this.#kept.push(item);
    if (this.#kept.length >= 2 * this.#max) this.#bound = this.sorted().at(-1) ?? null;
  }

  /** At most `max`, in order. */
  sorted(): readonly T[] {
    this.#kept.sort(this.#compare);
    this.#kept.length = Math.min(this.#kept.length, this.#max);
    return [...this.#kept];
  }
}
