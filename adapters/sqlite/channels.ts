// Notification channels in SQLite.

import type { ChannelStore } from '../../src/notification/port/channels.ts';
import { type Channel, channelRecord } from '../../src/notification/record.ts';
import { taken } from '../../src/shared/error.ts';
import type { Database } from './database.ts';
import { pageOf } from './page.ts';
import type { Sync } from './sync.ts';
import { tableOf } from './table.ts';

export const channels = tableOf<Channel>(channelRecord);
const select = `SELECT ${channels.columns} FROM channels`;

const channelOf = (db: Database, tenantId: string, id: string) =>
  channels.maybe(db.get(`${select} WHERE tenant_id = ? AND id = ?`, [tenantId, id]));

function createChannel(db: Database, channel: Channel, max: number): 'created' | 'full' {
  const count = db.get('SELECT count(*) FROM channels WHERE tenant_id = ?', [channel.tenantId]);
  if (Number(count?.[0]) >= max) return 'full';
  if (db.get('SELECT 1 FROM channels WHERE id = ?', [channel.id])) throw taken();
  db.run(channels.insert, channels.values(channel));
  return 'created';
}

function updateChannel(db: Database, channel: Channel): Channel | 'stale' | 'absent' {
  const { tenantId, id, name, enabled, filters, sealedConfig, revision, updatedAt } = channel;
  const changed = db.get(
    `UPDATE channels SET name = ?, enabled = ?, filters = ?, sealed_config = ?, revision = ?, updated_at = ?
       WHERE tenant_id = ? AND id = ? AND revision = ? RETURNING ${channels.columns}`,
    [
      name,
      enabled ? 1 : 0,
      filters === null ? null : JSON.stringify(filters),
      sealedConfig,
      revision,
      updatedAt,
      tenantId,
      id,
      revision - 1,
    ],
  );
  return channels.maybe(changed) ?? (channelOf(db, tenantId, id) ? 'stale' : 'absent');
}

export const channelStore = (db: Database): Sync<ChannelStore> => ({
  create: (channel, max) => createChannel(db, channel, max),
  list: (tenantId, page) =>
    pageOf(db, page, {
      which: 'SELECT rowid FROM channels WHERE tenant_id = ? ORDER BY created_at DESC, rowid DESC',
      params: [tenantId],
      row: `${select} WHERE rowid = ?`,
      read: channels.read,
    }),
  get: (tenantId, id) => channelOf(db, tenantId, id),
  getById: (id) => channels.maybe(db.get(`${select} WHERE id = ?`, [id])),
  listEnabled: (tenantId) =>
    db
      .all(`${select} WHERE tenant_id = ? AND enabled = 1 ORDER BY created_at, rowid`, [tenantId])
      .map(channels.read),
  anyEnabled: (tenantId) =>
    db.get('SELECT 1 FROM channels WHERE tenant_id = ? AND enabled = 1 LIMIT 1', [tenantId]) !== undefined,
  listEnabledOfKind: (kind, limit) =>
    db
      .all(`${select} WHERE kind = ? AND enabled = 1 ORDER BY created_at DESC, rowid DESC LIMIT ?`, [
        kind,
        limit,
      ])
      .map(channels.read),
  update: (channel) => updateChannel(db, channel),
  disable: (tenantId, id, revision, now) =>
    db.run(
      `UPDATE channels SET enabled = 0, revision = revision + 1, updated_at = ?
         WHERE tenant_id = ? AND id = ? AND revision = ? AND enabled = 1`,
      [now, tenantId, id, revision],
    ) > 0,
  tested(tenantId, id, at, ok) {
    db.run('UPDATE channels SET last_test_at = ?, last_test_ok = ? WHERE tenant_id = ? AND id = ?', [
      at,
      ok ? 1 : 0,
      tenantId,
      id,
    ]);
  },
  remove: (tenantId, id) =>
    channels.maybe(
      db.get(`DELETE FROM channels WHERE tenant_id = ? AND id = ? RETURNING ${channels.columns}`, [
        tenantId,
        id,
      ]),
    ),
});
