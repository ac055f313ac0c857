// Deliveries in MongoDB: one document each, changed by compare-and-set on run, attempts and status.
import type { Collection } from 'mongodb';
import type { DeliveryStore } from '../../src/notification/port/channels.ts';
import type { Attempt, Delivery } from '../../src/notification/rules/delivery.ts';
import { unlessTaken } from './failure.ts';
import { fromRow, fromText, type Row, toRow } from './form.ts';
import { pageOf } from './page.ts';

export type DeliveryRow = Omit<Row<Delivery>, 'log'> & { readonly log: string };

const row = (delivery: Delivery): DeliveryRow => ({ ...toRow(delivery), log: JSON.stringify(delivery.log) });
const record = ({ log, ...rest }: DeliveryRow): Delivery =>
  fromRow<Delivery>({ ...rest, log: fromText<readonly Attempt[]>(log) ?? [] });

export function mongoDeliveries(deliveries: Collection<DeliveryRow>): DeliveryStore {
  async function removed(filter: object, limit: number): Promise<number> {
    const rows = await deliveries
      .find(filter, { projection: { _id: 1 } })
      .limit(limit)
      .toArray();
    if (rows.length === 0) return 0;
    const { deletedCount } = await deliveries.deleteMany({ _id: { $in: rows.map(({ _id }) => _id) } });
    return deletedCount;
  }

  return {
    async add(delivery) {
      if (await unlessTaken(deliveries.insertOne(row(delivery)))) return delivery;
      const stored = await deliveries.findOne({ _id: delivery.id });
      return stored ? record(stored) : delivery;
    },
    async get(tenantId, id) {
      const delivery = await deliveries.findOne({ _id: id, tenantId });
      return delivery && record(delivery);
    },
    async replace(delivery, { run, attempts, status }) {
      const { _id, ...fields } = row(delivery);
      const { matchedCount } = await deliveries.updateOne(
        { _id, tenantId: delivery.tenantId, run, attempts, status },
        { $set: fields },
      );
      return matchedCount === 1;
    },
    async ofApproval(approvalId, limit) {
      return (await deliveries.find({ approvalId }).limit(limit).toArray()).map(record);
    },
    list(tenantId, channelId, { status }, page) {
      const filter = { tenantId, channelId, ...(status === undefined ? {} : { status }) };
      return pageOf(deliveries.find(filter).sort({ createdAt: -1, _id: -1 }), page, record);
    },
    removeOfChannel: (tenantId, channelId, limit) => removed({ tenantId, channelId }, limit),
  };
}
