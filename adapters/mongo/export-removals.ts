// Lines that removal takes out of exports in MongoDB: their number, and their last link. The note is written before the
// records go, so that readers learn about every removal. A note written twice, because a node died in between, makes
// the count too high.
import type { Collection, Filter } from 'mongodb';
import type { OrderedKind } from '../../src/export/record.ts';
import type { ApprovalRow } from './approval-rows.ts';
import type { EventRow } from './event-filter.ts';
import { type ExportLinkRow, entriesOf } from './export-log.ts';

export interface ExportRemovalRow {
  /** The tenant and the kind. */
  readonly _id: string;
  readonly tenantId: string;
  readonly removed: number;
  /** The newest link that lost a line. */
  readonly lastSeq: number;
}

/** Links without lines that one command removes. */
const emptyAtOnce = 20;

type RemovedEvent = Pick<EventRow, '_id' | 'batch'> & {
  readonly outcomes?: readonly { readonly by?: string }[];
};

/** True if a line of the link has its record. */
async function hasLines(
  { kind, items }: ExportLinkRow,
  events: Collection<EventRow>,
  approvals: Collection<ApprovalRow>,
): Promise<boolean> {
  const first = { projection: { _id: 1 } };
  if (kind === 'approvals') {
    const ids = items.flatMap(({ approval }) => approval?.id ?? []);
    return (await approvals.findOne({ _id: { $in: ids } }, first)) !== null;
  }
  const ids = items.flatMap((item) => entriesOf(item).map((entry) => entry.slice(0, 36)));
  return (await events.findOne({ _id: { $in: ids } }, first)) !== null;
}

export type ExportRemovals = ReturnType<typeof exportRemovals>;

export function exportRemovals(
  removals: Collection<ExportRemovalRow>,
  links: Collection<ExportLinkRow>,
  events: Collection<EventRow>,
  approvals: Collection<ApprovalRow>,
) {
  async function add(
    tenantId: string,
    kind: OrderedKind,
    ids: readonly string[],
    removed: number,
  ): Promise<void> {
    if (removed === 0) return;
    const filter = { tenantId, kind, 'items.id': { $in: [...ids] } } as Filter<ExportLinkRow>;
    const last = await links.findOne(filter, { sort: { seq: -1 }, projection: { seq: 1 } });
    await removals.updateOne(
      { _id: `${tenantId}/${kind}` },
      { $inc: { removed }, $max: { lastSeq: last?.seq ?? 0 }, $set: { tenantId } },
      { upsert: true },
    );
  }

  return {
    /** Notes events that will be removed. */
    async note(tenantId: string, rows: readonly RemovedEvent[]): Promise<void> {
      const tokens = rows.flatMap(({ batch, outcomes = [] }) => [batch, ...outcomes.map(({ by }) => by)]);
      const present = tokens.filter((token) => token !== undefined);
      await add(tenantId, 'events', [...new Set(present)], present.length);
    },

    /** Notes approvals that will be removed, each after its request and its end. */
    async noteApprovals(tenantId: string, approvalIds: readonly string[]): Promise<void> {
      const changes = ['requested', 'decided', 'expired'];
      const ids = approvalIds.flatMap((id) => changes.map((change) => `${id}/${change}`));
      await add(tenantId, 'approvals', ids, approvalIds.length * 2);
    },

    /** Removes the oldest links whose records are all gone; the newest link stays, because numbers go on from it. */
    async removeEmptyLinks(tenantId: string, kind: OrderedKind): Promise<void> {
      for (let mayFollow = true; mayFollow; ) {
        const oldest = await links
          .find({ tenantId, kind }, { sort: { seq: 1 }, limit: emptyAtOnce + 1 })
          .toArray();
        const empty: string[] = [];
        for (const link of oldest.slice(0, -1)) {
          if (await hasLines(link, events, approvals)) break;
          empty.push(link._id);
        }
        if (empty.length > 0) await links.deleteMany({ _id: { $in: empty } });
        mayFollow = empty.length === emptyAtOnce;
      }
    },

    async of(tenantId: string, kind: OrderedKind): Promise<Pick<ExportRemovalRow, 'removed' | 'lastSeq'>> {
      return (await removals.findOne({ _id: `${tenantId}/${kind}` })) ?? { removed: 0, lastSeq: 0 };
    },
  };
}
