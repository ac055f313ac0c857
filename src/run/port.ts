// Store port of runs: the summary of an agent's events in one session. No caller writes a run: EventStore.ingest does,
// and so do the changes of an approval that names a session. Such a change makes a run where there is none, and moves
// the run's activity forward, never back.
import type { Approval } from '../approval/record.ts';
import type { AgentsIn, EnvFilter } from '../shared/ids.ts';
import type { Page, PageRequest } from '../shared/ports/page.ts';
import type { RunKey, RunPlace, RunStanding, RunStatus, StoredRun } from './record.ts';
import type { StatusTime } from './rules/run.ts';

/** The activity and the state of an agent's session. */
export interface Run extends Omit<StoredRun, 'tenantId' | 'receivedAt' | 'lastAt'> {
  /** The latest of its events (none later than 5 minutes after receipt) and of what became of its approvals. */
  readonly lastActivityAt: number;
  /** Of the newest event, and of the one that carried the snapshot; null without one. */
  readonly lastEventId: string | null;
  readonly snapshotEventId: string | null;
  /** Approvals of its environment that wait for a decision. */
  readonly pendingApprovals: number;
  /** The one that has waited longest, without its arguments. */
  readonly oldestPending: Approval | null;
}

/** Filters for runs. A missing member does not filter. */
export interface RunFilter {
  /** Null: every environment. */
  readonly env: EnvFilter;
  readonly agentId?: string;
  readonly sessionId?: string;
  /** One of these; absent: any. */
  readonly statuses?: readonly RunStatus[];
}

/** Part of a list of runs. */
export interface RunPageRequest extends PageRequest {
  /** Last run of the previous page. The page starts after it; a run with new activity has moved before it. */
  readonly after?: RunPlace;
}

/** A run as the health of its agent needs it. */
export interface RunGlance extends RunKey {
  readonly standing: RunStanding;
  readonly lastActivityAt: number;
  readonly pendingApprovals: number;
}

export interface RecentQuery extends AgentsIn {
  /** Unix ms, inclusive. */
  readonly since: number;
  /** Runs of one agent at most. */
  readonly limit: number;
}

/** The runs of all tenants. */
export interface RunStore {
  /**
   * By last activity, newest first, then by agent and session.
   * @throws HubError search_timeout when it takes longer than `maxSearchMs`
   */
  list(
    tenantId: string,
    filter: RunFilter,
    page: RunPageRequest,
    time: StatusTime,
  ): Promise<Page<Run> & { readonly total: number }>;
  get(tenantId: string, key: RunKey, now: number): Promise<Run | null>;
  /**
   * Runs of these agents with activity since `since`, newest first, at most `limit` an agent. The sample run is none of
   * them.
   */
  listRecent(tenantId: string, query: RecentQuery, now: number): Promise<readonly RunGlance[]>;
  /** Number of pending approvals of each of these agents, of runs and of none; agents without any are left out. */
  countPending(
    tenantId: string,
    agents: AgentsIn,
    now: number,
  ): Promise<readonly (readonly [agentId: string, count: number])[]>;
}
