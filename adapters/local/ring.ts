// One audience's log in memory: the newest frames, bounded by count and bytes, and where the log begins.

import type { BroadcastEntry } from '../../src/shared/ports/broadcast.ts';
import { comparePositions, type Position } from '../../src/shared/position.ts';

export interface RingEntry {
  readonly placed: BroadcastEntry;
  readonly bytes: number;
}

/** Entries in order of position. Dropping the oldest moves the floor up to it: the log is complete after the floor. */
export class Ring {
  #entries: RingEntry[] = [];
  /** Index of the oldest entry kept; the array is cut when half of it is dead. */
  #head = 0;
  #floor: Position;
  #bytes = 0;

  constructor(floor: Position) {
    this.#floor = floor;
  }

  get length(): number {
    return this.#entries.length - this.#head;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The position of the newest entry ever added, or the floor. */
  get end(): Position {
    return this.#entries.at(-1)?.placed.position ?? this.#floor;
  }

  push(entry: RingEntry): void {
    this.#entries.push(entry);
    this.#bytes += entry.bytes;
  }

  /** Drops the oldest entry; returns its bytes (0 when empty). */
  shift(): number {
    const entry = this.#entries[this.#head];
    if (!entry) return 0;
    this.#floor = entry.placed.position;
    this.#bytes -= entry.bytes;
    this.#head++;
    if (this.#head * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
    return entry.bytes;
  }

  /** The entries after `position`, or `gone` when it is neither the floor nor an entry's. */
  after(position: Position): readonly BroadcastEntry[] | 'gone' {
    let low = this.#head;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const entry = this.#entries[middle];
      if (entry && comparePositions(entry.placed.position, position) <= 0) low = middle + 1;
      else high = middle;
    }
    const previous = low === this.#head ? this.#floor : this.#entries[low - 1]?.placed.position;
    if (!previous || comparePositions(previous, position) !== 0) return 'gone';
    return this.#entries.slice(low).map((entry) => entry.placed);
  }
}
