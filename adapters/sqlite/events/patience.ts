// The time of a search, after which it ends its page early.
import type { Steps } from '../sync.ts';
import type { Key } from './page-in-order.ts';

/** The time of one page. */
interface PageTime {
  /** Milliseconds of a clock that never jumps. */
  readonly now: () => number;
  readonly began: number;
  readonly budgetMs: number;
}

/** The place of a page. */
interface PagePlace {
  /** Below zero: the first comes before the second. */
  readonly order: (a: Key, b: Key) => number;
  /** The cursor. */
  readonly start: Key | null;
  /** The cursor that the page's search began at: another one, if the search was paused. */
  readonly from: Key | null;
}

export class Patience {
  readonly #time: PageTime;
  readonly #place: PagePlace;
  /** The next read of an exact key, unless the search is past its cursor before. */
  #exactAt: number;

  constructor(time: PageTime, place: PagePlace) {
    this.#time = time;
    this.#place = place;
    this.#exactAt = time.began + time.budgetMs;
  }

  /**
   * The end of the page if its time is over and if it is past the search's cursor, so that each page gets further.
   * Null: the search goes on.
   * @param reached a key that nothing still to come precedes
   * @param readExact reads the last such key, until half of the time has passed again; null: it is `reached`
   */
  *endAt(reached: Key, readExact: ((isOver: () => boolean) => Steps<Key>) | null): Steps<Key | null> {
    const { now, began, budgetMs } = this.#time;
    const { order, start } = this.#place;
    const lateAt = now();
    if (lateAt - began <= budgetMs) return null;
    if (!this.#isPast(reached) && (readExact === null || lateAt <= this.#exactAt)) return null;
    const end = readExact ? yield* readExact(() => now() - lateAt > budgetMs / 2) : reached;
    // Events that came after the page before may be earlier than its end.
    if (this.#isPast(end)) return start && order(end, start) < 0 ? start : end;
    this.#exactAt = now() + budgetMs;
    return null;
  }

  #isPast(key: Key): boolean {
    const { order, from } = this.#place;
    return !from || order(key, from) > 0;
  }
}
