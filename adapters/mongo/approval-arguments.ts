// The arguments of approvals in MongoDB, kept apart from the approvals: lists never read them.
import type { Collection } from 'mongodb';
import { largeArgs } from '../../src/domain/approval.ts';
import type { ApprovalStore } from '../../src/ports/approvals.ts';
import type { ArgsRow } from './approval-rows.ts';
import { unlessTaken } from './failure.ts';

export function mongoApprovalArguments(
  args: Collection<ArgsRow>,
): Pick<ApprovalStore, 'keepArgs' | 'dropArgs' | 'dropLargeArgs'> {
  return {
    async keepArgs({ id, ...rest }, quota) {
      const { tenantId, env, bytes } = rest;
      if (bytes > largeArgs) {
        const [large] = await args
          .aggregate<{ readonly bytes: number }>([
            { $match: { tenantId, env, bytes: { $gt: largeArgs } } },
            { $group: { _id: null, bytes: { $sum: '$bytes' } } },
          ])
          .toArray();
        if ((large?.bytes ?? 0) + bytes > quota) return 'full';
      }
      await unlessTaken(args.insertOne({ _id: id, ...rest }));
      return 'kept';
    },
    async dropArgs(tenantId, id) {
      await args.deleteOne({ _id: id, tenantId });
    },
    async dropLargeArgs(before, limit) {
      const old = { createdAt: { $lt: before }, bytes: { $gt: largeArgs } };
      const rows = await args
        .find(old, { projection: { _id: 1 } })
        .sort({ createdAt: 1 })
        .limit(limit)
        .toArray();
      if (rows.length === 0) return 0;
      return (await args.deleteMany({ _id: { $in: rows.map((row) => row._id) } })).deletedCount;
    },
  };
}
