// The refusal of what comes too often, in one place for all use cases.
import { HubError } from '../domain/error.ts';
import type { Limits } from '../ports/limits.ts';

export interface RateLimit {
  /** What is counted: the class of requests and whose they are, for example `approval:<tenant>/<env>/<agent>`. */
  readonly name: string;
  readonly max: number;
  readonly windowMs: number;
  /** What the caller is told. */
  readonly message?: string;
}

/** Counts one request. @throws HubError rate_limited, with the seconds until the next is taken */
export async function enforceLimit(
  limits: Limits,
  { name, max, windowMs, message }: RateLimit,
): Promise<void> {
  const answer = await limits.hit(name, max, windowMs);
  if (answer.ok) return;
  throw new HubError('rate_limited', message ?? 'Too many requests. Please slow down.', {
    retryAfter: answer.retryAfter,
  });
}
