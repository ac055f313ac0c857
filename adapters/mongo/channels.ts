// Notification channels in MongoDB: one document each, changed by compare-and-set on its revision.
import type { Collection } from 'mongodb';
import type { ChannelStore } from '../../src/notification/port/channels.ts';
import { type Channel, channelRecord } from '../../src/notification/record.ts';
import { whenTaken } from './failure.ts';
import { toText } from './form.ts';
import { pageOf } from './page.ts';

export type ChannelRow = ReturnType<typeof channelRecord.toDocument>;

export const channelOf = (row: ChannelRow): Channel => channelRecord.fromDocument(row);
const recordOrNull = (row: ChannelRow | null): Channel | null => row && channelOf(row);

export function mongoChannels(channels: Collection<ChannelRow>): ChannelStore {
  const one = (tenantId: string, id: string) => ({ _id: id, tenantId });
  return {
    async create(channel, max) {
      const { tenantId } = channel;
      if ((await channels.countDocuments({ tenantId }, { limit: max })) >= max) return 'full';
      await channels.insertOne(channelRecord.toDocument(channel)).catch(whenTaken);
      return 'created';
    },
    list: (tenantId, page) =>
      pageOf(channels.find({ tenantId }).sort({ createdAt: -1, _id: -1 }), page, channelOf),
    async get(tenantId, id) {
      return recordOrNull(await channels.findOne(one(tenantId, id)));
    },
    async getById(id) {
      return recordOrNull(await channels.findOne({ _id: id }));
    },
    async listEnabled(tenantId) {
      const rows = await channels.find({ tenantId, enabled: true }).sort({ createdAt: 1, _id: 1 }).toArray();
      return rows.map(channelOf);
    },
    async anyEnabled(tenantId) {
      return (await channels.countDocuments({ tenantId, enabled: true }, { limit: 1 })) > 0;
    },
    async listEnabledOfKind(kind, limit) {
      const cursor = channels.find({ kind, enabled: true }).sort({ createdAt: -1, _id: -1 }).limit(limit);
      return (await cursor.toArray()).map(channelOf);
    },
    async update({ tenantId, id, name, enabled, filters, sealedConfig, revision, updatedAt }) {
      const row = await channels.findOneAndUpdate(
        { ...one(tenantId, id), revision: revision - 1 },
        { $set: { name, enabled, filters: toText(filters), sealedConfig, revision, updatedAt } },
        { returnDocument: 'after' },
      );
      if (row) return channelOf(row);
      return (await channels.findOne(one(tenantId, id))) ? 'stale' : 'absent';
    },
    async disable(tenantId, id, revision, now) {
      const { modifiedCount } = await channels.updateOne(
        { ...one(tenantId, id), revision, enabled: true },
        { $set: { enabled: false, revision: revision + 1, updatedAt: now } },
      );
      return modifiedCount === 1;
    },
    async tested(tenantId, id, at, ok) {
      await channels.updateOne(one(tenantId, id), { $set: { lastTestAt: at, lastTestOk: ok } });
    },
    async remove(tenantId, id) {
      return recordOrNull(await channels.findOneAndDelete(one(tenantId, id)));
    },
  };
}
