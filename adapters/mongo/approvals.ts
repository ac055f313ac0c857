// Approvals in MongoDB: one document each. A transition is one update of a document that is still pending, so it
// happens once.
import type { Collection } from 'mongodb';
import type { ApprovalStore } from '../../src/approval/port.ts';
import {
  type Approval,
  type ApprovalAssignee,
  type Decision,
  decidedFields,
} from '../../src/approval/record.ts';
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

const one = (tenantId: string, id: string) => ({ _id: id, tenantId });

const storedApproval = async (
  approvals: Collection<ApprovalRow>,
  tenantId: string,
  id: string,
): Promise<Approval | null> => {
  const row = await approvals.findOne(one(tenantId, id));
  return row && approvalOf(row);
};

async function wholeApproval(
  approvals: Collection<ApprovalRow>,
  args: Collection<ArgsRow>,
  tenantId: string,
  id: string,
): Promise<Approval | null> {
  const approval = await storedApproval(approvals, tenantId, id);
  if (!approval || approval.toolArgs !== null || approval.argsBytes === 0) return approval;
  const kept = await args.findOne({ _id: id, tenantId });
  return { ...approval, toolArgs: fromText(kept?.json ?? null) };
}

async function requestApproval(
  approvals: Collection<ApprovalRow>,
  nextId: RisingIds,
  exportLog: Pick<ExportLog, 'noteChange'>,
  approval: Approval,
): Promise<Approval> {
  try {
    const row = rowOf(approval, nextId(approval.createdAt));
    await approvals.insertOne(row);
    exportLog.noteChange(row, 'requested');
    return approval;
  } catch (error) {
    const stored = isDuplicate(error)
      ? await storedApproval(approvals, approval.tenantId, approval.id)
      : null;
    if (stored === null) throw error;
    return stored;
  }
}

async function decideApproval(
  approvals: Collection<ApprovalRow>,
  exportLog: Pick<ExportLog, 'noteChange'>,
  tenantId: string,
  id: string,
  decision: Decision,
  now: number,
): Promise<Approval | 'absent' | 'not_pending'> {
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
  if (written.value.matchedCount === 1) exportLog.noteChange(row ?? one(tenantId, id), 'decided');
  if (written.value.matchedCount === 1 && row) return { ...approvalOf(row), ...outcome };
  const stored = await approvals.findOne(one(tenantId, id));
  if (stored === null) return 'absent';
  return stored.decisionId === decision.id ? approvalOf(stored) : 'not_pending';
}

async function assignApproval(
  approvals: Collection<ApprovalRow>,
  tenantId: string,
  id: string,
  assignee: ApprovalAssignee | null,
  now: number,
): Promise<Approval | 'absent' | 'not_pending'> {
  const { matchedCount } = await approvals.updateOne(
    { ...one(tenantId, id), status: 'pending', deadline: { $gt: now } },
    { $set: { assignee } },
  );
  const stored = await storedApproval(approvals, tenantId, id);
  if (stored === null) return 'absent';
  return matchedCount === 1 ? { ...stored, assignee } : 'not_pending';
}

async function releaseApprovals(
  approvals: Collection<ApprovalRow>,
  tenantId: string,
  personId: string,
): Promise<readonly Approval[]> {
  const rows = await approvals
    .find({ tenantId, env: { $in: [...environments] }, status: 'pending', 'assignee.id': personId })
    .toArray();
  await approvals.updateMany(
    { _id: { $in: rows.map(({ _id }) => _id) }, tenantId, status: 'pending', 'assignee.id': personId },
    { $set: { assignee: null } },
  );
  return rows.map((row) => ({ ...approvalOf(row), assignee: null }));
}

export function mongoApprovals(
  approvals: Collection<ApprovalRow>,
  args: Collection<ArgsRow>,
  nextId: RisingIds,
  clock: Clock,
  exportLog: Pick<ExportLog, 'noteChange'>,
): ApprovalStore {
  const expire = approvalTimeouts(approvals, (row) => exportLog.noteChange(row, 'expired'));
  const noteAnnounced = approvalAnnouncements(approvals, clock);

  return {
    ...mongoApprovalArguments(args, approvals),
    ...approvalLists(approvals),
    ...waitingApprovals(approvals),
    getWhole: (tenantId, id) => wholeApproval(approvals, args, tenantId, id),
    request: (approval) => requestApproval(approvals, nextId, exportLog, approval),
    get: (tenantId, id) => storedApproval(approvals, tenantId, id),
    decide: (tenantId, id, decision, now) =>
      decideApproval(approvals, exportLog, tenantId, id, decision, now),
    assign: (tenantId, id, assignee, now) => assignApproval(approvals, tenantId, id, assignee, now),
    release: (tenantId, personId) => releaseApprovals(approvals, tenantId, personId),
    expire: (tenantId, id, now) => expire({ tenantId, id, now }),
    async announced(tenantId, status, ids) {
      await Promise.all(ids.map((id) => noteAnnounced({ tenantId, id, status })));
    },
    async remove(tenantId, id) {
      await approvals.deleteOne(one(tenantId, id));
      await args.deleteOne({ _id: id, tenantId });
    },
  };
}
