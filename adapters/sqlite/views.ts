// Saved views in SQLite.
import type { ViewStore } from '../../src/view/port.ts';
import { type SavedView, viewRecord } from '../../src/view/record.ts';
import type { Database } from './database.ts';
import type { Sync } from './sync.ts';
import { tableOf } from './table.ts';

export const viewTable = `
CREATE TABLE views (
  id TEXT NOT NULL UNIQUE, tenant_id TEXT NOT NULL, owner_id TEXT NOT NULL, page TEXT NOT NULL, name TEXT NOT NULL,
  query TEXT NOT NULL, is_shared INTEGER NOT NULL, created_by TEXT NOT NULL, created_at INTEGER NOT NULL);
CREATE INDEX views_of_person ON views (tenant_id, owner_id);
CREATE INDEX views_shared ON views (tenant_id) WHERE is_shared = 1;
`;

export const views = tableOf<SavedView>(viewRecord);

const select = `SELECT ${views.columns} FROM views`;

export function viewStore(db: Database): Sync<ViewStore> {
  const get = (tenantId: string, id: string) =>
    views.maybe(db.get(`${select} WHERE tenant_id = ? AND id = ?`, [tenantId, id]));
  return {
    create(view, max) {
      if (get(view.tenantId, view.id)) return 'created';
      const { tenantId, ownerId } = view;
      const [count] =
        db.get('SELECT count(*) FROM views WHERE tenant_id = ? AND owner_id = ?', [tenantId, ownerId]) ?? [];
      if (Number(count) >= max) return 'full';
      db.run(views.insert, views.values(view));
      return 'created';
    },
    get,
    list: (tenantId, ownerId, limit) =>
      db
        .all(
          `SELECT ${views.columns} FROM (
             ${select} WHERE tenant_id = ?1 AND (is_shared = 1 OR owner_id = ?2)
             ORDER BY owner_id = ?2 DESC, name, id LIMIT ?3) ORDER BY name, id`,
          [tenantId, ownerId, limit],
        )
        .map(views.read),
    update(tenantId, id, { page, name, query, isShared }) {
      const row = db.get(
        `UPDATE views SET page = coalesce(?, page), name = coalesce(?, name), query = coalesce(?, query),
             is_shared = coalesce(?, is_shared)
           WHERE tenant_id = ? AND id = ? RETURNING ${views.columns}`,
        [
          page ?? null,
          name ?? null,
          query ?? null,
          isShared === undefined ? null : Number(isShared),
          tenantId,
          id,
        ],
      );
      return views.maybe(row);
    },
    remove: (tenantId, id) =>
      views.maybe(
        db.get(`DELETE FROM views WHERE tenant_id = ? AND id = ? RETURNING ${views.columns}`, [tenantId, id]),
      ),
    removeOwn: (tenantId, ownerId) =>
      db.run('DELETE FROM views WHERE tenant_id = ? AND owner_id = ? AND is_shared = 0', [tenantId, ownerId]),
  };
}
