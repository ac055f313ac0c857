// What the queue knows of an approval: how long it has still, who decided, and a decision on its way.
import { sample } from '../../../domain/sample-run.ts';
import { ApiError, call, type Reply } from '../../lib/api.ts';
import { refresh } from '../../lib/query.ts';
import { createStore } from '../../lib/store.ts';

export type Approval = Reply<'listApprovals'>[number];

/** The call of the sample run, which the hub counts nowhere. */
export const isOfSample = ({ agent_id: agent, session_id: session }: Approval): boolean =>
  agent === sample.agentId && session === sample.sessionId;

/** Epoch milliseconds by the hub's clock. */
export const deadlineOf = ({ created_at, timeout_seconds }: Approval): number =>
  Date.parse(created_at) + timeout_seconds * 1000;

/** What this tab knows of a decision before, or better than, the list does. */
export type Decision =
  | { readonly state: 'sending'; readonly approved: boolean }
  | { readonly state: 'decided'; readonly approval: Approval; readonly mine: boolean }
  | { readonly state: 'failed'; readonly approved: boolean; readonly error: ApiError };

export const decisions = createStore<{ readonly [id: string]: Decision }>({});

const know = (id: string, decision: Decision): void =>
  decisions.set((before) => ({ ...before, [id]: decision }));

/**
 * Decides, and tells the truth about it: a 409 means that somebody was faster, and the approval is read again to say
 * who.
 */
export async function decide(id: string, approved: boolean, reason: string): Promise<Decision> {
  const now = decisions.get()[id];
  if (now && now.state !== 'failed') return now;
  know(id, { state: 'sending', approved });
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
    decision = { state: 'failed', approved, error };
    if (error.status === 409) {
      const approval = await call('getApproval', { params: { approval_id: id } }).catch(() => null);
      if (approval) decision = { state: 'decided', approval, mine: false };
    }
  }
  know(id, decision);
  refresh(['listApprovals', 'statsOverview']);
  return decision;
}

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
    return timeout_effect === 'allow' ? 'Timed out: the call was allowed' : 'Timed out: the call was denied';
  const word = status === 'approved' ? 'Approved' : 'Denied';
  return decided_by === null ? word : `${word} by ${decided_by}`;
}
