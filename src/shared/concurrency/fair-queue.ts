// A queue that many owners share: their turns go round, and none has more than its share running or waiting. Starts
// nothing itself.

export interface Shares {
  /** Items of one owner that run at once. */
  readonly running: number;
  /** Items of one owner that wait. */
  readonly waiting: number;
  /** Items of all owners that wait. */
  readonly allWaiting: number;
}

export class FairQueue<T> {
  readonly #shares: Shares;
  /** Waiting items by owner. The owner that was served longest ago comes first. */
  readonly #waiting = new Map<string, T[]>();
  readonly #running = new Map<string, number>();
  #size = 0;

  constructor(shares: Shares) {
    this.#shares = shares;
  }

  add(owner: string, item: T): void {
    const items = this.#waiting.get(owner);
    if (items) items.push(item);
    else this.#waiting.set(owner, [item]);
    this.#size++;
  }

  /** True while more wait, of this owner or of all, than may. */
  isOver(owner: string): boolean {
    const { waiting, allWaiting } = this.#shares;
    return this.#size > allWaiting || (this.#waiting.get(owner)?.length ?? 0) > waiting;
  }

  /**
   * The next item of an owner whose share is not all running; from then on it runs, until `done`. Null when there is
   * none.
   */
  take(): { readonly owner: string; readonly item: T } | null {
    for (const [owner, [item, ...rest]] of this.#waiting) {
      const running = this.#running.get(owner) ?? 0;
      if (item === undefined || running >= this.#shares.running) continue;
      this.#running.set(owner, running + 1);
      this.#waiting.delete(owner);
      if (rest.length > 0) this.#waiting.set(owner, rest);
      this.#size--;
      return { owner, item };
    }
    return null;
  }

  /** An item that was taken has ended. */
  done(owner: string): void {
    const left = (this.#running.get(owner) ?? 0) - 1;
    if (left > 0) this.#running.set(owner, left);
    else this.#running.delete(owner);
  }

  /** Takes a waiting item out; false when it does not wait. */
  remove(owner: string, item: T): boolean {
    const items = this.#waiting.get(owner) ?? [];
    const rest = items.filter((one) => one !== item);
    if (rest.length === items.length) return false;
    if (rest.length > 0) this.#waiting.set(owner, rest);
    else this.#waiting.delete(owner);
    this.#size--;
    return true;
  }

  /** Takes out all that wait. */
  clear(): readonly T[] {
    const all = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    this.#size = 0;
    return all;
  }
}
