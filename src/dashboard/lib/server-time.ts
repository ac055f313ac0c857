// Estimates the hub's clock from the X-Server-Time of answers. The fastest answer counts most.
import { now } from './browser.ts';

let offset = 0;
let bestMs = Number.POSITIVE_INFINITY;
/** Factor by which the best duration grows with each answer, so that a slower answer can replace an old estimate. */
const forget = 1.05;

/** Updates the estimate: the hub's time is between the request and the answer. */
export function learnServerTime(time: string | null, askedAt: number): void {
  const server = time === null ? Number.NaN : Date.parse(time);
  if (Number.isNaN(server)) return;
  const came = now();
  const tookMs = came - askedAt;
  bestMs *= forget;
  if (tookMs > bestMs) return;
  bestMs = Math.max(1, tookMs);
  offset = server - (askedAt + came) / 2;
}

/** Epoch milliseconds of the hub's clock, or of this machine before the first answer. */
export const serverNow = (): number => now() + offset;
