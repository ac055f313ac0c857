// Store port of approvals: every transition is a compare-and-set, so there is one terminal state, whoever tries.
import type { Approval, ApprovalStatus, Decision } from '../domain/approval.ts';
import type { Env } from '../domain/ids.ts';

/** An approval that something is to be done about. */
export interface ApprovalPlace {
  readonly tenantId: string;
  readonly env: Env;
  readonly id: string;
}

/** Inserting, deciding and timing out leave a mark in the same write: not announced yet. It stays until `announced`. */
export interface ApprovalStore {
  /** Safe to repeat: an id that exists returns the stored one. */
  insert(approval: Approval): Promise<Approval>;
  get(tenantId: string, id: string): Promise<Approval | null>;
  /** Newest first, statuses as seen at `now` (lazy expiry applies to the filter too). */
  list(
    tenantId: string,
    filter: {
      readonly env: Env | null;
      readonly status?: ApprovalStatus;
      readonly limit: number;
      readonly offset: number;
    },
    now: number,
  ): Promise<readonly Approval[]>;
  /** Decides if pending and before its deadline: exactly one decision ever succeeds. Safe to repeat: the one that did answers the approval again. */
  decide(
    tenantId: string,
    id: string,
    decision: Decision,
    now: number,
  ): Promise<Approval | 'absent' | 'not_pending'>;
  /** Times out if pending and due: the approval when this call did it, else null. */
  expire(tenantId: string, id: string, now: number): Promise<Approval | null>;
  /** All pending of an environment, for its actor's timers; earliest deadline first. */
  pending(tenantId: string, env: Env): Promise<readonly Approval[]>;
  /** Pending approvals whose deadline has come, over all tenants; earliest first, without the first `skip` of them (0 by default). */
  due(now: number, limit: number, skip?: number): Promise<readonly ApprovalPlace[]>;
  /** Takes the mark off those that are still in this status: what happened to the others since is still to be announced. Safe to repeat. */
  announced(tenantId: string, status: ApprovalStatus, ids: readonly string[]): Promise<void>;
  /** Those whose mark was left before `before`, over all tenants; oldest first, without the first `skip` of them (0 by default). */
  unannounced(before: number, limit: number, skip?: number): Promise<readonly ApprovalPlace[]>;
  /** How many are pending and not yet due. */
  countPending(tenantId: string, env: Env | null, now: number): Promise<number>;
}
