// A tenant's settings in MongoDB: one document under tenant and name.
import type { Collection } from 'mongodb';
import type { SettingsStore } from '../../src/tenant/port/settings.ts';
import { settingRecord } from '../../src/tenant/record.ts';
import type { Setting } from '../../src/tenant/rules/settings.ts';
import { unlessTaken } from './failure.ts';

export type SettingRow = ReturnType<typeof settingRecord.toDocument> & {
  /** Tenant and name. */
  readonly _id: string;
};

export function mongoSettings(settings: Collection<SettingRow>): SettingsStore {
  const idOf = (tenantId: string, name: string): string => JSON.stringify([tenantId, name]);
  return {
    async get(tenantId, name) {
      const row = await settings.findOne({ _id: idOf(tenantId, name) });
      return row && (settingRecord.fromDocument(row) as Setting<typeof name>);
    },
    async remove(tenantId, name) {
      return (await settings.deleteOne({ _id: idOf(tenantId, name) })).deletedCount === 1;
    },
    async update(setting, ifUpdatedAt) {
      const _id = idOf(setting.tenantId, setting.name);
      const row = settingRecord.toDocument(setting);
      if (ifUpdatedAt === null) return unlessTaken(settings.insertOne({ _id, ...row }));
      if (ifUpdatedAt !== undefined)
        return (await settings.replaceOne({ _id, updatedAt: ifUpdatedAt }, row)).matchedCount === 1;
      // Two first writes may both find nothing: the second then replaces.
      const write = () => settings.replaceOne({ _id }, row, { upsert: true });
      if (!(await unlessTaken(write()))) await write();
      return true;
    },
  };
}
