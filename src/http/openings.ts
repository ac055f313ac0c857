// How many streams are opened at once. A fleet that comes back asks for thousands in one moment: each waits its turn
// here, without a timer in an actor that would refuse it.

import { createSemaphores } from '../shared/concurrency/semaphore.ts';
import { HubError } from '../shared/error.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { Caller } from './contract/call.ts';

/** Of a tenant. */
const maxAtOnce = 512;
/** More than a process has descriptors for. */
const maxWaiting = 100_000;
const maxWaitMs = 30_000;

/** Opens a stream when it is the caller's turn. @throws HubError overloaded after 30 s, or what `open` throws */
export type Openings = <T>(caller: Caller, open: () => Promise<T>) => Promise<T>;

export const tooManyOpenings = (): HubError =>
  new HubError('overloaded', 'Too many streams open at once. Try again shortly.', { retryAfter: 1 });

export function createOpenings(clock: Clock): Openings {
  const ofTenant = createSemaphores({
    max: maxAtOnce,
    maxWaiting,
    maxWait: { ms: maxWaitMs, clock },
    refusal: tooManyOpenings,
  });
  return (caller, open) => ('tenantId' in caller ? ofTenant(caller.tenantId, open) : open());
}
