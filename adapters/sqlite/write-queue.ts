// In which order writes go into commits: events of all tenants in turns, a bounded part of them at once, so that
// neither a decision nor another tenant's event waits for all that one tenant sends.
import { FairQueue } from '../../src/concurrency/fair-queue.ts';
import type { EncodedBatch } from './events-encode.ts';
import type { Call } from './wire.ts';

/** Calls that one commit takes, at most. */
const groupSize = 64;
/** Of them so many are no events, where both wait: neither keeps the other waiting for ever. */
const othersFirst = 48;
/** Bytes of events after which a commit takes no more of them. */
const groupBytes = 2 << 20;

export const isIngest = ([, store, method]: Call): boolean => store === 'events' && method === 'ingest';

const batchOf = ([, , , args]: Call): EncodedBatch => args[0] as EncodedBatch;

export class WriteQueue {
  #others: Call[] = [];
  readonly #events = new FairQueue<Call>({
    running: Number.POSITIVE_INFINITY,
    waiting: Number.POSITIVE_INFINITY,
    allWaiting: Number.POSITIVE_INFINITY,
  });
  size = 0;

  add(calls: readonly Call[]): void {
    for (const call of calls) {
      if (isIngest(call)) this.#events.add(batchOf(call).tenantId, call);
      else this.#others.push(call);
    }
    this.size += calls.length;
  }

  /** The calls of the next commit. Those of one tenant's events, and all others, stay in their order. */
  take(): Call[] {
    const events: Call[] = [];
    const room = groupSize - Math.min(this.#others.length, othersFirst);
    for (let bytes = 0; events.length < room && bytes < groupBytes; ) {
      const taken = this.#events.take();
      if (!taken) break;
      this.#events.done(taken.owner);
      events.push(taken.item);
      bytes += batchOf(taken.item).bytes;
    }
    const group = this.#others.splice(0, groupSize - events.length);
    group.push(...events);
    this.size -= group.length;
    return group;
  }
}
