// Routes of approvals.
import { z } from 'zod';
import { limits } from '../../admission/limit.ts';
import { maxQueryLength } from '../../event/rules/query/parse.ts';
import {
  approvalStatus,
  env,
  instant,
  instantInput,
  line,
  paging,
  pathId,
  text,
  uuid,
} from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';
import { approvalRecord, consoleApprovalRequest, decidedViaLabel, withdrawnVia } from '../record.ts';
import { assignee } from './render.ts';

export const approval = approvalRecord.reply('console', 'one').extend({
  /**
   * The person who has taken it; null: nobody. Others may decide all the same. Ends after 30 minutes and at sign-out.
   * For people alone.
   */
  assignee: assignee.nullable().optional(),
});

const listedApproval = approvalRecord
  .reply('console', 'list')
  .extend({ assignee: assignee.nullable().optional() });

const params = z.object({ approval_id: pathId });

export const approvalRoutes = routes({
  createApproval: {
    method: 'POST',
    path: '/api/v1/approvals',
    auth: ['key'],
    role: 'agent',
    envs: 'none',
    tag: 'approvals',
    summary: 'Request an approval for a tool call; at most 10 per agent in 60 seconds',
    exactNumbers: true,
    body: z.object(consoleApprovalRequest.shape),
    agent: 'header',
    limits: [limits.approvalsOfAgent, limits.approvalsOfKey],
    canRepeatOverLimit: true,
    status: 201,
    reply: approval,
    audit: ['approval.created'],
    errors: [
      'forbidden',
      'payload_too_large',
      'quota_exceeded',
      'validation_failed',
      'rate_limited',
      'disk_full',
      'overloaded',
      'unavailable',
    ],
  },
  listApprovals: {
    method: 'GET',
    path: '/api/v1/approvals',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'query',
    tag: 'approvals',
    summary:
      'Approvals, newest first, or pending ones by their deadline; Link and X-Next-Cursor name the next page',
    query: z.object({
      status: approvalStatus.optional(),
      env: env.optional(),
      agent_id: line(255).optional(),
      since: instantInput.optional(),
      until: instantInput.optional(),
      /** Part of the agent's id, the tool's or contract's name, the message, or who decided, in any case. */
      search: text(255, 1).optional(),
      /**
       * A query of the Inbox (docs/query.md). Terms and the other filters narrow together. A page may be short or empty
       * and still have a next one.
       */
      q: text(maxQueryLength).optional(),
      /**
       * The key of a group: its pending members, the first to expire first. `env` counts with it, no other filter. A
       * page may be short or empty and still have a next one.
       */
      group: z
        .string()
        .regex(/^[0-9a-f]{64}$/)
        .optional(),
      /**
       * `expires_at`: pending ones alone, the first to expire first; another `status` is refused. A cursor belongs to
       * its order.
       */
      sort: z.enum(['created_at', 'expires_at']).default('created_at'),
      cursor: text(4096, 1).optional(),
      ...paging(1000, 100),
    }),
    status: 200,
    reply: z.array(listedApproval),
    search: true,
    errors: ['bad_request', 'validation_failed', 'search_timeout', 'rate_limited'],
  },
  approvalGroups: {
    method: 'GET',
    path: '/api/v1/approvals/groups',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'query',
    tag: 'approvals',
    summary:
      'Pending approvals of one tool, the same contracts and one environment, as groups of two and more, the first to ' +
      'expire first, at most 100',
    query: z.object({ env: env.optional(), cursor: text(4096, 1).optional() }),
    status: 200,
    reply: z.object({
      groups: z.array(
        z.object({
          /** For the parameter `group` of the list. */
          key: z.string(),
          tool_name: z.string(),
          contract_names: z.array(z.string()),
          env,
          /** All members. */
          count: z.number().int(),
          first_expires_at: instant,
          /** This and the rest are of the 200 members that expire next. `currency` is null where none is named. */
          amounts: z.array(
            z.object({ currency: z.string().nullable(), sum: z.number(), min: z.number(), max: z.number() }),
          ),
          /** Paths whose values differ (`args.…`, `principal.…`), and `agent`; at most 100. */
          differing: z.array(z.string()),
          ids: z.array(uuid),
        }),
      ),
      next_cursor: z.string().nullable(),
    }),
    search: true,
    errors: ['bad_request', 'validation_failed', 'search_timeout', 'rate_limited'],
  },
  getApproval: {
    method: 'GET',
    path: '/api/v1/approvals/{approval_id}',
    auth: ['key', 'cookie'],
    role: 'viewer',
    envs: 'record',
    tag: 'approvals',
    summary: 'One approval; an API key can read those in its environment',
    params,
    status: 200,
    reply: approval,
    errors: ['not_found', 'validation_failed'],
  },
  assignApproval: {
    method: 'PUT',
    path: '/api/v1/approvals/{approval_id}/assignee',
    auth: ['cookie'],
    role: 'approver',
    peopleOnly: true,
    envs: 'record',
    tag: 'approvals',
    summary:
      'Take a pending approval, or (null) give it back, whoever has it. Advice: others may still decide',
    params,
    body: z.object({
      /** Your own id, or null. */
      user_id: uuid.nullable(),
    }),
    status: 200,
    reply: approval,
    audit: ['approval.assigned'],
    errors: ['not_found', 'conflict', 'validation_failed', 'disk_full', 'overloaded', 'unavailable'],
  },
  decideApproval: {
    method: 'PUT',
    path: '/api/v1/approvals/{approval_id}',
    auth: ['cookie'],
    role: 'approver',
    envs: 'record',
    tag: 'approvals',
    summary: 'Approve or deny; the decider is the signed-in user',
    params,
    body: z.object({
      approved: z.boolean(),
      reason: text(2000).nullish(),
      /** Only a label of where it was reviewed. The agent's own word for a withdrawal is refused. */
      decided_via: decidedViaLabel(withdrawnVia).nullish(),
    }),
    status: 200,
    reply: approval,
    audit: ['approval.approved', 'approval.rejected'],
    errors: ['not_found', 'conflict', 'validation_failed', 'disk_full', 'overloaded', 'unavailable'],
  },
  withdrawApproval: {
    method: 'POST',
    path: '/api/v1/approvals/{approval_id}/withdraw',
    auth: ['key'],
    role: 'agent',
    envs: 'none',
    tag: 'approvals',
    summary:
      "Withdraw the agent's own pending request: it is denied by the agent, with decided_via `withdrawn`",
    params,
    agent: 'header',
    status: 200,
    reply: approval,
    audit: ['approval.rejected'],
    errors: ['not_found', 'conflict', 'validation_failed', 'disk_full', 'overloaded', 'unavailable'],
  },
});
