// Frames of approvals.

import { z } from 'zod';
import { approvalStatus, uuid } from '../http/contract/fields.ts';
import { event, eventMaker, type FrameTable, traceparent } from '../http/contract/frame-table.ts';
import { iso } from '../http/contract/render.ts';
import { type FrameMakers, frame, toDashboards, traceOf } from '../http/live/frame-makers.ts';
import { agentsOf, dashboardsOf } from '../shared/frame.ts';
import { assignee } from './console/render.ts';

const decided = approvalStatus.extract(['approved', 'denied']);

const decidedSummary = 'A person approves or denies a call.';

export const approvalStreamFrames = {
  approval_decided: event(
    'approval_decided',
    `${decidedSummary} Only the agent that requested the approval receives it.`,
    { approval_id: uuid, status: decided, decided_by: z.string().nullable(), traceparent },
  ),
} satisfies FrameTable;

const approvalFields = { approval_id: uuid, agent_id: z.string(), tool_name: z.string() };

export const approvalDashboardFrames = {
  approval_created: event('approval_created', 'An agent requests an approval.', {
    ...approvalFields,
    message: z.string(),
  }),
  approval_decided: { ...approvalStreamFrames.approval_decided, summary: decidedSummary },
  approval_timeout: event('approval_timeout', 'A pending approval reaches its deadline.', approvalFields),
  approval_assigned: event(
    'approval_assigned',
    'Only with `include=assignments`: a person takes a pending approval, or (null) nobody has it any more.',
    {
      approval_id: uuid,
      assignee: assignee.nullable(),
    },
  ),
} satisfies FrameTable;

const forAgents = eventMaker(approvalStreamFrames);
const forDashboards = eventMaker(approvalDashboardFrames);

export const approvalMakers: Pick<
  FrameMakers,
  'approvalRequested' | 'approvalDecided' | 'approvalExpired' | 'approvalAssigned'
> = {
  approvalRequested: ({ approval: { tenantId, env, id, agentId, toolName, message } }) =>
    toDashboards(
      tenantId,
      forDashboards('approval_created', {
        approval_id: id,
        agent_id: agentId,
        tool_name: toolName,
        message,
      }),
      { envs: [env], idempotencyKey: `approval:${id}:pending` },
    ),

  approvalDecided({ approval }) {
    const { tenantId, env, id, agentId, status, decidedBy } = approval;
    if (status !== 'approved' && status !== 'denied') return [];
    const idempotencyKey = `approval:${id}:${status}`;
    const fields = { approval_id: id, status, decided_by: decidedBy };
    return [
      frame(
        { audience: agentsOf(tenantId, env), agent: agentId, idempotencyKey, ...traceOf() },
        forAgents('approval_decided', fields),
      ),
      ...toDashboards(tenantId, forDashboards('approval_decided', fields), { envs: [env], idempotencyKey }),
    ];
  },

  // Agents receive no frame about requests and timeouts: they know their own deadline.
  approvalExpired: ({ approval: { tenantId, env, id, agentId, toolName } }) =>
    toDashboards(
      tenantId,
      forDashboards('approval_timeout', { approval_id: id, agent_id: agentId, tool_name: toolName }),
      { envs: [env], idempotencyKey: `approval:${id}:timeout` },
    ),

  approvalAssigned: ({ approval: { tenantId, env, id, assignee } }) => [
    frame(
      { audience: dashboardsOf(tenantId), envs: [env], part: 'assignments' },
      forDashboards('approval_assigned', {
        approval_id: id,
        assignee: assignee && { ...assignee, since: iso(assignee.since) },
      }),
    ),
  ],
};
