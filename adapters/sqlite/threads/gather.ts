// Calls that a fleet makes thousands of at once when it comes back: those that arrive while one message to the thread
// is under way go in the next one together, and are committed together. Each still succeeds or fails by itself.
import { refusalOf } from '../../../src/admission/admission.ts';
import { admissionTable } from '../../../src/admission/table.ts';
import { createBatcher } from '../../../src/shared/concurrency/batcher.ts';
import { createSharedReads } from '../../../src/shared/concurrency/shared-reads.ts';
import { HubError } from '../../../src/shared/error.ts';
import { errorOf, type Failure } from '../failure.ts';
import { type StoreCall, type StoreName, storeCall } from '../sync.ts';

/** Result of one call among many. */
export type CallResult = readonly [ok: true, value: unknown] | readonly [ok: false, failure: Failure];

type Args = readonly unknown[];

/**
 * Calls that go in one message: half of the streams that a tenant may open at once. So while the thread works on one
 * half of a returning fleet, the event loop works on the other.
 */
const maxTogether = 256;
const [{ waiting: maxWaiting }] = admissionTable.gatheredCalls.bounds;

/**
 * Which methods are gathered. `shared`: calls with the same arguments have the same answer, so it is asked for once.
 */
const gathered: { readonly [C in StoreCall]?: 'each' | 'shared' } = {
  'agents.noteSeen': 'each',
  'agents.report': 'each',
  'rules.list': 'shared',
};

export interface GatherOptions {
  /** Makes all calls in the thread; answers one outcome for each, in order. */
  readonly send: (store: StoreName, method: string, all: readonly Args[]) => Promise<readonly CallResult[]>;
  /** Told of each call that failed. */
  readonly onFailure: (failure: Failure) => void;
}

/** @returns what makes a gathered call; null for a method whose calls are not gathered */
export function gatherCalls({ send, onFailure }: GatherOptions) {
  const lanes = new Map<StoreCall, (args: Args) => Promise<unknown>>();

  /** Null for what answers nothing: a batch must have an answer for each call. */
  const settled = (outcome: CallResult | undefined): unknown => {
    if (outcome?.[0]) return outcome[1] ?? null;
    if (!outcome) return new HubError('internal', 'A call to the store was not answered.');
    onFailure(outcome[1]);
    return errorOf(outcome[1]);
  };

  function lane(store: StoreName, method: string): (args: Args) => Promise<unknown> {
    let waiting = 0;
    const add = createBatcher<Args, unknown>(async (all) => {
      waiting -= all.length;
      return (await send(store, method, all)).map(settled);
    }, maxTogether);
    return (args) => {
      if (waiting >= maxWaiting) return Promise.reject(refusalOf('gatheredCalls'));
      waiting++;
      return add(args);
    };
  }

  /** The same for calls that share an answer. */
  function sharedLane(store: StoreName, method: string): (args: Args) => Promise<unknown> {
    const ask = lane(store, method);
    const shared = createSharedReads((args) => ask(JSON.parse(args)));
    return (args) => shared(JSON.stringify(args));
  }

  return (store: StoreName, method: string, args: Args): Promise<unknown> | null => {
    const name = storeCall(store, method);
    const how = gathered[name];
    if (how === undefined) return null;
    let waitingLane = lanes.get(name);
    if (!waitingLane) {
      waitingLane = how === 'shared' ? sharedLane(store, method) : lane(store, method);
      lanes.set(name, waitingLane);
    }
    return waitingLane(args);
  };
}
