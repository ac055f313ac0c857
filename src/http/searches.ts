// How many searches run at once. A search may read much of what a tenant has stored, and the store does little else
// meanwhile. Keeps promise P42.

import { callerNames } from '../admission/caller-name.ts';
import { createSemaphores, type RefusingOptions } from '../shared/concurrency/semaphore.ts';
import { HubError } from '../shared/error.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { Caller } from './contract/call.ts';

const maxWaitMs = 2000;

/**
 * Runs a search of a caller when it is its turn.
 * @throws HubError rate_limited when too many wait, or after 2 s; or what the search throws
 */
export type Searches = <T>(caller: Caller, search: () => Promise<T>) => Promise<T>;

export function createSearches(clock: Clock): Searches {
  const shared: Pick<RefusingOptions, 'maxWait' | 'refusal'> = {
    maxWait: { ms: maxWaitMs, clock },
    refusal: () =>
      new HubError('rate_limited', 'Too many searches run at once. Wait for one to end, then repeat.', {
        retryAfter: 1,
      }),
  };
  const ofUser = createSemaphores({ max: 4, maxWaiting: 16, ...shared });
  const ofAgent = createSemaphores({ max: 2, maxWaiting: 4, ...shared });
  // Agents choose their ids: what all of a tenant's callers may do together bounds what they take from other tenants.
  const ofTenant = createSemaphores({ max: 16, maxWaiting: 64, ...shared });

  return (caller, search) => {
    if (!('tenantId' in caller)) return search();
    const together = () => ofTenant(caller.tenantId, search);
    return caller.kind === 'key' || caller.kind === 'hostedKey'
      ? ofAgent(callerNames.searchesOfAgent(caller), together)
      : ofUser(callerNames.requestsOf(caller) ?? '', together);
  };
}
