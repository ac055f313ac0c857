// Requests under an Idempotency-Key, in MongoDB: a document each, with its answer.
import type { Collection } from 'mongodb';
import type { IdempotencyStore, KeyedRequest, StoredAnswer } from '../../src/shared/ports/idempotency.ts';
import { isDuplicate } from './failure.ts';

export interface KeyedRequestRow {
  /** Tenant and digest. */
  readonly _id: string;
  readonly bodyHash: string;
  readonly newId: string;
  readonly runsUntil: number;
  readonly expiresAt: number;
  readonly answer: StoredAnswer | null;
}

const idOf = ({ tenantId, id }: KeyedRequest): string => JSON.stringify([tenantId, id]);

export function mongoIdempotency(rows: Collection<KeyedRequestRow>): IdempotencyStore {
  return {
    async claim(request, newId, { now, runsUntil, expiresAt }) {
      const _id = idOf(request);
      const { bodyHash } = request;
      const isFree = {
        $or: [{ expiresAt: { $lte: now } }, { answer: null, runsUntil: { $lte: now }, bodyHash }],
      };
      const unexpired = { $gt: ['$expiresAt', now] };
      const change = {
        bodyHash: { $literal: bodyHash },
        newId: { $cond: [unexpired, '$newId', { $literal: newId }] },
        expiresAt: { $cond: [unexpired, '$expiresAt', expiresAt] },
        runsUntil,
        answer: null,
      };
      for (;;) {
        const claimed = await rows
          .findOneAndUpdate({ _id, ...isFree }, [{ $set: change }], { upsert: true, returnDocument: 'after' })
          .catch((error: unknown) => {
            // One that is there and not free cannot be inserted again.
            if (isDuplicate(error)) return null;
            throw error;
          });
        if (claimed) return { kind: 'claimed', newId: claimed.newId };
        const stored = await rows.findOne({ _id });
        // Swept away in between.
        if (!stored) continue;
        if (stored.bodyHash !== bodyHash) return { kind: 'reused' };
        if (stored.answer === null) return { kind: 'running' };
        return { kind: 'answered', newId: stored.newId, answer: stored.answer };
      }
    },
    async find(request, now) {
      const { bodyHash } = request;
      const stored = await rows.findOne({ _id: idOf(request), bodyHash, expiresAt: { $gt: now } });
      return stored?.answer ?? null;
    },
    async answered(request, newId, answer) {
      await rows.updateOne({ _id: idOf(request), newId }, { $set: { answer } });
    },
    async release(request, newId, now) {
      await rows.updateOne({ _id: idOf(request), newId, answer: null }, { $min: { runsUntil: now } });
    },
    async removeExpired(now, limit) {
      const expired = await rows
        .find({ expiresAt: { $lte: now } }, { projection: { _id: 1 } })
        .sort({ expiresAt: 1 })
        .limit(limit)
        .toArray();
      if (expired.length === 0) return 0;
      const ids = expired.map((row) => row._id);
      return (await rows.deleteMany({ _id: { $in: ids }, expiresAt: { $lte: now } })).deletedCount;
    },
  };
}
