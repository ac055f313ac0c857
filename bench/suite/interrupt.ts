// The end of the suite by a signal: processes end first. Then their data is removed from servers that stay.
import { setTimeout as delay } from 'node:timers/promises';

/** Milliseconds that removals can take. */
const removalMs = 10_000;
/** A terminal and npm both send the signal of one Ctrl-C. */
const repeatMs = 1000;

const processEnds = new Set<() => unknown>();
const removals = new Set<() => Promise<void>>();
let interruptedAt: number | null = null;

export const isInterrupted = (): boolean => interruptedAt !== null;

/**
 * @param end called before any removal, which waits until it resolves; may be called again later
 * @returns withdraws it
 */
export function onInterrupt(end: () => unknown): () => void {
  processEnds.add(end);
  return () => void processEnds.delete(end);
}

/** @param remove removes what outlives this process @returns withdraws it */
export function removeOnInterrupt(remove: () => Promise<void>): () => void {
  removals.add(remove);
  return () => void removals.delete(remove);
}

async function end(code: number): Promise<void> {
  const now = performance.now();
  if (interruptedAt !== null && now - interruptedAt < repeatMs) return;
  if (interruptedAt !== null || removals.size === 0) process.exit(code);
  interruptedAt = now;
  process.stderr.write('Removing what this run has stored. A second Ctrl-C ends it at once.\n');
  const limit = new AbortController();
  // A process that still ends would store again what is removed.
  const results = Promise.allSettled([...processEnds].map((endProcess) => endProcess())).then(() =>
    Promise.allSettled([...removals].map((remove) => remove())),
  );
  await Promise.race([results, delay(removalMs, null, { signal: limit.signal })]);
  limit.abort();
  process.exit(code);
}

/** Has SIGINT and SIGTERM end this process. Hubs and temporary folders go with it. */
export function endBySignals(): void {
  process.on('SIGINT', () => void end(130));
  process.on('SIGTERM', () => void end(143));
}
