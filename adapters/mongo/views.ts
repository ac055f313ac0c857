// Saved views in MongoDB: one document each.
import type { Collection } from 'mongodb';
import type { ViewStore } from '../../src/view/port.ts';
import { type SavedView, viewRecord } from '../../src/view/record.ts';
import { isDuplicate } from './failure.ts';

export type ViewRow = ReturnType<typeof viewRecord.toDocument>;

const recordOrNull = (row: ViewRow | null): SavedView | null => row && viewRecord.fromDocument(row);

export function mongoViews(views: Collection<ViewRow>): ViewStore {
  const one = (tenantId: string, id: string) => ({ _id: id, tenantId });
  const get = async (tenantId: string, id: string): Promise<SavedView | null> =>
    recordOrNull(await views.findOne(one(tenantId, id)));
  return {
    async create(view, max) {
      const { tenantId, ownerId } = view;
      if (await get(tenantId, view.id)) return 'created';
      if ((await views.countDocuments({ tenantId, ownerId })) >= max) return 'full';
      await views.insertOne(viewRecord.toDocument(view)).catch((error: unknown) => {
        if (!isDuplicate(error)) throw error;
      });
      return 'created';
    },
    get,
    async list(tenantId, ownerId, limit) {
      const visible = [{ isShared: true }, ...(ownerId === null ? [] : [{ ownerId }])];
      const byName = { name: 1, _id: 1 } as const;
      const rows = await views
        .aggregate<ViewRow>([
          { $match: { tenantId, $or: visible } },
          { $set: { isOwn: { $eq: ['$ownerId', { $literal: ownerId }] } } },
          { $sort: { isOwn: -1, ...byName } },
          { $limit: limit },
          { $sort: byName },
          { $unset: 'isOwn' },
        ])
        .toArray();
      return rows.map(viewRecord.fromDocument);
    },
    async update(tenantId, id, patch) {
      if (Object.keys(patch).length > 0) await views.updateOne(one(tenantId, id), { $set: patch });
      return get(tenantId, id);
    },
    async remove(tenantId, id) {
      return recordOrNull(await views.findOneAndDelete(one(tenantId, id)));
    },
    async removeOwn(tenantId, ownerId) {
      return (await views.deleteMany({ tenantId, ownerId, isShared: false })).deletedCount;
    },
  };
}
