// Removal of old events, in slices that let ingest through: the first ones within a request, the rest as a job
// (event/jobs.ts).

import { noteOf } from '../../audit/note.ts';
import { auditActor } from '../../audit/record.ts';
import { requireRole } from '../../shared/access.ts';
import { dayMs, hourMs } from '../../shared/duration.ts';
import { removalQueues } from '../../shared/job.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Jobs } from '../../shared/ports/jobs.ts';
import { actorName, type Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { EventStore } from '../port.ts';

/** Events that one step of the store removes, at first and at most: other writes wait as long. */
const [leastSlice, mostSlice] = [100, 1000];
/** A step that took longer than this (milliseconds) is followed by one of half as many events. */
const longStepMs = 100;
/** A request removes for so long, in milliseconds; what is left then is removed by a job. */
const maxMs = 10_000;

export interface RemovalParts {
  readonly events: Pick<EventStore, 'removeBefore' | 'removeIdleRuns'>;
  readonly clock: Clock;
}

export interface RemovalLimits {
  /** Asked before each slice; true ends the removal early. */
  readonly stop: () => boolean;
  readonly removed?: (total: number) => Promise<void>;
  /** Ends a rest. */
  readonly signal?: AbortSignal;
}

/**
 * Removes events received before `before` (epoch ms), then the runs that had none since. It rests after each slice for
 * as long as the slice took: at most half of the store's time.
 * @returns how many events, and whether nothing is left
 */
export async function removeInSlices(
  { events, clock }: RemovalParts,
  tenantId: string,
  before: number,
  limits: RemovalLimits,
): Promise<{ readonly deleted: number; readonly complete: boolean }> {
  let deleted = 0;
  let slice = leastSlice;
  let hasEvents = true;
  while (!limits.stop()) {
    const begun = clock.monotonic();
    const request = [tenantId, before, Math.floor(slice)] as const;
    const removed: number = await (hasEvents
      ? events.removeBefore(...request)
      : events.removeIdleRuns(...request));
    if (hasEvents) {
      deleted += removed;
      hasEvents = removed > 0;
    } else if (removed === 0) return { deleted, complete: true };
    await limits.removed?.(deleted);
    const took = clock.monotonic() - begun;
    slice = took > longStepMs ? Math.max(leastSlice, slice / 2) : Math.min(mostSlice, slice * 2);
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
export const removeLater = (
  jobs: Pick<Jobs, 'add'>,
  tenantId: string,
  before: number,
  now: number,
): Promise<void> =>
  jobs.add({
    id: `${tenantId}/${before}`,
    queue: removalQueues.purge,
    payload: { tenantId, before },
    runAt: now,
    maxAttempts: 20,
    longestBackoffMs: 300_000,
  });

export interface Removal {
  readonly removed: number;
  /** Events received before this time are concerned. */
  readonly cutoff: number;
  /** False: more are left, which a job removes. */
  readonly complete: boolean;
}

/** Age of the events that are removed, by their time of receipt. */
export interface RemovalAge {
  readonly unit: 'days' | 'hours';
  /** At least 1. */
  readonly count: number;
}

const ageMs = ({ unit, count }: RemovalAge): number => count * (unit === 'days' ? dayMs : hourMs);

export interface EventRemoval {
  /** Number of events that `remove` would remove. @throws HubError forbidden, search_timeout */
  count(principal: Principal, age: RemovalAge): Promise<Removal>;
  /** Removes for up to 10 s and leaves the rest to a job. @throws HubError forbidden */
  remove(principal: Principal, age: RemovalAge): Promise<Removal>;
}

type Ports = Pick<AppPorts, 'store' | 'jobs' | 'clock' | 'secrets'>;

export const createEventRemoval = (ports: Ports): EventRemoval => ({
  async count(principal, age) {
    requireRole(principal, 'admin');
    const { store, clock } = ports;
    const cutoff = clock.now() - ageMs(age);
    const removed = await store.events.countReceived(principal.tenantId, cutoff);
    return { removed, cutoff, complete: true };
  },

  async remove(principal, age) {
    requireRole(principal, 'admin');
    const { store, jobs, clock } = ports;
    const { tenantId } = principal;
    const now = clock.now();
    const cutoff = now - ageMs(age);
    // Recorded before the first event goes: it is removed in parts, of which none can be taken back.
    await store.audit.append([removalNote(ports, principal, age, cutoff)]);
    const end = clock.monotonic() + maxMs;
    const parts = { events: store.events, clock };
    const { deleted, complete } = await removeInSlices(parts, tenantId, cutoff, {
      stop: () => clock.monotonic() >= end,
    });
    if (!complete) await removeLater(jobs, tenantId, cutoff, now);
    return { removed: deleted, cutoff, complete };
  },
});

function removalNote(ports: Ports, principal: Principal, age: RemovalAge, cutoff: number) {
  const who = actorName(principal.actor);
  return noteOf(ports, principal.tenantId, auditActor(principal), {
    action: 'setting.events_removed',
    subject: { id: 'events', name: 'events' },
    summary: `${who} removes the events that were received before ${new Date(cutoff).toISOString()}.`,
    details: { [`older_than_${age.unit}`]: age.count, cutoff: new Date(cutoff).toISOString() },
  });
}
