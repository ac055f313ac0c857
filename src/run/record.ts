// A run's fields: the summary of an agent's events in one session, and their form in an agent's snapshot.
import { z } from 'zod';
import { approvalFields } from '../approval/record.ts';
import type { JsonObject } from '../contract/record.ts';
import { decisionClass } from '../event/record/decision-class.ts';
import type { DecisionClass } from '../event/record/words.ts';
import type { Env } from '../shared/ids.ts';
import { isMapping } from '../shared/json/mapping.ts';
import { field, instant, json, type RecordOf, record, type StoredOf } from '../shared/record.ts';
import { env } from '../shared/schemas.ts';

export interface RunKey {
  readonly agentId: string;
  readonly sessionId: string;
}

/** Place of a run in the list. */
export interface RunPlace extends RunKey {
  readonly lastActivityAt: number;
}

/** The place of an event among those of its run: by the agent's clock, then the index of the call, then arrival. */
export interface Moment {
  /** Epoch milliseconds of the agent's clock. */
  readonly at: number;
  readonly index: number;
  /** Order of arrival. */
  readonly seq: number;
  /** Of the event, where the store cannot derive it from `seq`. */
  readonly id?: string;
}

export interface RunEvent extends Moment {
  readonly action: string;
  readonly toolName: string;
  readonly decisionName: string | null;
  readonly mode: string;
}

/** The first decision on a call, or a later event that can change it. */
export type CallStep =
  | 'allowed'
  | 'denied'
  | 'asked'
  | 'wouldDeny'
  | 'granted'
  | 'refused'
  | 'expired'
  | 'deniedLater'
  | 'wouldDenyLater';

/** Events by step. Absent members are 0. */
export type CallSteps = { readonly [S in CallStep]?: number };

/** A part of a run's facts that may be of another environment than its newest event. */
interface OfEnv {
  /** Absent: that of the facts. */
  readonly env?: Env;
}

/** Facts from the events of a run, without those that depend on the time or on approvals. */
export interface RunFacts {
  readonly env: Env;
  /** The earliest time of its events. */
  readonly startedAt: number;
  /** The latest, none later than 5 minutes after it was received. */
  readonly lastAt: number;
  /** The highest place in the order of arrival that is counted. */
  readonly appliedSeq: number;
  /** Of the newest event. */
  readonly runId: string | null;
  readonly parentSessionId: string | null;
  readonly last: RunEvent;
  /** The newest event that is not the workflow's. */
  readonly lastDecision: RunEvent | null;
  /** The newest event that is. */
  readonly lastWorkflow: RunEvent | null;
  /** The snapshot of the newest event that carries one. */
  readonly snapshot: (Moment & OfEnv & { readonly value: JsonObject }) | null;
  /** The newest document that an event names as its judge. */
  readonly version: (Moment & OfEnv & { readonly policyVersion: string }) | null;
  /** Events by class. */
  readonly counts: { readonly [C in DecisionClass]?: number };
  /** Events that began a call: allowed, blocked, asked for, or let through by a guard that only observes. */
  readonly calls: number;
  /** Absent if the steps of a part of these facts are unknown. */
  readonly steps?: CallSteps;
}

/** A reported decision. */
export interface ReportedDecision {
  readonly env: Env;
  readonly rule: string | null;
  readonly toolName: string;
  readonly callId: string | null;
  /** ISO 8601, by the agent's clock. */
  readonly reportedAt: string;
  readonly keyId: string | null;
}

/** The details of a decision by their names in the audit chain; written out, because `snakeKeys` lists each field. */
export const decisionDetails = ({ env, rule, toolName, callId, reportedAt, keyId }: ReportedDecision) => ({
  env,
  rule,
  tool_name: toolName,
  call_id: callId,
  reported_at: reportedAt,
  key_id: keyId,
});

/** A run's state by its events alone, whatever the time. `asking`: its workflow waits for a person. */
const standing = z.enum(['asking', 'completed', 'blocked', 'open']);
export type RunStanding = z.output<typeof standing>;

export const runStatuses = ['active', 'approval_pending', 'blocked', 'completed', 'stale'] as const;
export const runStatus = z.enum(runStatuses);
export type RunStatus = z.output<typeof runStatus>;

/** A client's snapshot of its workflow, with the fields that the hub reads. */
const workflowFields = {
  name: field(z.string()),
  version: field(z.string().nullable()),
  /** Empty: the workflow is over. */
  activeStage: field(z.string()),
  completedStages: field(z.array(z.string())),
  blockedReason: field(z.string().nullable()),
  pendingApproval: field(z.record(z.string(), z.unknown())),
};
export const workflowRecord = record('workflows', workflowFields);
export interface WorkflowSnapshot extends RecordOf<typeof workflowFields> {
  /** As it was sent. */
  readonly whole: JsonObject;
}

/**
 * Reads a snapshot; null when it has not the four keys that make one (a client that failed to build one sends what it
 * has). Each stored event is read, so its fields are renamed without a copy.
 */
export function readSnapshot(value: unknown): WorkflowSnapshot | null {
  if (!isMapping(value)) return null;
  const { name, version, active_stage, completed_stages, blocked_reason, pending_approval } = value;
  if (typeof name !== 'string' || typeof active_stage !== 'string') return null;
  if (!Array.isArray(completed_stages) || !isMapping(pending_approval)) return null;
  return {
    name,
    version: typeof version === 'string' ? version : null,
    activeStage: active_stage,
    completedStages: completed_stages.filter((stage) => typeof stage === 'string'),
    blockedReason: typeof blocked_reason === 'string' && blocked_reason !== '' ? blocked_reason : null,
    pendingApproval: pending_approval,
    whole: value,
  };
}

const lastEventFields = {
  id: field(z.string().nullable()),
  action: field(z.string()),
  decision: field(decisionClass),
  toolName: field(z.string()),
  decisionName: field(z.string().nullable()),
  timestamp: field(instant),
};
export const lastEventRecord = record('events', lastEventFields);

const count = z.number().int();
const countFields = {
  events: field(count),
  /** Calls that began: allowed, blocked or asked for. */
  calls: field(count),
  allowed: field(count),
  blocked: field(count),
  asking: field(count, { name: 'asked' }),
  wouldBlock: field(count),
  timedOut: field(count),
  failed: field(count),
  warned: field(count),
};
export const runCountRecord = record('counts', countFields);

const outcomeFields = {
  allowed: field(count),
  denied: field(count),
  /** Nobody has decided yet. */
  asking: field(count, { name: 'asked' }),
  wouldDeny: field(count),
  /** With either effect of the timeout. */
  expired: field(count),
};
/** Calls by their last decision. */
export type CallOutcomes = RecordOf<typeof outcomeFields>;
export const callOutcomeRecord = record('outcomes', outcomeFields);

/** The fields of an approval that its run contains. */
export const pendingApprovalRecord = record('approvals', {
  id: approvalFields.id,
  toolName: approvalFields.toolName,
  ruleName: field(z.string()),
  message: approvalFields.message,
  createdAt: approvalFields.createdAt,
  deadline: approvalFields.deadline,
});

/** Follows from the other fields, from approvals or from the time. */
const derived = { stored: false } as const;
const nullableText = z.string().nullable();
const hidden = { wire: false } as const;

const runFields = {
  agentId: field(z.string(), { column: 'agent' }),
  sessionId: field(z.string(), { column: 'session' }),
  /** Of the newest event: a session may hold several. */
  runId: field(nullableText, derived),
  parentSessionId: field(nullableText, derived),
  env: field(env, { hosted: { name: 'environment', schema: z.string() } }),
  status: field(runStatus, derived),
  workflow: field(workflowRecord.reply('hosted', 'list').nullable(), { ...derived, shorten: 'list' }),
  rulesetName: field(nullableText, derived),
  rulesetVersion: field(count.nullable(), derived),
  /** Also where no ruleset of the workspace has this hash. */
  policyVersion: field(nullableText, derived),
  startedAt: field(instant),
  /** The latest of its events (none later than 5 minutes after receipt) and of what became of its approvals. */
  lastAt: field(instant, { name: 'last_activity_at' }),
  lastEvent: field(lastEventRecord.reply('hosted', 'list').nullable(), derived),
  /** The one that has waited longest. */
  pendingApproval: field(pendingApprovalRecord.reply('hosted', 'list').nullable(), derived),
  pendingApprovalCount: field(count, derived),
  counts: field(runCountRecord.reply('hosted', 'list'), derived),
  /** Calls by their last decision. Null if the outcomes of a part of the run are unknown. */
  callOutcomes: field(callOutcomeRecord.reply('hosted', 'list').nullable(), derived),
  /** True for the sample run. */
  sample: field(z.boolean()),
  tenantId: field(z.string(), hidden),
  receivedAt: field(instant, hidden),
  standing: field(standing, hidden),
  /** Retention or a purge removed events or approvals of it. */
  isTrimmed: field(z.boolean(), { column: 'trimmed', wire: false }),
  /** Null while there are approvals alone. */
  facts: field(json<RunFacts, z.ZodUnknown>(z.unknown()).nullable(), hidden),
};

export const runRecord = record('runs', runFields);
export type StoredRun = StoredOf<typeof runFields>;

const sampleRunFields = {
  agentId: field(z.string()),
  sessionId: field(z.string()),
  runId: field(z.string()),
  rulesetName: field(z.string()),
  approvalId: field(z.string()),
};
export type SampleRun = RecordOf<typeof sampleRunFields>;
export const sampleRunRecord = record('sample_runs', sampleRunFields);
