// The hub's clock as this browser knows it: from the Date headers of answers, which name whole seconds. Each answer narrows it down.
import { now } from './browser.ts';

let low = Number.NEGATIVE_INFINITY;
let high = Number.POSITIVE_INFINITY;

/** Learns from an answer: its Date lies between when it was asked for and when it came. */
export function learnServerTime(date: string | null, askedAt: number): void {
  const second = date === null ? Number.NaN : Date.parse(date);
  if (Number.isNaN(second)) return;
  const from = second - now();
  const to = second + 999 - askedAt;
  // A clock that was set since: what was known counts no more.
  if (from > high || to < low) [low, high] = [from, to];
  else [low, high] = [Math.max(low, from), Math.min(high, to)];
}

/** Epoch milliseconds by the hub's clock; this machine's while no answer told. */
export const serverNow = (): number => now() + (Number.isFinite(low) ? (low + high) / 2 : 0);
