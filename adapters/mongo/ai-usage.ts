// Usage of AI assistance in MongoDB: one document per tenant and day.
import type { Collection } from 'mongodb';
import type { AiUsageStore } from '../../src/assistant/port/usage.ts';
import { aiDayRecord } from '../../src/assistant/record.ts';
import { unlessTaken } from './failure.ts';

export type AiDayRow = Omit<ReturnType<typeof aiDayRecord.toDocument>, 'cost'> & {
  /** Tenant and day. */
  readonly _id: string;
  /** Absent while no question's cost was known. */
  readonly cost?: number;
};

export function mongoAiUsage(usage: Collection<AiDayRow>): AiUsageStore {
  return {
    async add(tenantId, day, { cost, ...counts }) {
      const _id = JSON.stringify([tenantId, day]);
      const $inc = { queries: 1, ...counts, ...(cost === null ? {} : { cost }) };
      const write = () =>
        usage.updateOne({ _id }, { $inc, $setOnInsert: { tenantId, day } }, { upsert: true });
      // Two first questions of a day may both find nothing: the second then adds.
      if (!(await unlessTaken(write()))) await write();
    },
    async listDays(tenantId, since) {
      const rows = await usage
        .find({ tenantId, day: { $gte: since } })
        .sort({ day: 1 })
        .toArray();
      return rows.map((row) => aiDayRecord.fromDocument(row));
    },
    async removeBefore(before) {
      return (await usage.deleteMany({ day: { $lt: before } })).deletedCount;
    },
  };
}
