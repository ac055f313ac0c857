// Assignments: the person who looks after a pending approval. Advice alone: everybody who may decide still may. An
// assignment ends with the approval, when its person signs out, and after 30 minutes. Keeps promise P71.
import { noted } from '../../audit/note.ts';
import { requireRole, seesEnv } from '../../shared/access.ts';
import { fieldProblem, HubError, notFound } from '../../shared/error.ts';
import { actorName, type Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { Approval, ApprovalAssignee } from '../record.ts';
import { alreadyEnded } from '../rules/state.ts';

export interface ApprovalAssignments {
  /**
   * Gives an approval to the person who asks, or (null) to nobody.
   * @throws HubError forbidden, person_required, not_found, conflict (decided or timed out), validation_failed for
   *   another person
   */
  assign(principal: Principal, approvalId: string, personId: string | null): Promise<Approval>;
  /** Gives back the approvals of a person who signed out. A failure is logged: the assignments end by their time. */
  release(tenantId: string, personId: string): Promise<void>;
}

type Ports = Pick<AppPorts, 'store' | 'clock' | 'secrets' | 'announcer' | 'log'>;

const unknown = () => notFound('Approval not found.');

export function createApprovalAssignments(ports: Ports): ApprovalAssignments {
  const { store, clock, announcer, log } = ports;
  return {
    async assign(principal, approvalId, personId) {
      const { tenantId, actor } = principal;
      requireRole(principal, 'approver');
      if (actor.kind !== 'user')
        throw new HubError('person_required', 'Only people take approvals. Sign in as a person.');
      const approval = await store.approvals.get(tenantId, approvalId);
      if (!approval || !seesEnv(principal, approval.env)) throw unknown();
      requireRole(principal, 'approver', approval.env);
      if (personId !== null && personId !== actor.id)
        throw fieldProblem(['userId'], 'must be your own id, or null');
      const now = clock.now();
      const name = actorName(actor);
      const assignee: ApprovalAssignee | null = personId === null ? null : { id: actor.id, name, since: now };
      const assigned = await noted(ports, principal, {
        action: 'approval.assigned',
        subject: { id: approval.id, name: approval.toolName.slice(0, 128) },
        summary: `${name} ${assignee ? 'took' : 'gave back'} a pending call of ${approval.toolName}.`.slice(
          0,
          300,
        ),
        details: { env: approval.env, assignee: assignee?.name ?? null },
        agentId: approval.agentId,
        sessionId: approval.sessionId,
      }).approvals.assign(tenantId, approval.id, assignee, now);
      if (assigned === 'absent') throw unknown();
      if (assigned === 'not_pending') throw alreadyEnded();
      await announcer.announce([{ kind: 'approvalAssigned', approval: assigned }]);
      return assigned;
    },

    async release(tenantId, personId) {
      try {
        const approvals = await store.approvals.release(tenantId, personId);
        if (approvals.length === 0) return;
        await announcer.announce(approvals.map((approval) => ({ kind: 'approvalAssigned', approval })));
      } catch (err) {
        log.warn({ err, tenantId }, 'cannot give back the approvals of a person who signed out');
      }
    },
  };
}
