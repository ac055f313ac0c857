// Saved views in MongoDB: one document each.
import type { Collection } from 'mongodb';
import type { ViewStore } from '../../src/view/port.ts';
import type { SavedView } from '../../src/view/record.ts';
import { isDuplicate } from './failure.ts';
import { fromRow, fromRowOrNull, type Row, toRow } from './form.ts';

export type ViewRow = Row<SavedView>;

export function mongoViews(views: Collection<ViewRow>): ViewStore {
  const one = (tenantId: string, id: string) => ({ _id: id, tenantId });
  const get = async (tenantId: string, id: string): Promise<SavedView | null> =>
    fromRowOrNull<SavedView>(await views.findOne(one(tenantId, id)));
  return {
    async add(view, max) {
      const { tenantId, ownerId } = view;
      if (await get(tenantId, view.id)) return 'created';
      if ((await views.countDocuments({ tenantId, ownerId })) >= max) return 'full';
      await views.insertOne(toRow(view)).catch((error: unknown) => {
        if (!isDuplicate(error)) throw error;
      });
      return 'created';
    },
    get,
    async list(tenantId, ownerId, limit) {
      const shown = [{ isShared: true }, ...(ownerId === null ? [] : [{ ownerId }])];
      const rows = await views
        .find({ tenantId, $or: shown })
        .sort({ name: 1, _id: 1 })
        .limit(limit)
        .toArray();
      return rows.map((row) => fromRow<SavedView>(row));
    },
    async update(tenantId, id, patch) {
      if (Object.keys(patch).length > 0) await views.updateOne(one(tenantId, id), { $set: patch });
      return get(tenantId, id);
    },
    async remove(tenantId, id) {
      return fromRowOrNull<SavedView>(await views.findOneAndDelete(one(tenantId, id)));
    },
    async removeOwn(tenantId, ownerId) {
      return (await views.deleteMany({ tenantId, ownerId, isShared: false })).deletedCount;
    },
  };
}
