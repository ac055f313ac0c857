// Bounds what one receiver may take of a shared pool of workers, so that a slow one never holds up another.

export interface LaneLimits {
  /** Tasks of a lane that run at once. */
  readonly running: number;
  /** Tasks that may wait in a lane. */
  readonly waiting: number;
  /** Tasks that may wait in a lane that was slow last time. */
  readonly waitingWhenSlow: number;
}

interface Lane {
  running: number;
  readonly waiting: (() => void)[];
}

export class Lanes {
  readonly #limits: LaneLimits;
  readonly #lanes = new Map<string, Lane>();
  /** Lanes that were slow last time. Bounded: the oldest is forgotten, and found out again. */
  readonly #slow = new Set<string>();

  constructor(limits: LaneLimits) {
    this.#limits = limits;
  }

  /**
   * A place in the lane, which resolves when it is this task's turn; null when the lane is full. Call `leave` after
   * each that resolved.
   */
  enter(name: string): Promise<void> | null {
    const lane = this.#lanes.get(name) ?? { running: 0, waiting: [] };
    const { running, waiting, waitingWhenSlow } = this.#limits;
    if (lane.running < running) {
      lane.running++;
      this.#lanes.set(name, lane);
      return Promise.resolve();
    }
    if (lane.waiting.length >= (this.#slow.has(name) ? waitingWhenSlow : waiting)) return null;
    return new Promise((turn) => lane.waiting.push(turn));
  }

  /** @param slow whether this task took long, or its receiver did not answer */
  leave(name: string, slow: boolean): void {
    this.#slow.delete(name);
    if (slow) this.#slow.add(name);
    if (this.#slow.size > 10_000) for (const oldest of this.#slow) if (this.#slow.delete(oldest)) break;
    const lane = this.#lanes.get(name);
    if (!lane) return;
    // The place is handed on, so `running` stays as it is.
    const next = lane.waiting.shift();
    if (next) next();
    else if (--lane.running === 0) this.#lanes.delete(name);
  }
}
