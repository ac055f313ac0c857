// Records that the hub clears away by itself, as jobs: expired logins, values and Idempotency-Keys, agents not seen for
// long, large arguments of old approvals, the remains of a purge, and records past their retention. Any node may run
// the jobs. Keeps promise P33.
import { dayOf } from '../assistant/record.ts';
import { workPurges } from '../event/jobs.ts';
import { dayMs, hourMs, minuteMs } from '../shared/duration.ts';
import { removalQueues } from '../shared/job.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { JobHandler, Jobs } from '../shared/ports/jobs.ts';
import type { Log } from '../shared/ports/log.ts';
import type { Store } from '../shared/ports/store.ts';
import { workRetention } from '../tenant/jobs.ts';
import type { RecordRetention } from '../tenant/use-cases/retention.ts';
import { eraseDuty, removeTenantRecords } from '../tenant/use-cases/tenants.ts';
import { unseenToolMs } from '../tool/use-cases/observations.ts';
import { familiarMs } from '../user/record.ts';

type Kept = Pick<
  Store,
  | 'logins'
  | 'values'
  | 'agents'
  | 'agentStreams'
  | 'events'
  | 'approvals'
  | 'audit'
  | 'aiUsage'
  | 'idempotency'
  | 'operatorTokens'
  | 'serviceAccounts'
  | 'tools'
  | 'tenantRecords'
>;

export interface HousekeepingParts {
  readonly store: Kept;
  /** Signs the heads of audit chains that grew. */
  readonly signHeads: () => Promise<number>;
  /** Takes away a slice of the audit chains' links that are older than is kept; returns how many. */
  readonly retainAudit: () => Promise<number>;
  readonly retention: Pick<RecordRetention, 'plan' | 'apply'>;
  /** Days after which large arguments of approvals are dropped; 0 keeps them. */
  readonly largeArgsDays: number;
  readonly clock: Clock;
  readonly log: Log;
}

interface Duty {
  readonly name: string;
  readonly everyMs: number;
  /** One step, bounded; returns how many were removed. Repeated until 0. */
  readonly steps: readonly ((now: number) => Promise<number>)[];
}

/**
 * Registrations without an explicit assignment are retired, and later forgotten, when they were not seen for so long.
 */
export const idleMs = 7 * dayMs;
export const unseenMs = 90 * dayMs;

const { housekeeping: queue, erasing } = removalQueues;
const queueOf = (duty: string): string => (duty === eraseDuty ? erasing : queue);
const batch = 1000;
/** Records that may be as large as a body. */
const fewer = 20;
const attempts = 5;
/** Days of which it is kept what AI assistance used. */
const aiUsageDays = 366;

/** Streams of agents are remembered so long. */
const pastStreamMs = 7 * dayMs;

/** Expired tokens of service accounts are listed so long. */
const expiredTokenMs = 30 * dayMs;

const dutiesOf = (
  {
    logins,
    values,
    agents,
    agentStreams,
    approvals,
    audit,
    aiUsage,
    idempotency,
    operatorTokens,
    serviceAccounts,
    tools,
  }: Kept,
  argsDays: number,
): readonly Duty[] => [
  {
    name: 'expired',
    everyMs: minuteMs,
    steps: [
      // These two take all at once: a second time finds none.
      (now) => logins.removeExpired(now),
      (now) => logins.removeNetworks(now - familiarMs),
      (now) => values.removeExpired(now, batch),
      (now) => idempotency.removeExpired(now, batch),
      (now) => operatorTokens.removeExpired(now, batch),
      (now) => serviceAccounts.removeExpiredTokens(now - expiredTokenMs, batch),
    ],
  },
  { name: 'audit', everyMs: minuteMs, steps: [(now) => audit.recover(now - minuteMs, batch)] },
  {
    name: 'unseen',
    everyMs: dayMs,
    steps: [
      (now) => agents.removeBefore(now - unseenMs, batch),
      (now) => tools.removeBefore(now - unseenToolMs, batch),
      // All at once: a second time finds none.
      (now) => aiUsage.removeBefore(dayOf(now - aiUsageDays * dayMs)),
    ],
  },
  {
    name: 'idle',
    everyMs: hourMs,
    steps: [
      (now) => agents.retire(now - idleMs, now, batch),
      (now) => agentStreams.removeBefore(now - pastStreamMs, batch),
      (now) => agents.removeLeftOut(Math.floor(now / hourMs) - 1),
    ],
  },
  {
    name: 'large-arguments',
    everyMs: hourMs,
    steps: argsDays === 0 ? [] : [(now) => approvals.removeLargeArgs(now - argsDays * dayMs, fewer)],
  },
];

/**
 * Begins to work the queues and to plan: a duty's next turn is one job, whichever and however many nodes plan it. A
 * turn that was missed while no hub ran is made up for at the start. A turn that fails five times is left to the next
 * one.
 */
export function startHousekeeping(jobs: Jobs, parts: HousekeepingParts): { stop(): void } {
  const { store, clock, log } = parts;
  const duties = [
    ...dutiesOf(store, parts.largeArgsDays),
    { name: eraseDuty, everyMs: minuteMs, steps: [() => removeTenantRecords(store, jobs, clock)] },
    { name: 'audit-heads', everyMs: hourMs, steps: [parts.signHeads] },
    { name: 'audit-retention', everyMs: hourMs, steps: [parts.retainAudit] },
    { name: 'retention', everyMs: hourMs, steps: [() => parts.retention.plan()] },
  ];

  const handler: JobHandler = async ({ payload, signal, attempt, maxAttempts }) => {
    const duty = duties.find(({ name }) => name === payload);
    try {
      for (const step of duty?.steps ?? []) {
        while (!signal.aborted && (await step(clock.now())) > 0);
      }
    } catch (err) {
      if (attempt < maxAttempts) throw err;
      log.error({ err, duty: payload }, 'a housekeeping task failed; its next run retries');
    }
    if (signal.aborted) throw new Error('interrupted');
  };

  const plan = async (due: (slot: number) => number): Promise<void> => {
    const now = clock.now();
    for (const { name, everyMs } of duties) {
      const slot = due(Math.floor(now / everyMs));
      const runAt = slot * everyMs;
      await jobs.add({
        id: `${name}/${slot}`,
        queue: queueOf(name),
        payload: name,
        runAt,
        maxAttempts: attempts,
      });
    }
  };
  let stopped = false;
  const planned = (due: (slot: number) => number): void => {
    plan(due).catch((err: unknown) => {
      // A hub that stops right after its start closes the store while its duties are planned.
      if (!stopped) log.warn({ err }, 'cannot schedule housekeeping; retrying shortly');
    });
  };

  jobs.work(queue, handler);
  jobs.work(erasing, handler);
  workPurges(jobs, { events: store.events, clock });
  workRetention(jobs, parts.retention);
  planned((slot) => slot);
  // Planned before its time comes, a turn cannot be planned again after it was done.
  const timer = clock.every(minuteMs / 2, () => planned((slot) => slot + 1));
  return {
    stop() {
      stopped = true;
      timer.cancel();
    },
  };
}
