// Longest life of a stream: about an hour, and not longer than its caller's API key or token.
import { hourMs } from '../../shared/duration.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { StreamCaller } from '../contract/stream.ts';

/** Spread, so that streams that opened together do not end together. */
const ageJitter = 0.1;

/** From now on, in milliseconds. */
export function lifeMs(caller: StreamCaller, clock: Pick<Clock, 'now' | 'random'>): number {
  const expiresAt = caller.kind === 'user' ? (caller.service?.expiresAt ?? null) : caller.expiresAt;
  const age = hourMs * (1 - ageJitter + 2 * ageJitter * clock.random());
  return Math.min(age, (expiresAt ?? Number.POSITIVE_INFINITY) - clock.now());
}
