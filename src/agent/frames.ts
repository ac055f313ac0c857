// Frames of assignments, and of the numbers of the fleet.

import { z } from 'zod';
import { assignmentSource, bundleName, env, uuid } from '../http/contract/fields.ts';
import { event, eventMaker, type FrameTable } from '../http/contract/frame-table.ts';
import { type FrameMakers, frame, toDashboards } from '../http/live/frame-makers.ts';
import { agentsOf, dashboardsOf, hostedAgentsOf } from '../shared/frame.ts';

export const agentStreamFrames = {
  assignment_changed: event(
    'assignment_changed',
    'An assignment or a rule changes the bundle of the agent. Only this agent receives it.',
    {
      agent_id: z.string(),
      /** Null when it is assigned nothing. */
      bundle_name: z.string().nullable(),
      source: assignmentSource,
    },
  ),
} satisfies FrameTable;

const agents = z.number().int().min(0);

export const agentDashboardFrames = {
  assignment_changed: {
    summary:
      'A person assigns a bundle to an agent (to many at once: `agent_id` is `__bulk__`), or changes an assignment rule.',
    data: z.union([
      z.object({
        type: z.literal('assignment_changed'),
        agent_id: z.string(),
        bundle_name: bundleName.nullable(),
        source: z.literal('explicit'),
      }),
      z.object({
        type: z.literal('assignment_changed'),
        rule_id: uuid,
        action: z.enum(['created', 'updated', 'deleted']),
      }),
    ]),
  },
  fleet_changed: event(
    'fleet_changed',
    'Only with `include=fleet`: counts of the connected agents in an environment, by whether they run the deployed ' +
      'document, another one, or have not reported one. Sent at connect for each environment, then on each change, at most ' +
      'once a second each.',
    { env, connected: agents, current: agents, drift: agents, unknown: agents },
  ),
} satisfies FrameTable;

/** In place of agent ids, where many were assigned at once. */
const bulkId = '__bulk__';

const forAgents = eventMaker(agentStreamFrames);
const forDashboards = eventMaker(agentDashboardFrames);

export const agentMakers: Pick<
  FrameMakers,
  'agentReassigned' | 'fleetChanged' | 'agentsAssigned' | 'assignmentRuleChanged'
> = {
  agentReassigned: ({ tenantId, env, agentId, bundleName, source }) => [
    frame(
      { audience: agentsOf(tenantId, env), agent: agentId, assigned: bundleName },
      forAgents('assignment_changed', { agent_id: agentId, bundle_name: bundleName, source }),
    ),
  ],
  fleetChanged: ({ tenantId, env, numbers: { connected, current, drift, unknown } }) => [
    frame(
      { audience: dashboardsOf(tenantId), envs: [env], fleet: env },
      forDashboards('fleet_changed', { env, connected, current, drift, unknown }),
    ),
  ],
  agentsAssigned: ({ tenantId, agentIds, bundleName, envs, bulk }) =>
    (bulk ? [bulkId] : agentIds).flatMap((agentId) =>
      toDashboards(
        tenantId,
        forDashboards('assignment_changed', {
          agent_id: agentId,
          bundle_name: bundleName,
          source: 'explicit',
        }),
        { envs },
      ),
    ),
  assignmentRuleChanged: ({ tenantId, ruleId, envs, change }) =>
    toDashboards(tenantId, forDashboards('assignment_changed', { rule_id: ruleId, action: change }), {
      envs,
    }),
};

export const hostedAgentMakers: Pick<FrameMakers, 'agentReassigned'> = {
  agentReassigned: ({ tenantId, env, agentId, bundleName, source }) => [
    frame(
      { audience: hostedAgentsOf(tenantId, env), agent: agentId, assigned: bundleName },
      forAgents('assignment_changed', { agent_id: agentId, bundle_name: bundleName, source }),
    ),
  ],
};
