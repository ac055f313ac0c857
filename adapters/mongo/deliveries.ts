// Deliveries in MongoDB: one document each, changed by compare-and-set on run, attempts and status.
import type { Collection } from 'mongodb';
import type { DeliveryStore } from '../../src/notification/port/channels.ts';
import { deliveryRecord } from '../../src/notification/record.ts';
import { unlessTaken } from './failure.ts';
import { pageOf } from './page.ts';
import { deleteSome } from './removal.ts';

export type DeliveryRow = ReturnType<typeof deliveryRecord.toDocument>;

const { toDocument, fromDocument } = deliveryRecord;

export function mongoDeliveries(deliveries: Collection<DeliveryRow>): DeliveryStore {
  return {
    async create(delivery) {
      if (await unlessTaken(deliveries.insertOne(toDocument(delivery)))) return delivery;
      const stored = await deliveries.findOne({ _id: delivery.id });
      return stored ? fromDocument(stored) : delivery;
    },
    async get(tenantId, id) {
      const delivery = await deliveries.findOne({ _id: id, tenantId });
      return delivery && fromDocument(delivery);
    },
    async update(delivery, { run, attempts, status }) {
      const { _id, ...fields } = toDocument(delivery);
      const { matchedCount } = await deliveries.updateOne(
        { _id, tenantId: delivery.tenantId, run, attempts, status },
        { $set: fields },
      );
      return matchedCount === 1;
    },
    async listOfApproval(approvalId, limit) {
      return (await deliveries.find({ approvalId }).limit(limit).toArray()).map(fromDocument);
    },
    list(tenantId, channelId, { status }, page) {
      const filter = { tenantId, channelId, ...(status === undefined ? {} : { status }) };
      return pageOf(deliveries.find(filter).sort({ createdAt: -1, _id: -1 }), page, fromDocument);
    },
    removeOfChannel: (tenantId, channelId, limit) =>
      deleteSome(deliveries, { tenantId, channelId }, { limit }),
  };
}
