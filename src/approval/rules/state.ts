// The state machine of an approval. Pure: time is an argument. Keeps promises P19 and P20.
import { HubError } from '../../shared/error.ts';
import type { Approval, ApprovalAssignee } from '../record.ts';

/** An assignment ends after this time, in milliseconds. */
export const assignmentMs = 30 * 60_000;

/** Person who has taken the approval. Null if nobody has, or if the approval or the assignment has ended. */
export const assigneeOf = (approval: Approval, now: number): ApprovalAssignee | null =>
  approval.status === 'pending' &&
  !isDue(approval, now) &&
  now < (approval.assignee?.since ?? 0) + assignmentMs
    ? approval.assignee
    : null;

/** A decided or expired approval cannot be decided again. */
export const alreadyEnded = (): HubError =>
  new HubError('conflict', 'Approval already decided or timed out.');

/** A pending approval past its deadline is a timed out one, whether or not the sweep has written it yet. */
export const isDue = (approval: Approval, now: number): boolean =>
  approval.status === 'pending' && now >= approval.deadline;

/** The approval as a reader must see it now (lazy expiry). */
export const asSeen = (approval: Approval, now: number): Approval =>
  isDue(approval, now) ? { ...approval, status: 'timeout', decidedVia: 'system' } : approval;
