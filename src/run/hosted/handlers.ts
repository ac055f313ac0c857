// Runs, agents and workflow state in the hosted API's words.
import { type Approval, ruleNameOf } from '../../approval/record.ts';
import type { DecisionClass } from '../../event/record/words.ts';
import { classOf } from '../../event/rules/decision.ts';
import { openCursor, sealCursor } from '../../http/contract/cursor.ts';
import type { Handlers } from '../../http/contract/handler.ts';
import { fitting, pageFieldsOf } from '../../http/contract/hosted-pages.ts';
import { type HostedCaller, principalOf } from '../../http/contract/hosted-principal.ts';
import { micros, microsOrNull } from '../../http/contract/hosted-time.ts';
import { shortened } from '../../http/contract/listed.ts';
import { requireAgent } from '../../shared/acting-agent.ts';
import { notFound } from '../../shared/error.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import type { Truncated } from '../../shared/truncated.ts';
import {
  callOutcomeRecord,
  lastEventRecord,
  pendingApprovalRecord,
  type RunFacts,
  type RunPlace,
  readSnapshot,
  runCountRecord,
  runRecord,
  workflowRecord,
} from '../record.ts';
import { callOutcomes } from '../rules/call-outcomes.ts';
import type { AgentView, RunView } from '../use-cases/runs.ts';
import type { hostedRunRoutes } from './routes.ts';

export const hostedRuns: Handlers<typeof hostedRunRoutes> = {
  async hostedListRuns(hub, { query }, caller) {
    const { limit, offset, agent_id, session_id, status, cursor } = query;
    const filter = omitUndefined({ agentId: agent_id, sessionId: session_id, statuses: status });
    const scope = { tenantId: caller.tenantId, list: 'runs' } as const;
    const after = cursor === undefined ? undefined : readRunPlace(openCursor(hub, scope, cursor));
    const pageRequest = { limit, offset: after ? 0 : offset, ...omitUndefined({ after }) };
    const page = await hub.app.runs.list(principalOf(caller), filter, pageRequest);
    const runs = fitting(page.items.map(renderRun));
    const has_more = page.more || runs.length < page.items.length;
    const last = page.items[runs.length - 1]?.run;
    return {
      runs,
      total: page.total,
      ...pageFieldsOf(query, has_more ? runs.length : null),
      next_cursor: has_more && last ? sealCursor(hub, scope, runPlace(last)) : null,
    };
  },

  async hostedListAgents(hub, { query }, caller) {
    const { limit, offset } = query;
    const { items, more, passed, read } = await hub.app.runs.agents(principalOf(caller), { limit, offset });
    const agents = fitting(items.map(renderAgent));
    const reached = agents.length < items.length ? (passed[agents.length - 1] ?? read) : more ? read : null;
    return { agents, ...pageFieldsOf(query, reached) };
  },

  async hostedGetAgent(hub, { params }, caller) {
    requireScope(caller, params.agent_id);
    const agent = await hub.app.runs.agent(principalOf(caller), params.agent_id);
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

/** Place of a run in the list, as a cursor holds it. */
const runPlace = ({ lastActivityAt, agentId, sessionId }: RunPlace): string =>
  JSON.stringify([lastActivityAt, agentId, sessionId]);

function readRunPlace(text: string): RunPlace {
  const [lastActivityAt, agentId, sessionId] = JSON.parse(text) as [number, string, string];
  return { lastActivityAt, agentId, sessionId };
}

/** @throws HubError forbidden */
function requireScope(caller: HostedCaller, agentId: string): void {
  if (caller.kind === 'hostedKey') requireAgent(caller, agentId);
}

/** The value, unless it is too large for a list. */
const brief = <T>(value: T): T | Truncated => shortened({ value }).value;

/** A run as lists show it: no field is larger than they may hold. */
export function renderRun({ run, status, ruleset }: RunView) {
  const { facts, oldestPending } = run;
  const workflow = facts?.snapshot ? readSnapshot(facts.snapshot.value) : null;
  const reply = runRecord.render('hosted', {
    ...run,
    runId: facts?.runId ?? null,
    parentSessionId: facts?.parentSessionId ?? null,
    status,
    workflow: workflow && workflowRecord.render('hosted', workflow),
    rulesetName: ruleset?.name ?? null,
    rulesetVersion: ruleset?.version ?? null,
    policyVersion: facts?.version?.policyVersion ?? null,
    lastAt: run.lastActivityAt,
    lastEvent:
      facts &&
      lastEventRecord.render('hosted', {
        ...facts.last,
        id: run.lastEventId,
        decision: classOf(facts.last.action),
        timestamp: facts.last.at,
      }),
    pendingApproval: oldestPending && renderPending(oldestPending),
    pendingApprovalCount: run.pendingApprovals,
    counts: renderCounts(facts),
    callOutcomes: renderOutcomes(facts),
  });
  return { ...reply, workflow: reply.workflow && brief(reply.workflow) };
}

function renderPending(approval: Approval) {
  const reply = pendingApprovalRecord.render('hosted', { ...approval, ruleName: ruleNameOf(approval) });
  return { ...reply, message: brief(reply.message) };
}

function renderCounts(facts: RunFacts | null) {
  const count = (name: DecisionClass): number => facts?.counts[name] ?? 0;
  return runCountRecord.render('hosted', {
    events: Object.values(facts?.counts ?? {}).reduce((sum, n) => sum + n, 0),
    calls: facts?.calls ?? 0,
    allowed: count('allow'),
    blocked: count('block'),
    asked: count('ask'),
    wouldBlock: count('would_block'),
    timedOut: count('timeout'),
    failed: count('fail'),
    warned: count('warn'),
  });
}

/** Null where the outcomes are unknown. */
function renderOutcomes(facts: RunFacts | null) {
  const steps = facts ? facts.steps : {};
  return steps === undefined ? null : callOutcomeRecord.render('hosted', callOutcomes(steps));
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
