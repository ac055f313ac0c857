// Agents and their workflow state in the hosted API's words.

import type { Handlers } from '../../http/contract/handler.ts';
import { fitting, pageFieldsOf } from '../../http/contract/hosted-pages.ts';
import { type HostedCaller, principalOf } from '../../http/contract/hosted-principal.ts';
import { micros, microsOrNull } from '../../http/contract/hosted-time.ts';
import { renderRun } from '../../run/hosted/run.ts';
import { readSnapshot } from '../../run/record.ts';
import type { AgentView } from '../../run/use-cases/runs.ts';
import { requireAgent } from '../../shared/acting-agent.ts';
import { notFound } from '../../shared/error.ts';
import type { hostedAgentRoutes } from './routes.ts';

export const hostedAgents: Handlers<typeof hostedAgentRoutes> = {
  async hostedListAgents(hub, { query }, caller) {
    const { limit, offset } = query;
    const { items, more, passed, read } = await hub.app.runs.listAgents(principalOf(caller), {
      limit,
      offset,
    });
    const agents = fitting(items.map(renderAgent));
    const reached = agents.length < items.length ? (passed[agents.length - 1] ?? read) : more ? read : null;
    return { agents, ...pageFieldsOf(query, reached) };
  },

  async hostedGetAgent(hub, { params }, caller) {
    requireScope(caller, params.agent_id);
    const agent = await hub.app.runs.getAgent(principalOf(caller), params.agent_id);
    if (!agent) throw notFound('Agent not found.');
    const { status, reason, since, lastSeenAt, pendingApprovals, blockedRuns, activeRuns } =
      agent.agent.health;
    return {
      agent: renderAgent(agent.agent),
      health: {
        status,
        reason,
        since: microsOrNull(since),
        last_seen_at: microsOrNull(lastSeenAt),
        stale_after_seconds: hub.settings.agentStaleMs / 1000,
        pending_approvals: pendingApprovals,
        blocked_runs: blockedRuns,
        active_runs: activeRuns,
      },
      recent_runs: agent.runs.map(renderRun),
    };
  },

  async hostedWorkflowState(hub, { params, query }, caller) {
    const { agent_id: agentId } = params;
    const { session_id: sessionId } = query;
    requireScope(caller, agentId);
    const run = await hub.app.runs.get(principalOf(caller), { agentId, sessionId });
    const snapshot = run?.run.facts?.snapshot;
    const read = snapshot && readSnapshot(snapshot.value);
    if (!run || !read) throw notFound('This session has no workflow snapshot.');
    return {
      ...read.whole,
      name: read.name,
      active_stage: read.activeStage,
      completed_stages: [...read.completedStages],
      pending_approval: read.pendingApproval,
      agent_id: agentId,
      session_id: sessionId,
      run_id: run.run.facts?.runId ?? null,
      event_id: run.run.snapshotEventId,
      updated_at: micros(snapshot.at),
      snapshot_error: read.whole._snapshot_error === true,
    };
  },
};

/** @throws HubError forbidden */
function requireScope(caller: HostedCaller, agentId: string): void {
  if (caller.kind === 'hostedKey') requireAgent(caller, agentId);
}

function renderAgent({ registration, env, state, cannotLoad, ruleset, lastEventAt, health }: AgentView) {
  return {
    id: registration.agentId,
    first_seen_at: micros(registration.createdAt),
    last_seen_at: microsOrNull(registration.lastSeenAt),
    last_event_at: microsOrNull(lastEventAt),
    connected: (state?.streams ?? 0) > 0,
    environment: env,
    policy_version: state?.policyVersion ?? null,
    ruleset_name: ruleset?.name ?? state?.bundleName ?? null,
    ruleset_version: ruleset?.version ?? state?.version ?? null,
    drift: state?.status ?? 'unknown',
    last_api: registration.lastApi,
    cannot_load: cannotLoad,
    tags: { ...registration.tags },
    open_runs: health.openRuns,
    pending_approvals: health.pendingApprovals,
    health: { status: health.status, reason: health.reason },
  };
}
