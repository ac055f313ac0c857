// The background jobs of notifications: their ids and payloads. Runs none (notification/jobs.ts).
import type { Approval, ApprovalStatus } from '../../approval/record.ts';
import { type Job, notificationQueues } from '../../shared/job.ts';
import type { ToolEntry } from '../../tool/record.ts';
import type { Channel, Delivery } from '../record.ts';

export interface FanOut {
  readonly tenantId: string;
  readonly approvalId: string;
  readonly status: ApprovalStatus;
}

export interface ToolChange {
  readonly tenantId: string;
  /** Of the definition. */
  readonly definitionId: string;
}

export interface DeliveryAttempt {
  readonly tenantId: string;
  readonly id: string;
  readonly run: number;
  /** Attempts before this one. */
  readonly attempts: number;
  /** Number of postponements, because the channel was busy. */
  readonly waits: number;
}

export interface WebhookRegistration {
  readonly tenantId: string;
  readonly channelId: string;
}

/** These jobs fail only when the store or the bus does: they are tried until it is back. */
const patient = { maxAttempts: 1000, backoffMs: 500, longestBackoffMs: 30_000 } as const;

const firstPutOffMs = 500;
const longestPutOffMs = 30_000;

export const fanOutJob = ({ tenantId, id, status }: Approval, now: number): Job => ({
  id: `${tenantId}/${id}/${status}`,
  queue: notificationQueues.fanOut,
  payload: { tenantId, approvalId: id, status } satisfies FanOut,
  runAt: now,
  ...patient,
});

export const toolChangeJob = ({ tenantId, id }: ToolEntry, now: number): Job => ({
  id: `${tenantId}/${id}/tool`,
  queue: notificationQueues.toolChange,
  payload: { tenantId, definitionId: id } satisfies ToolChange,
  runAt: now,
  ...patient,
});

/** The next attempt of a delivery that waits. Adding it twice makes one. */
export const deliveryJob = ({ tenantId, id, run, attempts, nextAt }: Delivery): Job => ({
  id: `${id}/${run}/${attempts}`,
  queue: notificationQueues.deliver,
  payload: { tenantId, id, run, attempts, waits: 0 } satisfies DeliveryAttempt,
  runAt: nextAt ?? 0,
  ...patient,
});

/** The same attempt, later: its channel is busy. @param random in [0, 1) */
export function putOffJob(attempt: DeliveryAttempt, now: number, random: number): Job {
  const waits = attempt.waits + 1;
  const wait = Math.min(longestPutOffMs, firstPutOffMs * 2 ** Math.min(attempt.waits, 10));
  return {
    id: `${attempt.id}/${attempt.run}/${attempt.attempts}/${waits}`,
    queue: notificationQueues.deliver,
    payload: { ...attempt, waits } satisfies DeliveryAttempt,
    runAt: now + Math.round(wait * (0.5 + random / 2)),
    ...patient,
  };
}

export const registrationJob = ({ tenantId, id, revision }: Channel, runAt: number): Job => ({
  id: `${id}/${revision}`,
  queue: notificationQueues.register,
  payload: { tenantId, channelId: id } satisfies WebhookRegistration,
  runAt,
  maxAttempts: 20,
  backoffMs: 5_000,
});
