// Removal of old events, in slices that let ingest through: the first ones within a request, the rest as a job. Decides no cutoff.
import type { Clock } from '../ports/clock.ts';
import type { EventStore } from '../ports/events.ts';
import type { JobHandler, Jobs } from '../ports/jobs.ts';

/** Events that one step of the store removes: other writes wait as long. */
const slice = 1000;
const queue = 'purge';

export interface PurgeParts {
  readonly events: Pick<EventStore, 'purge'>;
  readonly clock: Clock;
}

export interface PurgeLimits {
  /** Asked before each slice; true ends the removal early. */
  readonly stop: () => boolean;
  readonly removed?: (total: number) => Promise<void>;
  /** Ends a rest. */
  readonly signal?: AbortSignal;
}

/**
 * Removes events received before `before` (epoch ms), resting after each slice for as long as it took: at most half of the store's time.
 * @returns how many, and whether none is left
 */
export async function purgeSlices(
  { events, clock }: PurgeParts,
  tenantId: string,
  before: number,
  limits: PurgeLimits,
): Promise<{ readonly deleted: number; readonly complete: boolean }> {
  let deleted = 0;
  while (!limits.stop()) {
    const begun = clock.monotonic();
    const removed = await events.purge(tenantId, before, slice);
    if (removed === 0) return { deleted, complete: true };
    deleted += removed;
    await limits.removed?.(deleted);
    const took = clock.monotonic() - begun;
    if (took >= 1 && !limits.stop()) await rest(clock, took, limits.signal);
  }
  return { deleted, complete: false };
}

function rest(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = clock.after(ms, end);
    signal?.addEventListener('abort', end);
  });
}

/** Leaves what is left of a removal to a job; asking again for the same one changes nothing. */
export const purgeLater = (
  jobs: Pick<Jobs, 'add'>,
  tenantId: string,
  before: number,
  now: number,
): Promise<void> =>
  jobs.add({
    id: `${tenantId}/${before}`,
    queue,
    payload: { tenantId, before },
    runAt: now,
    maxAttempts: 20,
    longestBackoffMs: 300_000,
  });

const purgeJob =
  (parts: PurgeParts): JobHandler =>
  async ({ payload, signal, progress }) => {
    const { tenantId, before } = payload as { readonly tenantId: string; readonly before: number };
    const { complete } = await purgeSlices(parts, tenantId, before, {
      stop: () => signal.aborted,
      signal,
      removed: (deleted) => progress({ deleted }),
    });
    // Interrupted, not failed: it goes on where it was, because what is removed is removed.
    if (!complete) throw new Error('interrupted');
  };

/** Makes this node remove what `purgeLater` left, one tenant at a time. */
export const workPurges = (jobs: Jobs, parts: PurgeParts): void => jobs.work(queue, purgeJob(parts));
