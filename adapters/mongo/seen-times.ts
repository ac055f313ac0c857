// The times when known agents were last seen, on their way into the store. No request waits for them: a fleet that
// opens its streams again would cost an update for each agent before the answer.
import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import { admissionTable } from '../../src/admission/table.ts';
import { type Clock, pause } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import type { AgentRow } from './agent-rows.ts';

/** Of a registration, by its id. */
export interface SeenTime {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** Times that wait, at most. Beyond them the request waits for its own write. */
const [{ waiting: maxWaiting }] = admissionTable.seenTimes.bounds;
const maxBulk = 100;
/** From the first time that waits to its write. Milliseconds. */
const gatherMs = 250;
/** Between a write that failed and the next one: each time twice as long. Milliseconds. */
const [firstRetryMs, maxRetryMs] = [1_000, 30_000];

/** A retired agent stays retired: only a registration brings it back. */
const writeOf = ([id, at]: readonly [string, number]): AnyBulkWriteOperation<AgentRow> => ({
  updateOne: { filter: { _id: id }, update: { $max: { lastSeenAt: at } } },
});

export class SeenTimes {
  readonly #agents: Collection<AgentRow>;
  readonly #clock: Pick<Clock, 'after' | 'monotonic'>;
  readonly #log: Pick<Log, 'warn'>;
  readonly #max: number;
  /** The newest of each registration. */
  readonly #waiting = new Map<string, number>();
  #isWriting = false;
  /** The bulk write under way. */
  #bulk: Promise<boolean> | null = null;
  /** Of writes, one after the other. */
  #failures = 0;
  #isClosed = false;

  constructor(
    agents: Collection<AgentRow>,
    clock: Pick<Clock, 'after' | 'monotonic'>,
    log: Pick<Log, 'warn'>,
    max: number = maxWaiting,
  ) {
    this.#agents = agents;
    this.#clock = clock;
    this.#log = log;
    this.#max = max;
  }

  /** @returns false if too many wait: the caller writes it */
  add({ id, at }: SeenTime): boolean {
    const earlier = this.#waiting.get(id);
    if (this.#isClosed || (earlier === undefined && this.#waiting.size >= this.#max)) return false;
    this.#waiting.set(id, Math.max(at, earlier ?? at));
    if (!this.#isWriting) void this.#writeAll();
    return true;
  }

  /** Writes the times that wait. Those that cannot be written are lost: the agents' next requests repeat them. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#bulk;
    while (this.#waiting.size > 0 && (await this.#writeSome()));
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    await pause(this.#clock, gatherMs);
    while (this.#waiting.size > 0 && !this.#isClosed) {
      const begun = this.#clock.monotonic();
      this.#bulk = this.#writeSome();
      const isWritten = await this.#bulk;
      if (this.#waiting.size === 0) break;
      // Requests get at least half of the database's time.
      const retryMs = Math.min(maxRetryMs, firstRetryMs * 2 ** (this.#failures - 1));
      await pause(this.#clock, isWritten ? this.#clock.monotonic() - begun : retryMs);
    }
    this.#isWriting = false;
  }

  /** @returns false if the write failed: the times wait again */
  async #writeSome(): Promise<boolean> {
    const times: (readonly [string, number])[] = [];
    for (const time of this.#waiting) {
      times.push(time);
      if (times.length === maxBulk) break;
    }
    for (const [id] of times) this.#waiting.delete(id);
    try {
      // No answer vouches for them, so that no disk need be waited for.
      await this.#agents.bulkWrite(times.map(writeOf), { ordered: false, writeConcern: { w: 1 } });
      this.#failures = 0;
      return true;
    } catch (error) {
      for (const [id, at] of times) this.#waiting.set(id, Math.max(at, this.#waiting.get(id) ?? at));
      const reason = error instanceof Error ? error.message : String(error);
      if (this.#failures++ === 0)
        this.#log.warn({ error: reason }, 'cannot store yet when agents were last seen');
      return false;
    }
  }
}
