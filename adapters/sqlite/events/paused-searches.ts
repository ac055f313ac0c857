// Searches that ran out of their time, kept for a moment so that their next pages go on with them.
import type { Candidates } from './candidates.ts';
import type { Key, PageInOrder } from './page-in-order.ts';
import type { Summary } from './segment.ts';

/** The next value of a walk; null at its end. The walk stays open, unlike in a loop that is left. */
export function after<T>(walk: Generator<T, void, undefined>): T | null {
  const { value, done } = walk.next();
  return done ? null : (value as T);
}

/** A search that ran out of its time, before the segment `next`. */
export interface PausedSearch {
  readonly rest: Generator<Summary | number, void, undefined>;
  readonly next: Summary | number;
  readonly page: PageInOrder;
  readonly candidates: Candidates;
  readonly from: Key | null;
  /** The highest segment when the search began. */
  readonly newestSegment: number;
  readonly pausedAt: number;
}

/** After this time a search that goes on starts again at its cursor. Milliseconds. */
const pauseMs = 10_000;
const maxPaused = 4;

/**
 * Searches that later pages continue. A page that starts its search again would read all segments again that overlap
 * its cursor: thousands, where thousands of agents report at once.
 */
export class PausedSearches {
  readonly #searches = new Map<string, PausedSearch>();

  keep(name: string, search: PausedSearch): void {
    search.candidates.forgetBodies();
    const [oldest] = this.#searches.keys();
    if (oldest !== undefined && this.#searches.size >= maxPaused) this.#searches.delete(oldest);
    this.#searches.set(name, search);
  }

  take(name: string, now: number): PausedSearch | null {
    for (const [one, { pausedAt }] of this.#searches)
      if (now - pausedAt > pauseMs) this.#searches.delete(one);
    const search = this.#searches.get(name) ?? null;
    this.#searches.delete(name);
    return search;
  }
}
