// Assignment rules in MongoDB: one document each; a unique (tenant, priority) decides who has a priority.
import type { Collection } from 'mongodb';
import type { RuleStore } from '../../src/agent/port.ts';
import type { AssignmentRule, Tags } from '../../src/agent/record.ts';
import { createSharedReads } from '../../src/shared/concurrency/shared-reads.ts';
import { isDuplicate, stale, unlessTaken } from './failure.ts';
import { type Fenced, fromRow, fromText, notAfter, type Row, toRow, toText } from './form.ts';

export type RuleRow = Omit<Row<AssignmentRule>, 'tagMatch'> & Fenced & { readonly tagMatch: string | null };

const record = ({ fence: _fence, ...row }: RuleRow): AssignmentRule =>
  fromRow<AssignmentRule>({ ...row, tagMatch: fromText<Tags>(row.tagMatch) });

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
      return rows.map(record);
    }),
    async create(rule) {
      const row = { ...toRow(rule), tagMatch: toText(rule.tagMatch) };
      return (await unlessTaken(rules.insertOne(row))) ? 'created' : 'priority_taken';
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
        return row === null ? 'absent' : record(row);
      } catch (error) {
        if (isDuplicate(error)) return 'priority_taken';
        throw error;
      }
    },
    async remove(tenantId, id, fence = 0) {
      const row = await rules.findOneAndDelete({ ...one(tenantId, id), ...notAfter(fence) });
      if (row === null) await absent(tenantId, id);
      return row && record(row);
    },
  };
}
