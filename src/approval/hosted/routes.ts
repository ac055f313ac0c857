// Routes of approvals in the hosted API's words.
import { z } from 'zod';
import { limits } from '../../admission/limit.ts';
import { line, text } from '../../http/contract/fields.ts';
import {
  cursorQuery,
  hostedPaging,
  identifier,
  nextFields,
  pageFields,
} from '../../http/contract/hosted-fields.ts';
import { routes } from '../../http/contract/route.ts';
import { approvalRecord, decidedViaLabel, hostedApprovalRequest, withdrawnVia } from '../record.ts';

export const hostedApproval = approvalRecord.reply('hosted', 'list');
const hostedStatuses = hostedApproval.shape.status.options;

const params = z.object({ approval_id: identifier });

/** `denied` and `timeout` are the console's words. */
const statusQuery = z
  .enum([...hostedStatuses, 'denied', 'timeout'])
  .transform((status) =>
    status === 'denied' ? ('rejected' as const) : status === 'timeout' ? ('timed_out' as const) : status,
  );

export const hostedApprovalRoutes = routes({
  hostedCreateApproval: {
    method: 'POST',
    path: '/v1/approvals',
    auth: ['hostedKey'],
    role: 'agent',
    envs: 'none',
    tag: 'hosted-approvals',
    summary:
      'Request an approval for a tool call; at most 10 per agent in 60 seconds. A repeat with the same Idempotency-Key returns the same approval',
    exactNumbers: true,
    body: z.object(hostedApprovalRequest.shape),
    agent: 'body',
    limits: [limits.approvalsOfAgent, limits.approvalsOfKey],
    canRepeatOverLimit: true,
    idempotent: 'answer',
    status: 201,
    reply: hostedApproval,
    audit: ['approval.created'],
    errors: [
      'forbidden',
      'env_mismatch',
      'payload_too_large',
      'quota_exceeded',
      'validation_failed',
      'rate_limited',
      'disk_full',
      'overloaded',
      'unavailable',
      'unprocessable',
      'conflict',
    ],
  },
  hostedListApprovals: {
    method: 'GET',
    path: '/v1/approvals',
    auth: ['hostedKey', 'operatorJwt'],
    role: 'viewer',
    envs: 'record',
    tag: 'hosted-approvals',
    summary: 'Approvals, newest first; an API key can read those in its environment and from its agents',
    query: z.object({
      status: statusQuery.optional(),
      agent_id: line(255).optional(),
      session_id: line(255).optional(),
      ...hostedPaging(200, 50),
      cursor: cursorQuery,
    }),
    status: 200,
    reply: z.object({
      approvals: z.array(hostedApproval),
      total: z.number().int(),
      ...pageFields,
      ...nextFields,
    }),
    search: true,
    errors: ['bad_request', 'forbidden', 'validation_failed', 'search_timeout', 'rate_limited'],
  },
  hostedGetApproval: {
    method: 'GET',
    path: '/v1/approvals/{approval_id}',
    auth: ['hostedKey', 'operatorJwt'],
    role: 'viewer',
    envs: 'record',
    tag: 'hosted-approvals',
    summary: 'One approval; an API key can read those in its environment and from its agents',
    params,
    status: 200,
    reply: hostedApproval,
    errors: ['not_found', 'validation_failed'],
  },
  hostedDecideApproval: {
    method: 'POST',
    path: '/v1/approvals/{approval_id}/decide',
    auth: ['operatorJwt'],
    role: 'approver',
    envs: 'record',
    tag: 'hosted-approvals',
    summary:
      'Approve or reject; the token identifies the decider. The same decision by the same person gets the same answer',
    params,
    body: z.object({
      decision: z.enum(['approved', 'rejected']),
      /** Only a label of where it was reviewed. Words for decisions that no person makes are refused. */
      decided_via: decidedViaLabel('chat_bot', 'system', withdrawnVia).nullish(),
      reason: text(2000).nullish(),
    }),
    limits: [limits.decisions],
    status: 200,
    reply: hostedApproval,
    audit: ['approval.approved', 'approval.rejected'],
    errors: [
      'forbidden',
      'not_found',
      'rate_limited',
      'conflict',
      'validation_failed',
      'overloaded',
      'unavailable',
    ],
  },
});
