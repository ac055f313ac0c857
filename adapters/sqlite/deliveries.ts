// Deliveries in SQLite: each change is one conditional UPDATE.

import type { DeliveryStore } from '../../src/notification/port/channels.ts';
import { type Delivery, deliveryRecord } from '../../src/notification/record.ts';
import type { Database } from './database.ts';
import { pageOf } from './page.ts';
import type { Sync } from './sync.ts';
import { tableOf } from './table.ts';

export const deliveries = tableOf<Delivery>(deliveryRecord);
const select = `SELECT ${deliveries.columns} FROM deliveries`;

export function deliveryStore(db: Database): Sync<DeliveryStore> {
  return {
    create(delivery) {
      const stored = deliveries.maybe(db.get(`${select} WHERE id = ?`, [delivery.id]));
      if (stored) return stored;
      db.run(deliveries.insert, deliveries.values(delivery));
      return delivery;
    },
    get: (tenantId, id) =>
      deliveries.maybe(db.get(`${select} WHERE tenant_id = ? AND id = ?`, [tenantId, id])),
    update(delivery, before) {
      const { id, tenantId, status, attempts, run, nextAt, giveUpAt, updatedAt, messageId, log } = delivery;
      const fields = { status, attempts, run, nextAt, giveUpAt, updatedAt, messageId, log };
      const change = deliveries.change(fields);
      const changed = db.run(
        `UPDATE deliveries SET ${change.assignments}
           WHERE tenant_id = ? AND id = ? AND run = ? AND attempts = ? AND status = ?`,
        [...change.values, tenantId, id, before.run, before.attempts, before.status],
      );
      return changed > 0;
    },
    listOfApproval: (approvalId, limit) =>
      db.all(`${select} WHERE approval_id = ? LIMIT ?`, [approvalId, limit]).map(deliveries.read),
    list: (tenantId, channelId, { status = null }, page) =>
      pageOf(db, page, {
        which: `SELECT rowid FROM deliveries
          WHERE tenant_id = ?1 AND channel_id = ?2 AND (?3 IS NULL OR status = ?3)
          ORDER BY created_at DESC, rowid DESC`,
        params: [tenantId, channelId, status],
        row: `${select} WHERE rowid = ?`,
        read: deliveries.read,
      }),
    removeOfChannel: (tenantId, channelId, limit) =>
      db.run(
        `DELETE FROM deliveries WHERE rowid IN (SELECT rowid FROM deliveries
           WHERE tenant_id = ? AND channel_id = ? LIMIT ?)`,
        [tenantId, channelId, limit],
      ),
  };
}
