// The Limits port within one process: exact sliding windows, bounded in number and size. Forgotten at exit.
// They count by the monotonic clock: a system clock that is set back keeps nobody out.
import { keepNewest } from '../../src/shared/concurrency/keep-newest.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { LimitAnswer, Limits } from '../../src/shared/ports/limits.ts';

interface Window {
  readonly windowMs: number;
  /** Oldest first; hits that come close together in a long window share an entry, at the later time. */
  entries: { readonly first: number; at: number; cost: number }[];
  sum: number;
}

/**
 * Windows of one class of names. A window with a single hit of cost 1 is the time of that hit alone. Most callers of a
 * large fleet have hit once.
 */
interface WindowClass {
  readonly windows: Map<string, Window | number>;
  /** The longest of its windows, in milliseconds. */
  windowMs: number;
}

/** A window keeps at most about this many entries. */
const grain = 500;
const sweepEveryMs = 60_000;

export interface LocalLimitsOptions {
  readonly clock: Clock;
  /**
   * Windows kept of each class of names; default 100,000. Beyond it the one of the class that was hit longest ago is
   * forgotten.
   */
  readonly windows?: number;
}

class LocalLimits implements Limits {
  readonly #clock: Clock;
  readonly #maxWindows: number;
  /**
   * By class of names, because callers choose a part of many names: invented names must not push out windows of another
   * class. Least recently hit first.
   */
  readonly #classes = new Map<string, WindowClass>();
  #sweepAt: number;

  constructor({ clock, windows: maxWindows = 100_000 }: LocalLimitsOptions) {
    this.#clock = clock;
    this.#maxWindows = maxWindows;
    this.#sweepAt = clock.monotonic() + sweepEveryMs;
  }

  hit(name: string, max: number, windowMs: number, cost = 1): LimitAnswer {
    const now = this.#clock.monotonic();
    this.#sweep(now);
    const ofClass = this.#classOf(name);
    const { windows } = ofClass;
    const existingWindow = windows.get(name);
    const window = opened(existingWindow, windowMs);
    this.#expire(window, now);
    if (window.sum + cost > max) return { ok: false, retryAfter: this.#wait(window, max, cost, now) };
    const left = Math.floor(max - window.sum - cost);
    if (cost === 0) return { ok: true, left };
    this.#add(window, max, cost, now);
    ofClass.windowMs = Math.max(ofClass.windowMs, windowMs);
    if (existingWindow !== undefined) windows.delete(name);
    windows.set(name, folded(window));
    keepNewest(windows, this.#maxWindows);
    return { ok: true, left };
  }

  async takeBack(name: string): Promise<void> {
    const { windows } = this.#classOf(name);
    const window = windows.get(name);
    if (typeof window === 'number') windows.delete(name);
    if (window === undefined || typeof window === 'number') return;
    const newest = window.entries.at(-1);
    if (!newest) return;
    newest.cost--;
    window.sum--;
    if (newest.cost <= 0) window.entries.pop();
  }

  #expire(window: Window, now: number): void {
    let gone = 0;
    for (const entry of window.entries) {
      if (entry.at + window.windowMs > now) break;
      window.sum -= entry.cost;
      gone++;
    }
    if (gone > 0) window.entries = window.entries.slice(gone);
  }

  #sweep(now: number): void {
    if (now < this.#sweepAt) return;
    this.#sweepAt = now + sweepEveryMs;
    for (const { windows, windowMs } of this.#classes.values()) {
      for (const [name, window] of windows) {
        const { entries, windowMs: ownMs } = opened(window, windowMs);
        const newest = entries.at(-1);
        if (!newest || newest.at + ownMs <= now) windows.delete(name);
      }
    }
  }

  /** Whole seconds until enough has left the window for `cost` to fit. */
  #wait(window: Window, max: number, cost: number, now: number): number {
    let left = window.sum;
    for (const entry of window.entries) {
      left -= entry.cost;
      if (left + cost <= max) return Math.max(1, Math.ceil((entry.at + window.windowMs - now) / 1000));
    }
    return Math.max(1, Math.ceil(window.windowMs / 1000));
  }

  #add(window: Window, max: number, cost: number, now: number): void {
    const newest = window.entries.at(-1);
    if (max > grain && newest && now - newest.first < window.windowMs / grain) {
      newest.at = now;
      newest.cost += cost;
    } else {
      const entry = { first: now, at: now, cost };
      // An array that grows makes room for many, and most windows hold one.
      if (newest) window.entries.push(entry);
      else window.entries = [entry];
    }
    window.sum += cost;
  }

  #classOf(name: string): WindowClass {
    const kind = name.slice(0, Math.max(0, name.indexOf(':')));
    let ofClass = this.#classes.get(kind);
    if (!ofClass) {
      ofClass = { windows: new Map(), windowMs: 0 };
      this.#classes.set(kind, ofClass);
    }
    return ofClass;
  }
}

/** @param stored undefined: a new one */
function opened(stored: Window | number | undefined, windowMs: number): Window {
  if (stored === undefined) return { windowMs, entries: [], sum: 0 };
  if (typeof stored !== 'number') return stored;
  return { windowMs, entries: [{ first: stored, at: stored, cost: 1 }], sum: 1 };
}

function folded(window: Window): Window | number {
  const [only] = window.entries;
  const isSingle = window.entries.length === 1 && only?.cost === 1 && only.first === only.at;
  return isSingle ? only.at : window;
}

/**
 * Never lets more than `max` into a window. Where `max` is above 500 a place may come free up to 1/500 of the window
 * late.
 */
export const createLocalLimits = (options: LocalLimitsOptions): Limits => new LocalLimits(options);
