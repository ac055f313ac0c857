// Approvals: the record and its state machine. Pure: time is an argument. Keeps promises P19 and P20.

import type { JsonObject } from '../contract/record.ts';
import { HubError } from '../shared/error.ts';
import type { Env } from '../shared/ids.ts';

export const approvalStatuses = ['pending', 'approved', 'denied', 'timeout'] as const;
export type ApprovalStatus = (typeof approvalStatuses)[number];
export type TimeoutEffect = 'deny' | 'allow';

export interface Approval {
  readonly id: string;
  readonly tenantId: string;
  readonly status: ApprovalStatus;
  readonly agentId: string;
  readonly toolName: string;
  /** Null also where they were left out: `argsBytes` tells. */
  readonly toolArgs: JsonObject | null;
  /** Bytes of the arguments as JSON; 0 when there are none. */
  readonly argsBytes: number;
  readonly message: string;
  readonly env: Env;
  readonly timeoutSeconds: number;
  readonly timeoutEffect: TimeoutEffect;
  readonly decisionSource: string | null;
  readonly contractName: string | null;
  /** The bundle, or ruleset, that it asks by: said by the agent, else the one that it follows. Null: not known. */
  readonly rulesetName: string | null;
  /** Every contract that asks, in order; null when the agent did not say. */
  readonly contracts: readonly AskingContract[] | null;
  /** On whose behalf the agent calls; what is too large is left out. */
  readonly principal: JsonObject | null;
  readonly sessionId: string | null;
  /** Of the call that is asked for, as its events name it. */
  readonly callId: string | null;
  /** As people read it. */
  readonly decidedBy: string | null;
  /** Distinguishes people with the same name; null for decisions before the hub stored it. */
  readonly decidedBySubject: string | null;
  readonly decidedAt: number | null;
  readonly decisionReason: string | null;
  readonly decidedVia: string | null;
  /** Who has taken a pending approval, as stored: `assigneeOf` returns the person who has it now. */
  readonly assignee: ApprovalAssignee | null;
  readonly createdAt: number;
  /** createdAt + timeout, epoch milliseconds. */
  readonly deadline: number;
}

/** A person who looks after an approval. Advice: others may decide all the same. */
export interface ApprovalAssignee {
  readonly id: string;
  /** Display name. */
  readonly name: string;
  /** Epoch milliseconds. */
  readonly since: number;
}

/** An assignment ends after this time, in milliseconds. */
export const assignmentMs = 30 * 60_000;

/** Who has taken the approval; null: nobody, the approval has ended, or the assignment has. */
export const assigneeOf = (approval: Approval, now: number): ApprovalAssignee | null =>
  approval.status === 'pending' &&
  !isDue(approval, now) &&
  now < (approval.assignee?.since ?? 0) + assignmentMs
    ? approval.assignee
    : null;

/** A contract that asks a person, with what it says. */
export interface AskingContract {
  readonly name: string;
  readonly message: string;
}

/** Bytes. Larger arguments are kept apart from their approval: lists and transitions neither read nor move them. */
export const maxInlineArgs = 4096;
/** Bytes. Larger arguments count in a quota, and are not kept for ever. */
export const largeArgs = 65_536;

export interface Decision {
  /** Unique. A decision that comes a second time, after its answer was lost, is told by it. */
  readonly id: string;
  readonly approved: boolean;
  readonly decidedBy: string;
  /** Absent from a node of an earlier version. */
  readonly decidedBySubject?: string | null;
  readonly reason: string | null;
  readonly decidedVia: string;
}

/** `decidedVia` of a denial by the agent that asked. */
export const withdrawnVia = 'withdrawn';

/** A decided or expired approval cannot be decided again. */
export const alreadyEnded = (): HubError =>
  new HubError('conflict', 'Approval already decided or timed out.');

/** A pending approval past its deadline is a timed out one, whether or not the sweep has written it yet. */
export const isDue = (approval: Approval, now: number): boolean =>
  approval.status === 'pending' && now >= approval.deadline;

/** The approval as a reader must see it now (lazy expiry). */
export const asSeen = (approval: Approval, now: number): Approval =>
  isDue(approval, now) ? { ...approval, status: 'timeout', decidedVia: 'system' } : approval;
