// Session values in MongoDB, for hubs that keep them in the store; adapters/redis has the faster ones. Adding is a compare-and-set.
import type { Collection } from 'mongodb';
import { type ValueStore, valueTtlMs } from '../../src/ports/values.ts';
import { isDuplicate, unavailable } from './failure.ts';
import type { Turns } from './turns.ts';

export interface ValueRow {
  readonly tenantId: string;
  readonly key: string;
  readonly value: string;
  readonly expiresAt: number;
}

const attempts = 100;
const numberPattern = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i;

/** The sum, or null when the text is not a finite number or the sum is not. */
function sum(text: string, amount: number): number | null {
  const total = numberPattern.test(text) ? Number(text) + amount : Number.NaN;
  return Number.isFinite(total) ? total : null;
}

export function mongoValues(values: Collection<ValueRow>, turn: Turns): ValueStore {
  const one = (tenantId: string, key: string) => ({ tenantId: { $eq: tenantId }, key: { $eq: key } });
  async function set(tenantId: string, key: string, value: string, now: number): Promise<void> {
    const change = { $set: { value, expiresAt: now + valueTtlMs } };
    try {
      await values.updateOne(one(tenantId, key), change, { upsert: true });
    } catch (error) {
      if (!isDuplicate(error)) throw error;
      await values.updateOne(one(tenantId, key), change);
    }
  }
  return {
    set,
    async get(tenantId, key, now) {
      return (await values.findOne({ ...one(tenantId, key), expiresAt: { $gt: now } }))?.value ?? null;
    },
    async getMany(tenantId, keys, now) {
      const rows = await values
        .find({ tenantId: { $eq: tenantId }, key: { $in: [...keys] }, expiresAt: { $gt: now } })
        .toArray();
      return new Map(rows.map((row) => [row.key, row.value]));
    },
    increment: (tenantId, key, amount, now) =>
      turn(`values/${tenantId}/${key}`, async () => {
        for (let attempt = 0; attempt < attempts; attempt++) {
          const row = await values.findOne(one(tenantId, key));
          const total = sum(row && row.expiresAt > now ? row.value : '0', amount);
          if (total === null) return 'not_a_number';
          const next = { value: String(total), expiresAt: now + valueTtlMs };
          if (row) {
            const same = { _id: row._id, value: { $eq: row.value }, expiresAt: { $eq: row.expiresAt } };
            if ((await values.updateOne(same, { $set: next })).matchedCount === 1) return total;
            continue;
          }
          try {
            await values.insertOne({ tenantId, key, ...next });
            return total;
          } catch (error) {
            if (!isDuplicate(error)) throw error;
          }
        }
        throw unavailable();
      }),
    async remove(tenantId, key) {
      await values.deleteOne(one(tenantId, key));
    },
    async sweep(now, limit) {
      const old = { expiresAt: { $lte: now } };
      const rows = await values
        .find(old, { projection: { _id: 1 } })
        .limit(limit)
        .toArray();
      if (rows.length === 0) return 0;
      const { deletedCount } = await values.deleteMany({ ...old, _id: { $in: rows.map((row) => row._id) } });
      return deletedCount;
    },
  };
}
