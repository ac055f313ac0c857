// A clock that stands still until a test moves it. Timers run inside `advance`, in order of their time.
import type { Clock, Timer } from '../src/shared/ports/clock.ts';

interface Entry {
  at: number;
  readonly order: number;
  readonly every: number | null;
  readonly task: () => void;
}

export class ManualClock implements Clock {
  #now: number;
  /** By how much the time of day was set since the start. */
  #set = 0;
  readonly #start: number;
  #order = 0;
  #jitter: () => number;
  readonly #entries = new Set<Entry>();

  /** @param now epoch milliseconds at the start; `jitter` answers `random()` */
  constructor(now = 1_700_000_000_000, jitter: () => number = () => 0.5) {
    this.#now = now;
    this.#start = now;
    this.#jitter = jitter;
  }

  now(): number {
    return this.#now + this.#set;
  }

  monotonic(): number {
    return this.#now - this.#start;
  }

  random(): number {
    return this.#jitter();
  }

  after(ms: number, task: () => void): Timer {
    return this.#add(Math.max(0, ms), null, task);
  }

  every(ms: number, task: () => void): Timer {
    return this.#add(ms, ms, task);
  }

  /** How many timers are waiting. */
  get pending(): number {
    return this.#entries.size;
  }

  /** Moves time forward and runs every timer that comes due, each at its own time; also those that they set. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#now = Math.max(this.#now, next.at);
      if (next.every === null) this.#entries.delete(next);
      else next.at += next.every;
      next.task();
    }
    this.#now = end;
  }

  /** Moves time without running what comes due: as for a process that is paused. The next `advance` runs it, late. */
  skip(ms: number): void {
    this.#now += ms;
  }

  /** Sets the time of day, as somebody sets a machine's clock: neither timers nor the monotonic time notice. */
  setBy(byMs: number): void {
    this.#set += byMs;
  }

  /** As `advance`, in steps, letting promises settle after each: for work that sets its next timer after an await. */
  async advanceAsync(ms: number, stepMs = ms): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.advance(Math.min(stepMs, left));
      await settled();
    }
  }

  #add(ms: number, every: number | null, task: () => void): Timer {
    const entry = { at: this.#now + ms, order: this.#order++, every, task };
    this.#entries.add(entry);
    return { cancel: () => void this.#entries.delete(entry) };
  }

  #next(end: number): Entry | null {
    let first: Entry | null = null;
    for (const entry of this.#entries) {
      if (entry.at > end) continue;
      if (!first || entry.at < first.at || (entry.at === first.at && entry.order < first.order))
        first = entry;
    }
    return first;
  }
}

/** Resolves once the promises that can settle without timers or I/O have settled. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
