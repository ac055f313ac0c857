// Workflow snapshots: how far an agent's workflow has come, as the agent says it. The hub holds no workflow
// definitions. Pure.
import type { JsonObject } from '../../contract/record.ts';

/** A client's snapshot, with the fields that the hub reads. */
export interface WorkflowSnapshot {
  readonly name: string;
  readonly version: string | null;
  /** Empty: the workflow is over. */
  readonly activeStage: string;
  readonly completedStages: readonly string[];
  readonly blockedReason: string | null;
  readonly pendingApproval: JsonObject;
  /** As it was sent. */
  readonly whole: JsonObject;
}

/** The stage whose name says that the workflow is over. */
const lastStage = 'done';

const isMapping = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Reads a snapshot; null when it has not the four keys that make one (a client that failed to build one sends what it
 * has).
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

/** The workflow waits for a person. */
export const asksForApproval = ({ pendingApproval }: WorkflowSnapshot): boolean =>
  pendingApproval.required === true;

/** The workflow came to its end. */
export const isOver = ({ activeStage, completedStages }: WorkflowSnapshot): boolean =>
  (activeStage === '' || activeStage === lastStage) && completedStages.length > 0;
