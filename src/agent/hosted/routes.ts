// Routes of agents and of their workflow state.

import { z } from 'zod';
import { instant, line, text } from '../../http/contract/fields.ts';
import { hostedPaging, pageFields } from '../../http/contract/hosted-fields.ts';
import { routes } from '../../http/contract/route.ts';
import { runRow } from '../../run/hosted/run.ts';
import { agentApi, driftStatus } from '../record.ts';
import { healthStatuses } from '../rules/health.ts';

const count = z.number().int();

const name = z.string();

export const healthStatus = z.enum(healthStatuses);
const rulesetFields = { ruleset_name: name.nullable(), ruleset_version: count.nullable() };

const health = z.object({
  status: healthStatus,
  reason: name,
  since: instant.nullable(),
  last_seen_at: instant.nullable(),
  stale_after_seconds: count,
  pending_approvals: count,
  blocked_runs: count,
  active_runs: count,
});

export const hostedAgent = z.object({
  id: name,
  first_seen_at: instant,
  last_seen_at: instant.nullable(),
  /** By the agent's clock. */
  last_event_at: instant.nullable(),
  connected: z.boolean(),
  environment: name.nullable(),
  policy_version: name.nullable(),
  ...rulesetFields,
  drift: driftStatus,
  /** The API that it was last seen on: its stream, events, approvals or reports. Null: before that was kept. */
  last_api: agentApi.nullable(),
  /** True if the agent receives a document of the vocabulary that it does not load, and keeps the one in use. */
  cannot_load: z.boolean(),
  tags: z.record(z.string(), z.string()),
  open_runs: count,
  pending_approvals: count,
  health: z.object({ status: healthStatus, reason: name }),
});

const agentParams = z.object({ agent_id: line(255) });

export const hostedAgentRoutes = routes({
  hostedListAgents: {
    method: 'GET',
    path: '/v1/agents',
    auth: ['operatorJwt', 'hostedKey'],
    role: 'viewer',
    envs: 'record',
    tag: 'hosted-agents',
    summary: 'Registered agents, most recently seen first',
    query: z.object(hostedPaging(500, 100)),
    status: 200,
    reply: z.object({ agents: z.array(hostedAgent), ...pageFields }),
    search: true,
    errors: ['forbidden', 'validation_failed', 'search_timeout', 'rate_limited'],
  },
  hostedGetAgent: {
    method: 'GET',
    path: '/v1/agents/{agent_id}',
    auth: ['operatorJwt', 'hostedKey'],
    role: 'viewer',
    envs: 'record',
    tag: 'hosted-agents',
    summary: 'An agent with its health and its ten newest runs',
    params: agentParams,
    status: 200,
    reply: z.object({ agent: hostedAgent, health, recent_runs: z.array(runRow) }),
    errors: ['forbidden', 'not_found', 'validation_failed'],
  },
  hostedWorkflowState: {
    method: 'GET',
    path: '/v1/agents/{agent_id}/workflow-state',
    auth: ['operatorJwt', 'hostedKey'],
    role: 'viewer',
    envs: 'record',
    tag: 'hosted-agents',
    summary: 'The newest workflow snapshot from a session, as the agent sent it',
    params: agentParams,
    query: z.object({ session_id: text(255, 1) }),
    status: 200,
    reply: z.looseObject({
      name,
      active_stage: name,
      completed_stages: z.array(z.unknown()),
      pending_approval: z.record(z.string(), z.unknown()),
      agent_id: name,
      session_id: name,
      run_id: name.nullable(),
      event_id: name.nullable(),
      updated_at: instant,
      snapshot_error: z.boolean(),
    }),
    errors: ['forbidden', 'not_found', 'validation_failed'],
  },
});
