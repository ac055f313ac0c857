// How many connections this process may hold: its descriptors, without those that everything else needs.
import { readFileSync } from 'node:fs';

/** Kept for the store, worker threads, other services and back-ups: a quarter of few, this many of many. */
const kept = 512;

/** @param limits the text of /proc/self/limits; read by default. Infinite where the system has no such text */
export function maxConnections(limits: string = ownLimits()): number {
  const soft = /^Max open files +(\d+)/m.exec(limits)?.[1];
  if (soft === undefined) return Number.POSITIVE_INFINITY;
  const all = Number(soft);
  return all - Math.min(kept, Math.ceil(all / 4));
}

function ownLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return '';
  }
}
