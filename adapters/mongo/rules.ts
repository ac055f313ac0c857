// Assignment rules in MongoDB: one document each; a unique (tenant, priority) decides who has a priority.
import type { Collection } from 'mongodb';
import type { RuleStore } from '../../src/agent/port.ts';
import { ruleRecord } from '../../src/agent/record.ts';
import { createSharedReads } from '../../src/shared/concurrency/shared-reads.ts';
import { isDuplicate, stale, unlessTaken } from './failure.ts';
import { type Fenced, notAfter, toText } from './form.ts';

export type RuleRow = ReturnType<typeof ruleRecord.toDocument> & Fenced;

export function mongoRules(rules: Collection<RuleRow>): RuleStore {
  const one = (tenantId: string, id: string) => ({ _id: id, tenantId });
  /** @throws HubError unavailable when the rule is there: a later owner wrote it */
  async function absent(tenantId: string, id: string): Promise<void> {
    if (await rules.findOne(one(tenantId, id))) throw stale();
  }
  return {
    // A fleet that comes back asks for the same rules thousands of times.
    list: createSharedReads(async (tenantId) => {
      const rows = await rules.find({ tenantId }).sort({ priority: 1 }).toArray();
      return rows.map((row) => ruleRecord.fromDocument(row));
    }),
    async create(rule) {
      return (await unlessTaken(rules.insertOne(ruleRecord.toDocument(rule)))) ? 'created' : 'priority_taken';
    },
    async update(tenantId, id, patch, fence = 0) {
      const { tagMatch, ...rest } = patch;
      const fields = Object.entries({
        ...rest,
        ...(tagMatch === undefined ? {} : { tagMatch: toText(tagMatch) }),
      }).filter(([, value]) => value !== undefined);
      try {
        const row =
          fields.length === 0
            ? await rules.findOne(one(tenantId, id))
            : await rules.findOneAndUpdate(
                { ...one(tenantId, id), ...notAfter(fence) },
                { $set: { ...Object.fromEntries(fields), fence } },
                { returnDocument: 'after' },
              );
        if (row === null) await absent(tenantId, id);
        return row === null ? 'absent' : ruleRecord.fromDocument(row);
      } catch (error) {
        if (isDuplicate(error)) return 'priority_taken';
        throw error;
      }
    },
    async remove(tenantId, id, fence = 0) {
      const row = await rules.findOneAndDelete({ ...one(tenantId, id), ...notAfter(fence) });
      if (row === null) await absent(tenantId, id);
      return row && ruleRecord.fromDocument(row);
    },
  };
}
