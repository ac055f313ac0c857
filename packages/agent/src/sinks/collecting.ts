// Keeps the newest records in memory, for the agent's own code and for tests.
import type { AuditAction, AuditRecord } from '../record.ts';
import type { Sink } from './sink.ts';

/** Records since a mark were evicted or cleared: the caller cannot know what it missed. */
export class MarkEvictedError extends Error {
  constructor(mark: number, oldest: number) {
    super(`records since mark ${mark} are no longer kept; the oldest record has number ${oldest}`);
    this.name = 'MarkEvictedError';
  }
}

/** A ring of records; the oldest makes room for the newest. */
export class CollectingSink implements Sink {
  readonly maxEvents: number;
  #ring: AuditRecord[] = [];
  /** Index of the oldest record once the ring is full. */
  #start = 0;
  #emitted = 0;

  /** @throws RangeError when maxEvents is below 1 */
  constructor(maxEvents = 50_000) {
    if (!Number.isInteger(maxEvents) || maxEvents < 1) throw new RangeError('maxEvents must be at least 1');
    this.maxEvents = maxEvents;
  }

  async emit(record: AuditRecord): Promise<void> {
    this.#emitted += 1;
    if (this.#ring.length < this.maxEvents) this.#ring.push(record);
    else {
      this.#ring[this.#start] = record;
      this.#start = (this.#start + 1) % this.maxEvents;
    }
  }

  /** A copy, oldest first. */
  get events(): AuditRecord[] {
    return [...this.#ring.slice(this.#start), ...this.#ring.slice(0, this.#start)];
  }

  /** The number of records emitted so far. */
  mark(): number {
    return this.#emitted;
  }

  /**
   * The records emitted since the mark.
   * @throws RangeError for a mark of the future or below 0; MarkEvictedError when some of them were evicted or cleared
   */
  sinceMark(mark: number): AuditRecord[] {
    if (!Number.isInteger(mark) || mark < 0 || mark > this.#emitted) {
      throw new RangeError(`mark ${mark} is not between 0 and ${this.#emitted}`);
    }
    const oldest = this.#emitted - this.#ring.length;
    if (mark < oldest) throw new MarkEvictedError(mark, oldest);
    return this.events.slice(mark - oldest);
  }

  /** The newest record. @throws RangeError when there is none */
  last(): AuditRecord {
    const record = this.#ring[(this.#start + this.#ring.length - 1) % this.#ring.length];
    if (!record) throw new RangeError('the sink has collected no record');
    return record;
  }

  filter(action: AuditAction): AuditRecord[] {
    return this.events.filter((record) => record.action === action);
  }

  /** Forgets the records; older marks are evicted. */
  clear(): void {
    this.#ring = [];
    this.#start = 0;
  }
}
