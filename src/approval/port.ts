// Store port of approvals, and the one way in which an approval expires. Adapters keep promise P19.

import { type AuditNote, timeoutNote } from '../audit/record.ts';
import type { Env, EnvFilter } from '../shared/ids.ts';
import { countEnd, type Meters } from '../shared/meters.ts';
import type { Page, PageRequest } from '../shared/ports/page.ts';
import type { Secrets } from '../shared/ports/secrets.ts';
import type { Approval, ApprovalAssignee, ApprovalStatus, Decision, StoredArgs } from './record.ts';

/** An approval that something is to be done about. */
export interface ApprovalPlace {
  readonly tenantId: string;
  readonly env: Env;
  readonly id: string;
}

/** Arguments of a new approval. */
export interface KeptArgs extends StoredArgs {
  readonly keyId: string;
}

/** Selection of approvals in a list. Texts are equal as they stand. */
export interface ApprovalFilter {
  readonly env: EnvFilter;
  readonly status?: ApprovalStatus;
  readonly agentId?: string;
  readonly sessionId?: string;
  /** Made at this time or later. */
  readonly since?: number;
  /** Made at this time or earlier. */
  readonly until?: number;
  /**
   * Part of the agent's id, the tool's or contract's name, the message, or who decided. ASCII letters count the same in
   * either case.
   */
  readonly search?: string;
}

/** Part of a list of approvals. */
export interface ApprovalPageRequest extends PageRequest {
  /** The approval that the page before ended with: the page begins behind it, wherever it stands now. */
  readonly after?: Pick<Approval, 'createdAt' | 'id'>;
}

/** Place of an approval in the order of deadlines. */
export type DeadlinePlace = Pick<Approval, 'deadline' | 'id'>;

/** Part of a list of pending approvals. */
export interface PendingPageRequest extends PageRequest {
  /** The page begins behind this place, whatever became of its approval. */
  readonly after?: DeadlinePlace;
}

/** Number of approvals of one tool and environment that the same contracts ask for. */
export interface AlikeCount extends Pick<Approval, 'toolName' | 'contractName' | 'env'> {
  /** In the order of the agent's report; null if the agent did not report them. */
  readonly contractNames: readonly string[] | null;
  readonly count: number;
}

/** Alike approvals that a count tells apart. */
export const maxAlike = 10_000;

/** Requests, decisions and timeouts note in the same write that they are not announced yet, until `announced`. */
export interface ApprovalStore {
  /**
   * Keeps the arguments of an approval before its request. When the large ones of the environment (over `largeArgs`)
   * would hold more than `quota` bytes, keys give way (`largestHolders`): large arguments of timed out approvals are
   * removed first, then those of decided ones, oldest first. Pending ones stay. `full` when that makes too little room:
   * nothing is kept, and nothing removed. Arguments without a key count as one key's. Where
   * nodes share the store, parallel calls may exceed the quota by what they bring. Safe to repeat: `kept` if the store
   * has arguments with this id already, which stay.
   * @throws HubError('disk_full') for large ones, while the store has too little room
   */
  createArgs(args: KeptArgs, quota: number): Promise<'created' | 'kept' | 'full'>;
  /** Removes the arguments of an approval that was not requested. Safe to repeat. */
  removeArgs(tenantId: string, id: string): Promise<void>;
  /** Removes large arguments created before `before`, at most `limit`; returns how many. */
  removeLargeArgs(before: number, limit: number): Promise<number>;
  /**
   * Safe to repeat: an id that exists returns the stored one. Of arguments that were kept before it has the size alone.
   */
  request(approval: Approval): Promise<Approval>;
  /** With all its arguments, unless they were dropped. */
  getWhole(tenantId: string, id: string): Promise<Approval | null>;
  /** Here and below, arguments that are kept apart are left out. */
  get(tenantId: string, id: string): Promise<Approval | null>;
  /**
   * Newest first, statuses as seen at `now` (lazy expiry applies to the filter too).
   * @throws HubError search_timeout when it takes longer than `maxSearchMs`
   */
  list(
    tenantId: string,
    filter: ApprovalFilter,
    page: ApprovalPageRequest,
    now: number,
  ): Promise<Page<Approval>>;
  /**
   * Pending approvals that are not yet due, the first to expire first, at one deadline by id.
   * @throws HubError search_timeout when it takes longer than `maxSearchMs`
   */
  listPending(
    tenantId: string,
    filter: Omit<ApprovalFilter, 'status'>,
    page: PendingPageRequest,
    now: number,
  ): Promise<Page<Approval>>;
  /**
   * Counts the rest of that list behind a place, alike approvals together, in no particular order. At most `maxAlike`
   * counts: those of approvals that come later are left out.
   * @throws HubError search_timeout when it takes longer than `maxSearchMs`
   */
  countAlike(
    tenantId: string,
    env: EnvFilter,
    after: DeadlinePlace,
    now: number,
  ): Promise<readonly AlikeCount[]>;
  /** Number of approvals in the list. @throws HubError search_timeout */
  count(tenantId: string, filter: ApprovalFilter, now: number): Promise<number>;
  /**
   * Decides if pending and before its deadline: exactly one decision ever succeeds. Safe to repeat: the one that did
   * answers the approval again.
   */
  decide(
    tenantId: string,
    id: string,
    decision: Decision,
    now: number,
  ): Promise<Approval | 'absent' | 'not_pending'>;
  /**
   * Gives a pending approval that is not due to a person, or (null) to nobody, whoever has it. Safe to repeat.
   */
  assign(
    tenantId: string,
    id: string,
    assignee: ApprovalAssignee | null,
    now: number,
  ): Promise<Approval | 'absent' | 'not_pending'>;
  /** Takes all pending approvals from a person; returns them. Safe to repeat. */
  release(tenantId: string, personId: string): Promise<readonly Approval[]>;
  /** Times out if pending and due: the approval when this call did it, else null. */
  expire(tenantId: string, id: string, now: number): Promise<Approval | null>;
  /** All pending of an environment; earliest deadline first. */
  listDeadlines(
    tenantId: string,
    env: Env,
  ): Promise<readonly Pick<Approval, 'id' | 'createdAt' | 'deadline'>[]>;
  /**
   * Pending approvals whose deadline has come, over all tenants; earliest first, without the first `skip` of them (0 by
   * default).
   */
  listDue(now: number, limit: number, skip?: number): Promise<readonly ApprovalPlace[]>;
  /** The same of one tenant. */
  listDueOf(tenantId: string, now: number, limit: number): Promise<readonly ApprovalPlace[]>;
  /**
   * Notes those as announced that are still in this status: what happened to the others since is still to be announced.
   * Safe to repeat.
   */
  announced(tenantId: string, status: ApprovalStatus, ids: readonly string[]): Promise<void>;
  /**
   * Those whose mark was left before `before`, over all tenants; oldest first, without the first `skip` of them (0 by
   * default).
   */
  listUnannounced(before: number, limit: number, skip?: number): Promise<readonly ApprovalPlace[]>;
  /** Removes an approval, whatever its status: one that nobody asked for, as the sample run's. Safe to repeat. */
  remove(tenantId: string, id: string): Promise<void>;
  /** Number of pending approvals that are not yet due. */
  countPending(tenantId: string, env: EnvFilter, now: number): Promise<number>;
}

interface ExpiryPorts {
  readonly store: {
    noting(what: { readonly note: AuditNote }): { readonly approvals: Pick<ApprovalStore, 'expire'> };
  };
  readonly secrets: Pick<Secrets, 'uuid'>;
  readonly meters: Pick<Meters, 'approvals' | 'approvalWaits'>;
}

/**
 * Times out a pending approval that is due, with its entry in the audit chain, and counts it. Timers, the sweep and
 * readers all expire by this function, so that the metrics include each approval once.
 * @returns null if it has ended already
 */
export async function expire(
  { store, secrets, meters }: ExpiryPorts,
  approval: Approval,
  now: number,
): Promise<Approval | null> {
  const note = timeoutNote(approval, secrets.uuid());
  const expired = await store.noting({ note }).approvals.expire(approval.tenantId, approval.id, now);
  if (expired) countEnd(meters, expired, expired.deadline);
  return expired;
}
