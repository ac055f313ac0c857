// The hub's clock as this browser knows it: from the X-Server-Time of answers, the one that came quickest counting
// most.
import { now } from './browser.ts';

let offset = 0;
let bestMs = Number.POSITIVE_INFINITY;
/** What is known grows old: a slower answer counts again after it was asked so often. */
const forget = 1.05;

/** Learns from an answer: the hub's time lies between when it was asked for and when it came. */
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

/** Epoch milliseconds by the hub's clock; this machine's while no answer told. */
export const serverNow = (): number => now() + offset;
