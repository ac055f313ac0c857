// Background jobs: their limits, their delays after failures, and the end of their attempts. shared/ports/jobs.ts
// stores and runs them.
import { dayMs, hourMs } from './duration.ts';
import { HubError } from './error.ts';
import { isWellFormed } from './ids.ts';

export interface Job {
  /** Unique per queue: adding an id that waits, runs or is dead changes nothing. 1 to 200 characters. */
  readonly id: string;
  /** 1 to 50 of a-z, 0-9, `-` and `_`. */
  readonly queue: string;
  /** A JSON value of at most 64 KiB as text: ids, not contents. */
  readonly payload: unknown;
  /** Epoch milliseconds; not run before. */
  readonly runAt: number;
  /** 1 to 1,000. After as many failed runs the job is dead. */
  readonly maxAttempts: number;
  /** The wait after the first failed run, in milliseconds; doubled after each further one. 1,000 by default. */
  readonly backoffMs?: number;
  /** No wait is longer, but for the jitter; 3,600,000 by default. */
  readonly longestBackoffMs?: number;
}

/** Queues of jobs that remove records. */
export const removalQueues = {
  housekeeping: 'housekeeping',
  /** Removed tenants. A large one takes long: nothing else waits for it. */
  erasing: 'erasing',
  /** Events that a request did not remove in its time. */
  purge: 'purge',
  retention: 'retention',
} as const;

export const notificationQueues = {
  /** Finds the channels of an approval that was asked for or has ended. */
  fanOut: 'notifications',
  /** Finds the channels of a changed tool. */
  toolChange: 'tool-changes',
  /** Makes one attempt of one delivery. */
  deliver: 'deliveries',
  /** Tells the platform of a chat bot where its callbacks go. */
  register: 'registrations',
} as const;

/** The queues that the hub works. */
export const jobQueues = [...Object.values(removalQueues), ...Object.values(notificationQueues)] as const;

/** Thrown by a handler for which trying again is of no use: the job is dead at once. */
export class GiveUp extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'GiveUp';
  }
}

/** Time for which a run holds its job after it was taken or renewed (every third of it), in milliseconds. */
export const jobLeaseMs = 30_000;
/** The same where nodes share the jobs: a job of a node that died is taken up after about two of these. */
export const sharedJobLeaseMs = 10_000;
export const maxLosses = 10;
export const keptDeadJobs = 10_000;

/**
 * The wait after a failed run, in milliseconds: doubled each time up to the longest, and up to a quarter more, so that
 * jobs which failed together do not come again together.
 * @param failures failed runs so far, 1 or more
 * @param random in [0, 1)
 */
export function jobBackoff(
  { backoffMs = 1000, longestBackoffMs = hourMs }: Pick<Job, 'backoffMs' | 'longestBackoffMs'>,
  failures: number,
  random: number,
): number {
  const wait = Math.min(longestBackoffMs, backoffMs * 2 ** Math.min(failures - 1, 40));
  return Math.round(wait * (1 + random / 4));
}

const maxPayload = 64 * 1024;
const maxProgress = 4 * 1024;
const maxReason = 1000;

const wrong = (what: string): HubError => new HubError('internal', `A job cannot be stored: ${what}.`);
const between = (value: number, min: number, max: number): boolean =>
  Number.isSafeInteger(value) && value >= min && value <= max;

/** JSON text of a value within a bound. @throws HubError('internal') */
function textOf(value: unknown, what: string, max: number): string {
  const text = JSON.stringify(value ?? null);
  if (text === undefined || text.length > max)
    throw wrong(`its ${what} is not a JSON value with at most ${max} characters`);
  return text;
}

/** As a kept value is read again. @throws HubError('internal') when it is too large or no JSON value */
export const jobProgress = (value: unknown): unknown => JSON.parse(textOf(value, 'progress', maxProgress));

/**
 * The job with every setting, its payload as it will be read.
 * @throws HubError('internal') for one outside the bounds
 */
export function checkedJob(job: Job): Required<Job> {
  const { id, queue, runAt, maxAttempts, backoffMs = 1000, longestBackoffMs = hourMs } = job;
  if (id.length < 1 || id.length > 200 || !isWellFormed(id))
    throw wrong('its id must have 1 to 200 characters');
  if (!/^[a-z0-9_-]{1,50}$/.test(queue)) throw wrong('its queue is not a valid name');
  if (!between(runAt, 0, Number.MAX_SAFE_INTEGER)) throw wrong('its time is not valid');
  if (!between(maxAttempts, 1, 1000)) throw wrong('its attempts must be 1 to 1,000');
  if (!between(backoffMs, 1, longestBackoffMs) || !between(longestBackoffMs, 1, 30 * dayMs)) {
    throw wrong('its waits are out of range');
  }
  const payload = JSON.parse(textOf(job.payload, 'payload', maxPayload));
  return { id, queue, payload, runAt, maxAttempts, backoffMs, longestBackoffMs };
}

/** The stored reason of a failure: its message, cut. */
export const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message || error.name : String(error)).slice(0, maxReason);
