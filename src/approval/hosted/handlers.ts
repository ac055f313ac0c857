// Approvals in the hosted API's words, over the same actors, deadlines and records as the console's.

import { auditActor } from '../../audit/record.ts';
import { openCursor, sealCursor } from '../../http/contract/cursor.ts';
import type { Handlers } from '../../http/contract/handler.ts';
import { usualEnv } from '../../http/contract/hosted-environment.ts';
import { pageFieldsOf, pageOf } from '../../http/contract/hosted-pages.ts';
import { keyPrincipalOf, principalOf } from '../../http/contract/hosted-principal.ts';
import { micros, microsOrNull } from '../../http/contract/hosted-time.ts';
import { truncated } from '../../http/contract/listed.ts';
import type { ReplyBody } from '../../http/contract/route.ts';
import { HubError, refused } from '../../shared/error.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import { actorName, type Principal } from '../../shared/principal.ts';
import type { Approval, ApprovalStatus } from '../record.ts';
import { agentMissing, placeOf, principalShown, readPlace } from '../wire.ts';
import type { hostedApprovalRoutes } from './routes.ts';

type Rendered = ReplyBody<(typeof hostedApprovalRoutes)['hostedGetApproval']>;

export const hostedApprovals: Handlers<typeof hostedApprovalRoutes> = {
  async hostedCreateApproval({ app }, { body }, caller, request) {
    const asked = body.environment ?? null;
    if (asked !== null && caller.env !== null && asked !== caller.env) {
      throw new HubError(
        'env_mismatch',
        `API key is scoped to '${caller.env}', cannot request approvals in '${asked}'.`,
      );
    }
    const wanted = {
      agentId: body.agent_id ?? caller.agentId ?? agentMissing(),
      namedAgentId: null,
      toolName: body.tool_name,
      toolArgs: body.tool_args ?? null,
      message: body.message,
      timeoutSeconds: body.timeout,
      timeoutEffect: (body.timeout_action ?? body.timeout_effect) === 'allow' ? 'allow' : 'deny',
      decisionSource: null,
      contractName: body.rule_name ?? body.tool_name.slice(0, 128),
      rulesetName: body.ruleset_name ?? null,
      contracts: null,
      principal: principalShown(body.principal),
      sessionId: body.session_id || null,
      callId: body.call_id || null,
    } as const;
    const principal = keyPrincipalOf(caller, asked ?? usualEnv);
    return render(await app.approvals.ask(principal, wanted, { id: request.newId }));
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
    const after = cursor === undefined ? undefined : readPlace(openCursor(hub, scope, cursor));
    const { approvals } = hub.app;
    const [page, total] = await Promise.all([
      approvals.list(principal, filter, { limit, offset: after ? 0 : offset, ...omitUndefined({ after }) }),
      approvals.count(principal, filter),
    ]);
    const { items } = pageOf(page.shown.map(render), query, page.more);
    // What was decided while it was read is not shown, and is passed all the same.
    const passed = page.places[items.length] ?? page.items.length;
    const last = page.items[passed - 1];
    const goesOn = (passed < page.items.length || page.more) && last !== undefined;
    return {
      approvals: items,
      total,
      ...pageFieldsOf(query, goesOn ? passed : null),
      next_cursor: goesOn ? sealCursor(hub, scope, placeOf(last)) : null,
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

/** True when it was this person who decided. Names alone tell for decisions of before subjects were kept. */
const isBy = ({ decidedBy, decidedBySubject }: Approval, principal: Principal): boolean =>
  decidedBySubject === null
    ? decidedBy === actorName(principal.actor)
    : decidedBySubject === auditActor(principal).id;

/** Why a decision came too late, with what became of the approval. */
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

const hostedStatusOf: { readonly [S in ApprovalStatus]: keyof typeof statusOf } = {
  pending: 'pending',
  approved: 'approved',
  denied: 'rejected',
  timeout: 'timed_out',
};

function effectOf({ status, timeoutEffect }: Approval): 'allow' | 'block' | null {
  if (status === 'pending') return null;
  if (status === 'timeout') return timeoutEffect === 'allow' ? 'allow' : 'block';
  return status === 'approved' ? 'allow' : 'block';
}

export function render(approval: Approval): Rendered {
  const { toolArgs, argsBytes } = approval;
  const timedOut = approval.status === 'timeout';
  return {
    id: approval.id,
    status: hostedStatusOf[approval.status],
    agent_id: approval.agentId,
    session_id: approval.sessionId,
    tool_name: approval.toolName,
    tool_args: toolArgs ?? (argsBytes > 0 ? truncated(argsBytes) : null),
    message: approval.message,
    rule_name: approval.contractName ?? approval.toolName,
    ruleset_name: approval.rulesetName,
    environment: approval.env,
    principal: approval.principal,
    timeout: approval.timeoutSeconds,
    timeout_action: approval.timeoutEffect === 'allow' ? 'allow' : 'block',
    created_at: micros(approval.createdAt),
    expires_at: micros(approval.deadline),
    decided_by: approval.decidedBy,
    decided_by_subject: approval.decidedBySubject,
    decided_at: timedOut ? micros(approval.deadline) : microsOrNull(approval.decidedAt),
    decided_via: approval.decidedVia,
    decision_reason: approval.decisionReason,
    effective_action: effectOf(approval),
  };
}
