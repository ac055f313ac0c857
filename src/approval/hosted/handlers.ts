// Approvals in the hosted API's words, over the same actors, deadlines and records as the console's.

import { auditActor } from '../../audit/record.ts';
import { openCursor, sealCursor } from '../../http/contract/cursor.ts';
import type { Handlers } from '../../http/contract/handler.ts';
import { usualEnv } from '../../http/contract/hosted-environment.ts';
import { pageFieldsOf, pageOf } from '../../http/contract/hosted-pages.ts';
import { keyPrincipalOf, principalOf } from '../../http/contract/hosted-principal.ts';
import { HubError, refused } from '../../shared/error.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import { actorName, type Principal } from '../../shared/principal.ts';
import { creationCursor, readCreation } from '../console/cursors.ts';
import { agentMissing, principalShown, timeoutEffectOf } from '../console/render.ts';
import { type Approval, type ApprovalStatus, hostedApprovalRequest } from '../record.ts';
import { render } from './render.ts';
import type { hostedApprovalRoutes } from './routes.ts';

export const hostedApprovals: Handlers<typeof hostedApprovalRoutes> = {
  async hostedCreateApproval({ app }, { body }, caller, request) {
    const { env: bodyEnv, ...call } = hostedApprovalRequest.read(body);
    if (bodyEnv !== null && caller.env !== null && bodyEnv !== caller.env) {
      throw new HubError(
        'env_mismatch',
        `API key is scoped to '${caller.env}', cannot request approvals in '${bodyEnv}'.`,
      );
    }
    const approvalRequest = {
      ...call,
      agentId: call.agentId ?? caller.agentId ?? agentMissing(),
      timeoutEffect: timeoutEffectOf(call.timeoutEffect) ?? 'deny',
      contractName: call.contractName ?? call.toolName.slice(0, 128),
      principal: principalShown(call.principal),
      sessionId: call.sessionId || null,
      callId: call.callId || null,
    };
    const principal = keyPrincipalOf(caller, bodyEnv ?? usualEnv);
    const identity = { id: request.newId };
    return render(
      await app.approvals.request(principal, approvalRequest, identity, request.limits.refusal()),
    );
  },

  async hostedListApprovals(hub, { query }, caller) {
    const { status, limit, offset, cursor } = query;
    const principal = principalOf(caller);
    const filter = {
      env: null,
      ...omitUndefined({
        status: status && statusOf[status],
        agentId: query.agent_id,
        sessionId: query.session_id,
      }),
    };
    const scope = { tenantId: caller.tenantId, list: 'approvals' } as const;
    const after = cursor === undefined ? undefined : readCreation(openCursor(hub, scope, cursor));
    const { approvals } = hub.app;
    const [page, total] = await Promise.all([
      approvals.list(principal, filter, { limit, offset: after ? 0 : offset, ...omitUndefined({ after }) }),
      approvals.count(principal, filter),
    ]);
    const { items } = pageOf(page.visible.map(render), query, page.more);
    // Approvals decided during the read are left out of the page, but the next page starts after them.
    const passed = page.places[items.length] ?? page.items.length;
    const last = page.items[passed - 1];
    const goesOn = (passed < page.items.length || page.more) && last !== undefined;
    return {
      approvals: items,
      total,
      ...pageFieldsOf(query, goesOn ? passed : null),
      next_cursor: goesOn ? sealCursor(hub, scope, creationCursor(last)) : null,
    };
  },

  hostedGetApproval: async ({ app }, { params }, caller) =>
    render(await app.approvals.get(principalOf(caller), params.approval_id)),

  async hostedDecideApproval({ app }, { params, body }, caller) {
    const principal = principalOf(caller);
    const approved = body.decision === 'approved';
    try {
      return render(
        await app.approvals.decide(principal, params.approval_id, {
          approved,
          reason: body.reason ?? null,
          decidedVia: body.decided_via ?? 'api',
        }),
      );
    } catch (error) {
      if (!(error instanceof HubError) || error.code !== 'conflict') throw error;
      const decided = await app.approvals.get(principal, params.approval_id);
      const isRepeat = decided.status === (approved ? 'approved' : 'denied') && isBy(decided, principal);
      if (isRepeat) return render(decided);
      throw tooLate(decided);
    }
  },
};

/** True when this person decided. Without a subject, the names are compared. */
const isBy = ({ decidedBy, decidedBySubject }: Approval, principal: Principal): boolean =>
  decidedBySubject === null
    ? decidedBy === actorName(principal.actor)
    : decidedBySubject === auditActor(principal).id;

/** Error of a decision that came too late, with the state of the approval. */
function tooLate(approval: Approval): HubError {
  const members = { approval: render(approval) };
  return approval.status === 'timeout'
    ? refused(
        'approval_timed_out',
        'The approval has expired, because nobody decided it before its deadline. The agent can request a new one.',
        {
          members,
        },
      )
    : refused(
        'approval_already_decided',
        `${approval.decidedBy ?? 'Another person'} has already decided this approval.`,
        {
          members,
        },
      );
}

const statusOf = {
  pending: 'pending',
  approved: 'approved',
  rejected: 'denied',
  timed_out: 'timeout',
} as const satisfies { readonly [status: string]: ApprovalStatus };
