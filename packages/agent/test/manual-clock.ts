// A clock that moves only when a test says so; chance is always the middle.
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import type { Clock, Timer } from '../src/clock.ts';

interface Waiting {
  readonly at: number;
  readonly task: () => void;
}

export class ManualClock implements Clock {
  #now = 1_700_000_000_000;
  #waiting = new Set<Waiting>();
  #arrived = new Set<() => void>();
  /** Every wait asked for, in order. */
  readonly waits: number[] = [];

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  random(): number {
    return 0.5;
  }

  after(ms: number, task: () => void): Timer {
    const entry = { at: this.#now + ms, task };
    this.#waiting.add(entry);
    this.waits.push(ms);
    for (const wake of [...this.#arrived]) wake();
    return { cancel: () => void this.#waiting.delete(entry) };
  }

  /** How many timers wait. */
  get pending(): number {
    return this.#waiting.size;
  }

  /** Moves time, firing what falls due in order. */
  advance(ms: number): void {
    const until = this.#now + ms;
    for (;;) {
      const due = [...this.#waiting].filter((entry) => entry.at <= until).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.#waiting.delete(due);
      this.#now = Math.max(this.#now, due.at);
      due.task();
    }
    this.#now = until;
  }

  /** Resolves when a timer of exactly this length waits or is asked for. */
  async asked(ms: number): Promise<void> {
    const found = (): boolean => [...this.#waiting].some((entry) => entry.at === this.#now + ms);
    while (!found()) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#arrived.delete(wake);
          resolve();
        };
        this.#arrived.add(wake);
      });
    }
  }
}

/** Turns of the event loop before a wait goes on in steps: it is for a process, and must leave the processor to it. */
const quickTurns = 200;

/** Waits until the condition holds, first turn by turn of the event loop, then in steps of 2 ms; fails after `ms`. */
export async function until(condition: () => boolean, what = 'the condition', ms = 20_000): Promise<void> {
  const deadline = AbortSignal.timeout(ms);
  for (let turns = 0; !condition(); turns++) {
    if (deadline.aborted) throw new Error(`${what} did not come within ${ms} ms`);
    await (turns < quickTurns ? nextTurn() : wait(2));
  }
}
