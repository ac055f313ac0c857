// Figures over all tenants in MongoDB.
import type { Collection, Db } from 'mongodb';
import type { AuditLink, SignedHead } from '../../src/audit/record.ts';
import type { Env } from '../../src/shared/ids.ts';
import type { InstallationStore } from '../../src/shared/ports/installation.ts';

interface LinkRow extends AuditLink {
  readonly tenantId: string;
  readonly at: number;
}

/** Tenants looked at side by side. */
const atOnce = 16;

export function mongoInstallation(db: Db, tenantIds: () => Promise<readonly string[]>): InstallationStore {
  const links: Collection<LinkRow> = db.collection('auditLinks');
  const heads: Collection<SignedHead> = db.collection('auditHeads');

  async function pendingApprovals(): Promise<{ [E in Env]?: number }> {
    const groups = await db
      .collection('approvals')
      // With a deadline, which every approval has, the index of pending ones is used.
      .aggregate<{ _id: Env; count: number }>([
        { $match: { status: 'pending', deadline: { $gt: 0 } } },
        { $group: { _id: '$env', count: { $sum: 1 } } },
      ])
      .toArray();
    return Object.fromEntries(groups.map(({ _id, count }) => [_id, count]));
  }

  async function storeBytes(): Promise<number | null> {
    const { storageSize, indexSize } = await db.command({ dbStats: 1 });
    const bytes = Number(storageSize) + Number(indexSize);
    return Number.isFinite(bytes) ? bytes : null;
  }

  async function unsignedSinceOf(tenantId: string): Promise<number> {
    const [head] = await heads
      .find({ tenantId }, { sort: { seq: -1 }, limit: 1, projection: { seq: 1 } })
      .toArray();
    const [link] = await links
      .find({ tenantId, seq: { $gt: head?.seq ?? 0 } }, { sort: { seq: 1 }, limit: 1, projection: { at: 1 } })
      .toArray();
    return link?.at ?? Number.POSITIVE_INFINITY;
  }

  async function unsignedSince(): Promise<number | null> {
    const ids = [...(await tenantIds())];
    let oldest = Number.POSITIVE_INFINITY;
    while (ids.length > 0) {
      oldest = Math.min(oldest, ...(await Promise.all(ids.splice(0, atOnce).map(unsignedSinceOf))));
    }
    return Number.isFinite(oldest) ? oldest : null;
  }

  return {
    async figures() {
      const [pending, bytes, since] = await Promise.all([
        pendingApprovals(),
        storeBytes().catch(() => null),
        unsignedSince(),
      ]);
      return { pendingApprovals: pending, storeBytes: bytes, unsignedSince: since };
    },
  };
}
