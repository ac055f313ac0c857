// How many answers are made from what is stored at once. Each holds up to 4 MiB several times over while it is made,
// and a burst of them would come back from the store in one turn of the event loop.

import { createSemaphores, type RefusingOptions } from '../shared/concurrency/semaphore.ts';
import { HubError } from '../shared/error.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { Caller } from './contract/call.ts';

const maxWaitMs = 10_000;

/**
 * Makes an answer to a caller when it is its turn.
 * @throws HubError overloaded when too many wait, or after 10 s; or what `make` throws
 */
export type Reads = <T>(caller: Caller, make: () => Promise<T>) => Promise<T>;

export function createReads(clock: Clock): Reads {
  const shared: Pick<RefusingOptions, 'maxWait' | 'refusal'> = {
    maxWait: { ms: maxWaitMs, clock },
    refusal: () =>
      new HubError('overloaded', 'Too many reads run at once. Try again shortly.', { retryAfter: 1 }),
  };
  const ofTenant = createSemaphores({ max: 16, maxWaiting: 4_000, ...shared });
  const ofNode = createSemaphores({ max: 64, maxWaiting: 4_000, ...shared });

  return (caller, make) =>
    'tenantId' in caller ? ofTenant(caller.tenantId, () => ofNode('', make)) : make();
}
