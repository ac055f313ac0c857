// What the queue knows of an approval: how long it has still, who decided, and a decision on its way.
import { sample } from '../../../domain/sample-run.ts';
import { ApiError, call, type Reply } from '../../lib/api.ts';
import { now } from '../../lib/browser.ts';
import { signedInEmail } from '../../lib/me.ts';
import { refresh } from '../../lib/query.ts';
import { createStore } from '../../lib/store.ts';
import { visible } from '../../lib/text.ts';

export type Approval = Reply<'listApprovals'>[number];

/** The call of the sample run, which the hub counts nowhere. */
export const isOfSample = ({ agent_id: agent, session_id: session }: Approval): boolean =>
  agent === sample.agentId && session === sample.sessionId;

/** Epoch milliseconds by the hub's clock. */
export const deadlineOf = ({ created_at, timeout_seconds }: Approval): number =>
  Date.parse(created_at) + timeout_seconds * 1000;

/** The status that a decision in this tab gives, or else the list's. */
export const statusOf = (
  { id, status }: Approval,
  known: { readonly [id: string]: Decision },
): Approval['status'] => {
  const decision = known[id];
  return decision?.state === 'decided' ? decision.approval.status : status;
};

/** Approvals whose arguments were in view to their end in this tab: only these can be approved. */
export const readApprovals = createStore<ReadonlySet<string>>(new Set());

export function markRead(id: string): void {
  if (!readApprovals.get().has(id)) readApprovals.set((before) => new Set(before).add(id));
}

export const unreadReason = 'To approve, first read the arguments to the end.';

/** The most urgent first. */
export const byDeadline = (a: Approval, b: Approval): number => deadlineOf(a) - deadlineOf(b);

/** What this tab knows of a decision before, or better than, the list does. */
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

export const decisions = createStore<{ readonly [id: string]: Decision }>({});

const know = (id: string, decision: Decision): void =>
  decisions.set((before) => ({ ...before, [id]: decision }));

/**
 * Decides, and tells the truth about it: a 409 means that somebody was faster, and the approval is read again to say
 * who.
 */
export async function decide(id: string, approved: boolean, reason: string): Promise<Decision> {
  const before = decisions.get()[id];
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
  refresh(['listApprovals', 'statsOverview']);
  return decision;
}

/** Whether a decision before this one, which got no answer, was made all the same: nobody else was faster then. */
const isOwn = (approval: Approval, approved: boolean, before: Decision | undefined): boolean =>
  before?.state === 'failed' &&
  before.error.status === 0 &&
  before.approved === approved &&
  approval.status === (approved ? 'approved' : 'denied') &&
  (approval.decision_reason ?? '') === before.reason &&
  approval.decided_by === signedInEmail();

/** So many decisions are on their way at a time. */
const atOnce = 8;

/** What came of each, by its id. */
export async function decideAll(
  ids: readonly string[],
  approved: boolean,
  reason: string,
): Promise<ReadonlyMap<string, Decision>> {
  const left = [...ids];
  const made = new Map<string, Decision>();
  const work = async (): Promise<void> => {
    for (let id = left.shift(); id !== undefined; id = left.shift())
      made.set(id, await decide(id, approved, reason));
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return made;
}

/** How a decided approval reads: `Denied by ann@example.com`. */
export function outcomeOf({ status, decided_by, timeout_effect }: Approval): string {
  if (status === 'timeout')
    return timeout_effect === 'allow' ? 'Expired: the call was allowed' : 'Expired: the call was denied';
  const word = status === 'approved' ? 'Approved' : 'Denied';
  return decided_by === null ? word : `${word} by ${decided_by}`;
}

/** Where an approval was decided, for people. */
export const channelWord = (decidedVia: string): string =>
  decidedVia === 'dashboard' ? 'console' : visible(decidedVia);
