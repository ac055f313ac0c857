// Approvals in the console API's words.
import type { z } from 'zod';
import type { OwnLimits } from '../../admission/limit.ts';
import type { Caller } from '../../http/contract/call.ts';
import { openCursor, sealCursor } from '../../http/contract/cursor.ts';
import type { Handlers, Hub } from '../../http/contract/handler.ts';
import { requireIdempotencyKey } from '../../http/contract/idempotency-key.ts';
import { keyPrincipalOf, principalOf } from '../../http/contract/principal.ts';
import { iso } from '../../http/contract/render.ts';
import { consoleApprovalRequest } from '../record.ts';
import { deadlineCursor, readDeadline } from './cursors.ts';
import { listApprovals } from './lists.ts';
import { askingAgents, principalShown, render, renderForPeople, timeoutEffectOf } from './render.ts';
import type { approvalRoutes } from './routes.ts';

type KeyCaller = Extract<Caller, { kind: 'key' }>;
export type ApprovalBody = z.output<typeof approvalRoutes.createApproval.body>;

export const approvals: Handlers<typeof approvalRoutes> = {
  createApproval: (hub, { body }, caller, request) =>
    requestApproval(hub, caller, body, request.limits, keyOf(request.header('idempotency-key'))),

  async approvalGroups(hub, { query }, caller) {
    const scope = { tenantId: caller.tenantId, list: 'approval_groups_pending' } as const;
    const after = query.cursor === undefined ? null : readDeadline(openCursor(hub, scope, query.cursor));
    const { groups, next } = await hub.app.approvalGroups.list(principalOf(caller), query.env ?? null, after);
    return {
      groups: groups.map(({ toolName, contractNames, firstDeadline, amounts, differing, ids, ...group }) => ({
        ...group,
        tool_name: toolName,
        contract_names: [...contractNames],
        first_expires_at: iso(firstDeadline),
        amounts: [...amounts],
        differing: [...differing],
        ids: [...ids],
      })),
      next_cursor: next === null ? null : sealCursor(hub, scope, deadlineCursor(next)),
    };
  },

  listApprovals: (hub, { query }, caller) => listApprovals(hub, query, caller),

  async getApproval({ app, clock }, { params }, caller) {
    const approval = await app.approvals.get(principalOf(caller), params.approval_id);
    return caller.kind === 'user' ? renderForPeople(approval, clock.now()) : render(approval);
  },

  async assignApproval({ app, clock }, { params, body }, caller) {
    const principal = principalOf(caller);
    const assigned = await app.approvalAssignments.assign(principal, params.approval_id, body.user_id);
    return renderForPeople(assigned, clock.now());
  },

  async decideApproval({ app, clock }, { params, body }, caller) {
    const decided = await app.approvals.decide(principalOf(caller), params.approval_id, {
      approved: body.approved,
      reason: body.reason ?? null,
      decidedVia: body.decided_via ?? 'console',
    });
    return renderForPeople(decided, clock.now());
  },

  withdrawApproval: async ({ app }, { params }, caller) =>
    render(await app.approvals.withdraw(keyPrincipalOf(caller), params.approval_id)),
};

/** Some clients send an empty header for no key. @throws HubError validation_failed */
const keyOf = (header: string | null): string | null =>
  header === null || header === '' ? null : requireIdempotencyKey(header);

/**
 * Asks for an approval over a route or a socket.
 * @throws HubError validation_failed when neither header nor body names the agent; the refusal of the limits, unless
 *   the request is a repeat
 */
export async function requestApproval(
  { app }: Pick<Hub, 'app'>,
  caller: KeyCaller,
  body: ApprovalBody,
  limits: Pick<OwnLimits, 'refusal'>,
  idempotencyKey: string | null = null,
) {
  const call = consoleApprovalRequest.read(body);
  const approvalRequest = {
    ...call,
    ...askingAgents(caller, call.agentId || null),
    timeoutEffect: timeoutEffectOf(call.timeoutEffect),
    principal: principalShown(call.principal),
    decisionSource: call.decisionSource || null,
    contractName: call.contractName || null,
    sessionId: call.sessionId || null,
    callId: call.callId || null,
  };
  const identity = { idempotencyKey };
  return render(
    await app.approvals.request(keyPrincipalOf(caller), approvalRequest, identity, limits.refusal()),
  );
}
