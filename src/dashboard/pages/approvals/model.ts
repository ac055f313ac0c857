// State of approvals in the queue: time left, decider, and decisions in progress.
import { sample } from '../../../run/rules/sample.ts';
import { ApiError, call, type Reply } from '../../lib/api.ts';
import { now } from '../../lib/browser.ts';
import { signedInEmail } from '../../lib/me.ts';
import { refresh } from '../../lib/query.ts';
import { createStore } from '../../lib/store.ts';
import { visible } from '../../lib/text.ts';
import { maxRemembered, withNewest } from './remembered.ts';

export type Approval = Reply<'listApprovals'>[number];

/** True for the sample run's approval, which the hub's figures leave out. */
export const isOfSample = ({ agent_id: agent, session_id: session }: Approval): boolean =>
  agent === sample.agentId && session === sample.sessionId;

/** Epoch milliseconds by the hub's clock. */
export const deadlineOf = ({ created_at, timeout_seconds }: Approval): number =>
  Date.parse(created_at) + timeout_seconds * 1000;

/** The status from a decision in this tab, else from the list. */
export const statusOf = (
  { id, status }: Approval,
  decisionsById: ReadonlyMap<string, Decision>,
): Approval['status'] => {
  const decision = decisionsById.get(id);
  return decision?.state === 'decided' ? decision.approval.status : status;
};

/** Approvals whose arguments were visible to their end in this tab. Only these can be approved. */
export const readApprovals = createStore<ReadonlySet<string>>(new Set());

export function markRead(id: string): void {
  if (!readApprovals.get().has(id))
    readApprovals.set((before) => new Set([...before, id].slice(-maxRemembered)));
}

export const lateReason = 'The time limit has passed. The hub is closing this approval.';

export const unreadReason = 'To approve, first read the arguments to the end.';

/** Sorts the most urgent approval first. */
export const byDeadline = (a: Approval, b: Approval): number => deadlineOf(a) - deadlineOf(b);

/** A decision in this tab, before the list contains it. */
export type Decision =
  /** `sentAt`: epoch milliseconds of this machine. */
  | { readonly state: 'sending'; readonly approved: boolean; readonly sentAt: number }
  | { readonly state: 'decided'; readonly approval: Approval; readonly mine: boolean }
  | {
      readonly state: 'failed';
      readonly approved: boolean;
      readonly reason: string;
      readonly error: ApiError;
    };

export const decisions = createStore<ReadonlyMap<string, Decision>>(new Map());

const know = (id: string, decision: Decision): void =>
  decisions.set((before) => withNewest(before, id, decision));

/** Sends a decision, then reloads the list. */
export async function decide(id: string, approved: boolean, reason: string): Promise<Decision> {
  const decision = await sendDecision(id, approved, reason);
  refreshQueue();
  return decision;
}

const refreshQueue = (): void => refresh(['listApprovals', 'statsOverview']);

/**
 * Sends a decision. After a 409, another person decided first, or the approval ended: the reloaded one shows
 * which.
 */
async function sendDecision(id: string, approved: boolean, reason: string): Promise<Decision> {
  const before = decisions.get().get(id);
  if (before && before.state !== 'failed') return before;
  know(id, { state: 'sending', approved, sentAt: now() });
  let decision: Decision;
  try {
    const body = { approved, decided_via: 'dashboard', ...(reason === '' ? {} : { reason }) };
    decision = {
      state: 'decided',
      approval: await call('decideApproval', { params: { approval_id: id }, body }),
      mine: true,
    };
  } catch (failure) {
    const error = failure instanceof ApiError ? failure : new ApiError(0, 'unknown', String(failure), null);
    decision = { state: 'failed', approved, reason, error };
    if (error.status === 409) {
      const approval = await call('getApproval', { params: { approval_id: id } }).catch(() => null);
      if (approval) decision = { state: 'decided', approval, mine: isOwn(approval, approved, before) };
    }
  }
  know(id, decision);
  return decision;
}

/** True if an earlier decision without an answer succeeded, so that nobody else decided first. */
const isOwn = (approval: Approval, approved: boolean, before: Decision | undefined): boolean =>
  before?.state === 'failed' &&
  before.error.status === 0 &&
  before.approved === approved &&
  approval.status === (approved ? 'approved' : 'denied') &&
  (approval.decision_reason ?? '') === before.reason &&
  approval.decided_by === signedInEmail();

/** Maximum of parallel requests. */
const atOnce = 8;

/** Returns the outcome of each decision by approval id. The list reloads once, after the last of them. */
export async function decideAll(
  ids: readonly string[],
  approved: boolean,
  reason: string,
): Promise<ReadonlyMap<string, Decision>> {
  const left = [...ids];
  const outcomes = new Map<string, Decision>();
  const work = async (): Promise<void> => {
    for (let id = left.shift(); id !== undefined; id = left.shift())
      outcomes.set(id, await sendDecision(id, approved, reason));
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  refreshQueue();
  return outcomes;
}

/** Text for a decided approval: `Denied by ann@example.com`. */
export function outcomeOf({ status, decided_by, decided_via, timeout_effect }: Approval): string {
  if (status === 'timeout')
    return timeout_effect === 'allow' ? 'Expired: the call was allowed' : 'Expired: the call was denied';
  const denial = decided_via === 'withdrawn' ? 'Withdrawn' : 'Denied';
  const word = status === 'approved' ? 'Approved' : denial;
  return decided_by === null ? word : `${word} by ${decided_by}`;
}

/** The place of a person's decision; null if no person decided. */
export const decisionChannel = ({ decided_by, decided_via }: Approval): string | null =>
  decided_by === null || decided_via === 'withdrawn' ? null : decided_via;

/** True if another person decided first. Nobody decided an approval that expired or was withdrawn. */
export const isDecidedByOther = (decision: Decision | undefined): boolean =>
  decision?.state === 'decided' && !decision.mine && decisionChannel(decision.approval) !== null;

/** Display name of the place of a decision. */
export const channelWord = (decidedVia: string): string =>
  decidedVia === 'dashboard' ? 'console' : visible(decidedVia);
