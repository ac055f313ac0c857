// The order in which writes go into commits: decisions before events, and events of all tenants in turns. No commit is
// longer than some milliseconds. So neither a decision nor another tenant's event waits for all that one tenant sends.
// Keeps promises P21 and P22.
import { FairQueue } from '../../../src/shared/concurrency/fair-queue.ts';
import type { EncodedBatch } from '../events/encode.ts';
import { type StoreCall, storeCall } from '../sync.ts';
import type { Call } from './wire.ts';

/** Calls that one commit takes, at most. */
const groupCalls = 64;
/** Bytes of events after which a commit takes no more of them. */
const groupBytes = 2 << 20;
/** Milliseconds of work after which a commit takes nothing more: the cost of events does not follow their bytes. */
const groupMs = 40;

export const isIngest = ([, store, method]: Call): boolean => storeCall(store, method) === 'events.ingest';

const batchOf = ([, , , args]: Call): EncodedBatch => args[0] as EncodedBatch;

/** Writes that nobody decides by, and that can be many or long. All others go first. */
const bulkMethods = new Set<StoreCall | 'store.many'>([
  'agents.removeBefore',
  'agents.updateManifest',
  'aiUsage.removeBefore',
  'audit.retain',
  'events.removeBefore',
  'events.removeIdleRuns',
  'events.removeSample',
  'idempotency.removeExpired',
  'keys.used',
  'logins.removeExpired',
  'retention.remove',
  // Registrations, gathered (adapters/sqlite/threads/gather.ts).
  'store.many',
  'values.removeExpired',
]);
const valueMethods = new Set<StoreCall>(['values.set', 'values.increment', 'values.remove']);

/** With whose bulk writes a write takes turns; null for one that goes before all of them. */
function bulkOwner(call: Call): string | null {
  if (isIngest(call)) return `events ${batchOf(call).tenantId}`;
  const [, store, method, args] = call;
  const name = storeCall(store, method);
  if (bulkMethods.has(name)) return name;
  if (!valueMethods.has(name)) return null;
  const [first] = args;
  // A writer, or the tenant's id alone.
  return `values ${typeof first === 'string' ? first : (first as { readonly tenantId: string }).tenantId}`;
}

export class WriteQueue {
  readonly #now: () => number;
  #first: Call[] = [];
  readonly #bulk = new FairQueue<Call>({
    running: Number.POSITIVE_INFINITY,
    waiting: Number.POSITIVE_INFINITY,
    allWaiting: Number.POSITIVE_INFINITY,
  });
  #bulkSize = 0;
  #lastWasFirst = false;

  /** @param now milliseconds of a clock that never jumps */
  constructor(now: () => number) {
    this.#now = now;
  }

  get size(): number {
    return this.#first.length + this.#bulkSize;
  }

  add(calls: readonly Call[]): void {
    for (const call of calls) {
      const owner = bulkOwner(call);
      if (owner === null) this.#first.push(call);
      else {
        this.#bulk.add(owner, call);
        this.#bulkSize++;
      }
    }
  }

  /**
   * The calls of the next commit, given out while they are made: it ends after some milliseconds, with one call at
   * least. A commit holds what goes first or bulk writes; while both wait, they take turns. Calls of one owner, and
   * those that go first, stay in their order.
   */
  *take(): Generator<Call, void, undefined> {
    const isFirst = this.#first.length > 0 && !(this.#lastWasFirst && this.#bulkSize > 0);
    this.#lastWasFirst = isFirst;
    const began = this.#now();
    let bytes = 0;
    for (let calls = 0; calls < groupCalls && bytes < groupBytes; calls++) {
      if (calls > 0 && this.#now() - began >= groupMs) return;
      const call = isFirst ? this.#first.shift() : this.#takeBulk();
      if (!call) return;
      if (isIngest(call)) bytes += batchOf(call).bytes;
      yield call;
    }
  }

  #takeBulk(): Call | undefined {
    const taken = this.#bulk.take();
    if (!taken) return undefined;
    this.#bulk.done(taken.owner);
    this.#bulkSize--;
    return taken.item;
  }
}
