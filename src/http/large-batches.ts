// How many large batches of events are taken at once. Each is read in many turns of the event loop: without a bound all
// of a burst would be answered together, after the time that all of them take.

import { createSemaphores, type RefusingOptions } from '../shared/concurrency/semaphore.ts';
import { HubError } from '../shared/error.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { Caller } from './contract/call.ts';

/** Bytes of a body that waits for nobody. */
const smallBytes = 256 * 1024;
const maxWaitMs = 10_000;

/**
 * Takes a batch when it is the caller's turn; a small one at once.
 * @param bytes of its body
 * @throws HubError overloaded after 10 s, before anything of the batch is stored; or what `take` throws
 */
export type LargeBatches = <T>(caller: Caller, bytes: number, take: () => Promise<T>) => Promise<T>;

export function createLargeBatches(clock: Clock): LargeBatches {
  const shared: Pick<RefusingOptions, 'maxWaiting' | 'maxWait' | 'refusal'> = {
    // More than fit into the memory for bodies.
    maxWaiting: 4_000,
    maxWait: { ms: maxWaitMs, clock },
    refusal: () =>
      new HubError(
        'overloaded',
        'The hub receives too many large batches. It stored nothing from this batch. Send it again.',
        {
          retryAfter: 2,
        },
      ),
  };
  const ofTenant = createSemaphores({ max: 4, ...shared });
  const ofNode = createSemaphores({ max: 16, ...shared });

  return (caller, bytes, take) =>
    bytes > smallBytes && 'tenantId' in caller ? ofTenant(caller.tenantId, () => ofNode('', take)) : take();
}
