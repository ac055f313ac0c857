// Approvals in MongoDB: one document each. A transition is one update of a document that is still pending, so it
// happens once.
import type { Collection } from 'mongodb';
import type { ApprovalStore } from '../../src/approval/port.ts';
import { type Approval, decidedFields } from '../../src/approval/record.ts';
import { environments } from '../../src/shared/ids.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import { approvalAnnouncements } from './approval-announcements.ts';
import { mongoApprovalArguments } from './approval-arguments.ts';
import { approvalLists, waitingApprovals } from './approval-query.ts';
import { type ApprovalRow, type ArgsRow, approvalOf, rowOf } from './approval-rows.ts';
import { approvalTimeouts } from './approval-timeouts.ts';
import type { ExportLog } from './export-log.ts';
import { isDuplicate } from './failure.ts';
import { fromText } from './form.ts';
import type { RisingIds } from './uuidv7.ts';

export function mongoApprovals(
  approvals: Collection<ApprovalRow>,
  args: Collection<ArgsRow>,
  nextId: RisingIds,
  clock: Clock,
  exportLog: Pick<ExportLog, 'noteChange'>,
): ApprovalStore {
  const one = (tenantId: string, id: string) => ({ _id: id, tenantId });
  const get = async (tenantId: string, id: string): Promise<Approval | null> => {
    const row = await approvals.findOne(one(tenantId, id));
    return row && approvalOf(row);
  };
  const timeOut = approvalTimeouts(approvals);
  const noteAnnounced = approvalAnnouncements(approvals, clock);

  return {
    ...mongoApprovalArguments(args, approvals),
    ...approvalLists(approvals),
    ...waitingApprovals(approvals),
    async getWhole(tenantId, id) {
      const approval = await get(tenantId, id);
      if (!approval || approval.toolArgs !== null || approval.argsBytes === 0) return approval;
      const kept = await args.findOne({ _id: id, tenantId });
      return { ...approval, toolArgs: fromText(kept?.json ?? null) };
    },
    async insert(approval) {
      try {
        await approvals.insertOne(rowOf(approval, nextId(approval.createdAt)));
        exportLog.noteChange(approval.tenantId, approval.id, 'requested');
        return approval;
      } catch (error) {
        const stored = isDuplicate(error) ? await get(approval.tenantId, approval.id) : null;
        if (stored === null) throw error;
        return stored;
      }
    },
    get,
    async decide(tenantId, id, decision, now) {
      const outcome = decidedFields(decision, now);
      // The rest of it never changes, so it is read beside the write: findOneAndUpdate walks the whole collection on
      // the stand-in server.
      const [written, read] = await Promise.allSettled([
        approvals.updateOne(
          { ...one(tenantId, id), status: 'pending', deadline: { $gt: now } },
          {
            $set: { ...outcome, decisionId: decision.id, unannouncedAt: now },
            $addToSet: { unlined: 'decided' },
          },
        ),
        approvals.findOne(one(tenantId, id)),
      ]);
      if (written.status === 'rejected') throw written.reason;
      const row = read.status === 'fulfilled' ? read.value : null;
      if (written.value.matchedCount === 1) exportLog.noteChange(tenantId, id, 'decided');
      if (written.value.matchedCount === 1 && row) return { ...approvalOf(row), ...outcome };
      const stored = await approvals.findOne(one(tenantId, id));
      if (stored === null) return 'absent';
      return stored.decisionId === decision.id ? approvalOf(stored) : 'not_pending';
    },
    async assign(tenantId, id, assignee, now) {
      const { matchedCount } = await approvals.updateOne(
        { ...one(tenantId, id), status: 'pending', deadline: { $gt: now } },
        { $set: { assignee } },
      );
      const stored = await get(tenantId, id);
      if (stored === null) return 'absent';
      return matchedCount === 1 ? { ...stored, assignee } : 'not_pending';
    },
    async release(tenantId, personId) {
      const rows = await approvals
        .find({ tenantId, env: { $in: [...environments] }, status: 'pending', 'assignee.id': personId })
        .toArray();
      await approvals.updateMany(
        { _id: { $in: rows.map(({ _id }) => _id) }, tenantId, status: 'pending', 'assignee.id': personId },
        { $set: { assignee: null } },
      );
      return rows.map((row) => ({ ...approvalOf(row), assignee: null }));
    },
    async expire(tenantId, id, now) {
      const expired = await timeOut({ tenantId, id, now });
      if (expired) exportLog.noteChange(tenantId, id, 'expired');
      return expired;
    },
    async announced(tenantId, status, ids) {
      await Promise.all(ids.map((id) => noteAnnounced({ tenantId, id, status })));
    },
    async remove(tenantId, id) {
      await approvals.deleteOne(one(tenantId, id));
      await args.deleteOne({ _id: id, tenantId });
    },
  };
}
