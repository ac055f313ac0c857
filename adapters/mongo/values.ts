// Session values in MongoDB, for hubs that keep them in the store; adapters/redis has the faster ones. Adding is a compare-and-set; what was
// added to one key while a write was under way goes into the next write together.
import type { Collection, WithId } from 'mongodb';
import type { KeyedMutex } from '../../src/concurrency/keyed-mutex.ts';
import { type ValueStore, valueTtlMs } from '../../src/ports/values.ts';
import { unavailable, unlessTaken } from './failure.ts';

export interface ValueRow {
  readonly tenantId: string;
  readonly key: string;
  readonly value: string;
  readonly expiresAt: number;
}

interface Addition {
  readonly amount: number;
  readonly now: number;
  readonly resolve: (sum: number | 'not_a_number') => void;
  readonly reject: (error: unknown) => void;
}

const attempts = 100;
const numberPattern = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i;

/** The sum, or null when the text is not a finite number or the sum is not. */
function sum(text: string, amount: number): number | null {
  const total = numberPattern.test(text) ? Number(text) + amount : Number.NaN;
  return Number.isFinite(total) ? total : null;
}

export function mongoValues(values: Collection<ValueRow>, turn: KeyedMutex): ValueStore {
  const one = (tenantId: string, key: string) => ({ tenantId, key });
  async function set(tenantId: string, key: string, value: string, now: number): Promise<void> {
    const change = { $set: { value, expiresAt: now + valueTtlMs } };
    if (await unlessTaken(values.updateOne(one(tenantId, key), change, { upsert: true }))) return;
    await values.updateOne(one(tenantId, key), change);
  }
  /** Adds in order, in one write; each is told its own sum. */
  async function addAll(tenantId: string, key: string, together: readonly Addition[]): Promise<void> {
    try {
      for (let attempt = 0; attempt < attempts; attempt++) {
        const row = await values.findOne(one(tenantId, key));
        let next = row && { value: row.value, expiresAt: row.expiresAt };
        const sums = together.map(({ amount, now }) => {
          const total = sum(next && next.expiresAt > now ? next.value : '0', amount);
          if (total !== null) next = { value: String(total), expiresAt: now + valueTtlMs };
          return total ?? 'not_a_number';
        });
        if (sums.some((total) => typeof total === 'number') && !(await write(tenantId, key, row, next)))
          continue;
        for (const [index, { resolve }] of together.entries()) resolve(sums[index] ?? 'not_a_number');
        return;
      }
      throw unavailable();
    } catch (error) {
      for (const { reject } of together) reject(error);
    }
  }
  /** Puts `next` in the place of `row`; false when it is no longer as it was read. */
  async function write(
    tenantId: string,
    key: string,
    row: WithId<ValueRow> | null,
    next: Pick<ValueRow, 'value' | 'expiresAt'> | null,
  ): Promise<boolean> {
    if (next === null) return true;
    if (row) {
      const same = { _id: row._id, value: row.value, expiresAt: row.expiresAt };
      return (await values.updateOne(same, { $set: next })).matchedCount === 1;
    }
    return unlessTaken(values.insertOne({ tenantId, key, ...next }));
  }
  const additions = new Map<string, Addition[]>();
  return {
    set,
    async get(tenantId, key, now) {
      return (await values.findOne({ ...one(tenantId, key), expiresAt: { $gt: now } }))?.value ?? null;
    },
    async getMany(tenantId, keys, now) {
      const rows = await values
        .find({ tenantId, key: { $in: [...keys] }, expiresAt: { $gt: now } })
        .toArray();
      return new Map(rows.map((row) => [row.key, row.value]));
    },
    increment: (tenantId, key, amount, now) =>
      new Promise((resolve, reject) => {
        const place = JSON.stringify([tenantId, key]);
        const addition = { amount, now, resolve, reject };
        const waiting = additions.get(place);
        if (waiting) waiting.push(addition);
        else {
          additions.set(place, [addition]);
          void turn(`values/${place}`, async () => {
            const together = additions.get(place) ?? [];
            additions.delete(place);
            await addAll(tenantId, key, together);
          }).catch((error) => {
            // Refused before its turn came: those that wait with it are refused too.
            for (const refused of additions.get(place) ?? []) refused.reject(error);
            additions.delete(place);
          });
        }
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
