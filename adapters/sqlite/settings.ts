// A tenant's settings in SQLite.

import type { SettingsStore } from '../../src/tenant/port/settings.ts';
import { settingRecord } from '../../src/tenant/record.ts';
import type { Setting } from '../../src/tenant/rules/settings.ts';
import type { Database } from './database.ts';
import type { Sync } from './sync.ts';
import { tableOf } from './table.ts';

export const settings = tableOf<Setting>(settingRecord);

export function settingsStore(db: Database): Sync<SettingsStore> {
  return {
    get: (tenantId: string, name: string) =>
      settings.maybe(
        db.get(`SELECT ${settings.columns} FROM settings WHERE tenant_id = ? AND name = ?`, [tenantId, name]),
      ),
    remove: (tenantId, name) =>
      db.run('DELETE FROM settings WHERE tenant_id = ? AND name = ?', [tenantId, name]) === 1,
    update(setting, ifUpdatedAt) {
      const { tenantId, name } = setting;
      const at = db.get('SELECT updated_at FROM settings WHERE tenant_id = ? AND name = ?', [tenantId, name]);
      if (ifUpdatedAt !== undefined && (at ? Number(at[0]) : null) !== ifUpdatedAt) return false;
      db.run(
        `${settings.insert} ON CONFLICT (tenant_id, name) DO UPDATE SET value = excluded.value,
           updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
        settings.values(setting),
      );
      return true;
    },
  };
}
