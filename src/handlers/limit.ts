// A limit that a handler sets itself, as the answer that its caller gets.
import { HubError } from '../domain/error.ts';
import type { LimitAnswer } from '../ports/limits.ts';

/** @throws HubError rate_limited in these words, with the seconds to wait */
export function orRefuse(answer: LimitAnswer, message: string): void {
  if (!answer.ok) throw new HubError('rate_limited', message, { retryAfter: answer.retryAfter });
}
