// Answers that a scrape waits for, within bounds.
import { type Clock, pause } from '../../shared/ports/clock.ts';

/** Until a dependency that does not answer counts as away: a scrape must not wait for it. */
const answerMs = 2_000;

/** Null if the answer is an error or too late. */
export const withinScrape = <T>(clock: Pick<Clock, 'after'>, answer: Promise<T>): Promise<T | null> =>
  Promise.race([answer.catch(() => null), pause(clock, answerMs).then(() => null)]);
