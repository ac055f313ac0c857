// The times when known agents were last seen, on their way into the store. No request waits for them: a fleet that
// opens its streams again would cost an update for each agent before the answer.
import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import { admissionTable } from '../../src/admission/table.ts';
import { type Clock, pause } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import type { AgentRow } from './agent-rows.ts';

/** The last time of an agent, and the fields that belong to it. */
export interface SeenTime {
  /** Of the registration. */
  readonly id: string;
  readonly at: number;
  readonly fields: Partial<Pick<AgentRow, 'lastEnv' | 'lastApi' | 'loadsAny' | 'retiredAt'>>;
}

/** Times that wait, at most. Beyond them the request waits for its own write. */
const [{ waiting: maxWaiting }] = admissionTable.seenTimes.bounds;
const maxBulk = 200;
/** From the first time that waits to its write. Milliseconds. */
const gatherMs = 250;
/** Between a write that failed and the next one. Milliseconds. */
const retryMs = 1_000;

/** The write of a time, which never goes back. */
export const writeOf = ({ id, at, fields }: SeenTime): AnyBulkWriteOperation<AgentRow> => ({
  updateOne: {
    filter: { _id: id, lastSeenAt: { $not: { $gt: at } } },
    update: { $set: { ...fields, lastSeenAt: at } },
  },
});

/** As `writeOf`. An agent that was retired in between stays so: only a registration brings it back. */
function lateWriteOf(time: SeenTime): AnyBulkWriteOperation<AgentRow> {
  const { id, at, fields } = time;
  return {
    updateOne: {
      filter: { _id: id, retiredAt: null, lastSeenAt: { $not: { $gt: at } } },
      update: { $set: { ...fields, lastSeenAt: at } },
    },
  };
}

export class SeenTimes {
  readonly #agents: Collection<AgentRow>;
  readonly #clock: Pick<Clock, 'after' | 'monotonic'>;
  readonly #log: Pick<Log, 'warn'>;
  readonly #max: number;
  /** The newest of each registration. */
  readonly #waiting = new Map<string, SeenTime>();
  #isWriting = false;
  /** The bulk write under way. */
  #bulk: Promise<boolean> | null = null;
  #isFailing = false;
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
  add(time: SeenTime): boolean {
    const earlier = this.#waiting.get(time.id);
    if (this.#isClosed || (!earlier && this.#waiting.size >= this.#max)) return false;
    if (earlier && earlier.at > time.at) return true;
    const fields = { ...earlier?.fields, ...time.fields };
    this.#waiting.set(time.id, { ...time, fields });
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
      await pause(this.#clock, isWritten ? this.#clock.monotonic() - begun : retryMs);
    }
    this.#isWriting = false;
  }

  /** @returns false if the write failed: the times wait again */
  async #writeSome(): Promise<boolean> {
    const times: SeenTime[] = [];
    for (const time of this.#waiting.values()) {
      times.push(time);
      if (times.length === maxBulk) break;
    }
    for (const { id } of times) this.#waiting.delete(id);
    try {
      await this.#agents.bulkWrite(times.map(lateWriteOf), { ordered: false });
      this.#isFailing = false;
      return true;
    } catch (error) {
      for (const time of times) if (!this.#waiting.has(time.id)) this.#waiting.set(time.id, time);
      if (!this.#isFailing) {
        const reason = error instanceof Error ? error.message : String(error);
        this.#log.warn({ error: reason }, 'cannot store yet when agents were last seen');
      }
      this.#isFailing = true;
      return false;
    }
  }
}
