// Times out approvals in MongoDB, those of one moment by one bulk write.
import { randomUUID } from 'node:crypto';
import type { Collection } from 'mongodb';
import type { Approval } from '../../src/approval/record.ts';
import { createBatcher } from '../../src/shared/concurrency/batcher.ts';
import { type ApprovalRow, approvalOf } from './approval-rows.ts';
import { byTenant } from './form.ts';

/** An approval that may be due. */
interface Due {
  readonly tenantId: string;
  readonly id: string;
  readonly now: number;
}

const atOnce = 200;

/**
 * Makes the function that times out one approval, and returns it; null where it is not due, or not pending any more.
 * Thousands may be due at once, so approvals share bulk writes. The name of the bulk write is in each approval that the
 * write timed out.
 * @param note called with each approval that timed out
 */
export function approvalTimeouts(approvals: Collection<ApprovalRow>, note: (row: ApprovalRow) => void) {
  const expire = createBatcher<Due, { readonly approval: Approval | null }>(async (due) => {
    const timedOutBy = randomUUID();
    // All of these times are past: the last of them is none too early for any.
    const now = Math.max(...due.map((one) => one.now));
    const $set = {
      status: 'timeout' as const,
      decidedVia: 'system' as const,
      unannouncedAt: now,
      timedOutBy,
    };
    const writes = byTenant(due, (one) => one.id).map(([tenantId, ids]) => {
      const filter = { _id: { $in: ids }, tenantId, status: 'pending' as const, deadline: { $lte: now } };
      return { updateMany: { filter, update: { $set, $addToSet: { unlined: 'expired' as const } } } };
    });
    await approvals.bulkWrite(writes, { ordered: false });
    const ids = due.map(({ id }) => id);
    const rows = await approvals.find({ _id: { $in: ids }, timedOutBy }).toArray();
    for (const row of rows) note(row);
    const won = new Map(rows.map((row) => [row._id, approvalOf(row)]));
    return due.map(({ id }) => {
      const approval = won.get(id) ?? null;
      // Asked for twice in one bulk write, it was timed out by the first.
      won.delete(id);
      return { approval };
    });
  }, atOnce);
  return async (due: Due): Promise<Approval | null> => (await expire(due)).approval;
}
