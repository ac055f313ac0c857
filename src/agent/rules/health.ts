// The health of an agent: one word for whether a person must look at it, from its newest runs and when it was last
// seen. Pure.

import type { RunStanding, RunStatus } from '../../run/record.ts';
import { runStatus, type StatusTime } from '../../run/rules/run.ts';
import { dayMs } from '../../shared/duration.ts';

export const healthStatuses = ['healthy', 'stale', 'blocked', 'approval_pending'] as const;
export type HealthStatus = (typeof healthStatuses)[number];

/** Why, in one word. */
export type HealthReason =
  | 'pending_approval'
  | 'last_decision_blocked'
  | 'runs_blocked'
  | 'no_activity'
  | 'ok';

/** A run as health looks at it. */
export interface RecentRun {
  readonly standing: RunStanding;
  readonly lastActivityAt: number;
  readonly pendingApprovals: number;
}

export interface AgentHealth {
  readonly status: HealthStatus;
  readonly reason: HealthReason;
  /** Time when it began, if that is known. Epoch milliseconds. */
  readonly since: number | null;
  readonly lastSeenAt: number | null;
  readonly pendingApprovals: number;
  readonly blockedRuns: number;
  readonly activeRuns: number;
  /** Runs with activity within the last day that are not completed. */
  readonly openRuns: number;
}

/** Runs without activity for so long do not count. */
export const healthWindowMs = dayMs;

/**
 * The first that holds: an approval waits; the newest run is blocked, or one is and none is active; the agent has been
 * silent for long; healthy.
 * @param agent `runs` newest first; `lastSeenAt` and `lastEventAt` null when there was none; `pendingApprovals` of all
 *   its runs and of none
 */
export function agentHealth(
  agent: {
    readonly runs: readonly RecentRun[];
    readonly pendingApprovals: number;
    readonly lastSeenAt: number | null;
    readonly lastEventAt: number | null;
    readonly connected: boolean;
  },
  times: StatusTime & { readonly agentStaleAfterMs: number },
): AgentHealth {
  const recent = agent.runs
    .filter((run) => run.lastActivityAt >= times.now - healthWindowMs)
    .map((run) => ({ ...run, status: runStatus(run, run.pendingApprovals, times) }));
  const count = (status: RunStatus): number => recent.filter((run) => run.status === status).length;
  const open = recent.filter((run) => run.status !== 'completed');
  const blocked = recent.find((run) => run.status === 'blocked');
  const counts = {
    lastSeenAt: agent.lastSeenAt,
    pendingApprovals: agent.pendingApprovals,
    blockedRuns: count('blocked'),
    activeRuns: count('active'),
    openRuns: open.length,
  };
  const answer = (status: HealthStatus, reason: HealthReason, since: number | null): AgentHealth => ({
    status,
    reason,
    since,
    ...counts,
  });
  const asking = recent.find((run) => run.status === 'approval_pending');
  if (agent.pendingApprovals > 0 || asking) {
    return answer('approval_pending', 'pending_approval', asking?.lastActivityAt ?? null);
  }
  if (blocked && open[0]?.status === 'blocked') {
    return answer('blocked', 'last_decision_blocked', blocked.lastActivityAt);
  }
  if (blocked && counts.activeRuns === 0) return answer('blocked', 'runs_blocked', blocked.lastActivityAt);
  const heardAt = lastHeardAt(agent, times);
  const isSilent = heardAt === null || heardAt < times.now - times.agentStaleAfterMs;
  if (agent.lastEventAt === null || (isSilent && !agent.connected))
    return answer('stale', 'no_activity', heardAt);
  return answer('healthy', 'ok', recent[0]?.lastActivityAt ?? agent.lastSeenAt);
}

/**
 * The newest sign of an agent. Registrations are up to 30 s late, so events count, too: by the agent's clock, unless
 * that is further ahead than an agent may be silent.
 */
function lastHeardAt(
  { lastSeenAt, lastEventAt }: { readonly lastSeenAt: number | null; readonly lastEventAt: number | null },
  { now, agentStaleAfterMs }: { readonly now: number; readonly agentStaleAfterMs: number },
): number | null {
  const isCredible = lastEventAt !== null && lastEventAt <= now + agentStaleAfterMs;
  if (!isCredible) return lastSeenAt;
  return Math.max(lastSeenAt ?? 0, Math.min(lastEventAt, now));
}
