// Approvals that a person has taken, at the end of the person's session.
import type { AppPorts } from '../../shared/use-case-ports.ts';

/** Gives back the approvals of a person who signed out. A failure is logged: the assignments end by their time. */
export async function releaseApprovals(
  { store, announcer, log }: Pick<AppPorts, 'store' | 'announcer' | 'log'>,
  tenantId: string,
  personId: string,
): Promise<void> {
  try {
    const released = await store.approvals.release(tenantId, personId);
    if (released.length === 0) return;
    await announcer.announce(released.map((approval) => ({ kind: 'approvalAssigned', approval })));
  } catch (err) {
    log.warn({ err, tenantId }, 'cannot give back the approvals of a person who signed out');
  }
}
