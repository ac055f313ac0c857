// The arguments of approvals in MongoDB, kept apart from the approvals: lists never read them.
import type { Collection } from 'mongodb';
import type { ApprovalStore, KeptArgs } from '../../src/approval/port.ts';
import { argsRecord, largeArgs } from '../../src/approval/record.ts';
import {
  enoughToRemove,
  type Holding,
  largestHolders,
  missingBytes,
  type RemovableArgs,
} from '../../src/approval/rules/argument-quota.ts';
import type { ApprovalRow, ArgsRow } from './approval-rows.ts';
import { unlessTaken } from './failure.ts';
import { deleteSome } from './removal.ts';

/** Approvals that one query looks up. */
const atOnce = 1_000;

const isKept = async (args: Collection<ArgsRow>, { tenantId, id }: KeptArgs): Promise<boolean> =>
  (await args.findOne({ _id: id, tenantId }, { projection: { _id: 1 } })) !== null;

const holdingsOf = async (
  args: Collection<ArgsRow>,
  { tenantId, env }: KeptArgs,
): Promise<readonly Holding[]> => {
  const rows = await args
    .aggregate<{ readonly _id: string | null; readonly bytes: number }>([
      { $match: { tenantId, env, bytes: { $gt: largeArgs } } },
      { $group: { _id: '$keyId', bytes: { $sum: '$bytes' } } },
    ])
    .toArray();
  return rows.map(({ _id, bytes }) => ({ keyId: _id, bytes }));
};

/** Large arguments of a key whose approvals have ended: timed out ones first, then oldest first. */
async function removableOf(
  args: Collection<ArgsRow>,
  approvals: Collection<ApprovalRow>,
  { tenantId, env, createdAt: now }: KeptArgs,
  keyId: string | null,
): Promise<readonly RemovableArgs[]> {
  const large = { tenantId, env, keyId, bytes: { $gt: largeArgs } } as const;
  const rows = await args
    .find(large, { projection: { bytes: 1 } })
    .sort({ createdAt: 1, _id: 1 })
    .toArray();
  const timedOut: RemovableArgs[] = [];
  const decided: RemovableArgs[] = [];
  for (let start = 0; start < rows.length; start += atOnce) {
    const portion = rows.slice(start, start + atOnce);
    const owners = await approvals
      .find(
        { _id: { $in: portion.map(({ _id }) => _id) }, tenantId },
        { projection: { status: 1, deadline: 1 } },
      )
      .toArray();
    const approvalById = new Map(owners.map((owner) => [owner._id, owner]));
    for (const { _id: id, bytes } of portion) {
      const owner = approvalById.get(id);
      if (!owner || (owner.status === 'pending' && owner.deadline > now)) continue;
      const isDecided = owner.status === 'approved' || owner.status === 'denied';
      (isDecided ? decided : timedOut).push({ id, bytes });
    }
  }
  return [...timedOut, ...decided];
}

/** False when too few arguments may be removed: all of them stay. */
async function makeRoom(
  args: Collection<ArgsRow>,
  approvals: Collection<ApprovalRow>,
  request: KeptArgs,
  quota: number,
): Promise<boolean> {
  const holdings = await holdingsOf(args, request);
  const missing = missingBytes(holdings, request, quota);
  if (missing <= 0 || (await isKept(args, request))) return true;
  if (request.bytes > quota) return false;
  const removable: RemovableArgs[] = [];
  for (const keyId of largestHolders(holdings, request)) {
    removable.push(...(await removableOf(args, approvals, request, keyId)));
    const ids = enoughToRemove(removable, missing);
    if (!ids) continue;
    await args.deleteMany({ _id: { $in: [...ids] }, tenantId: request.tenantId });
    return true;
  }
  return false;
}

export const mongoApprovalArguments = (
  args: Collection<ArgsRow>,
  approvals: Collection<ApprovalRow>,
): Pick<ApprovalStore, 'createArgs' | 'removeArgs' | 'removeLargeArgs'> => ({
  async createArgs(request, quota) {
    if (request.bytes > largeArgs && !(await makeRoom(args, approvals, request, quota))) return 'full';
    return (await unlessTaken(args.insertOne(argsRecord.toDocument(request)))) ? 'created' : 'kept';
  },
  async removeArgs(tenantId, id) {
    await args.deleteOne({ _id: id, tenantId });
  },
  removeLargeArgs(before, limit) {
    const old = { createdAt: { $lt: before }, bytes: { $gt: largeArgs } };
    return deleteSome(args, old, { sort: { createdAt: 1 }, limit });
  },
});
