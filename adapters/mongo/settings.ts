// A tenant's settings in MongoDB: one document under tenant and name.
import type { Collection } from 'mongodb';
import type { SettingsStore } from '../../src/tenant/port/settings.ts';
import type { Setting, SettingValues } from '../../src/tenant/rules/settings.ts';
import { unlessTaken } from './failure.ts';
import { fromText, toText } from './form.ts';

export interface SettingRow extends Omit<Setting, 'value'> {
  /** Tenant and name. */
  readonly _id: string;
  readonly value: string | null;
}

export function mongoSettings(settings: Collection<SettingRow>): SettingsStore {
  const idOf = (tenantId: string, name: string): string => JSON.stringify([tenantId, name]);
  return {
    async get(tenantId, name) {
      const row = await settings.findOne({ _id: idOf(tenantId, name) });
      if (row === null) return null;
      const { _id, value, ...rest } = row;
      return {
        ...rest,
        name,
        value: fromText<SettingValues[typeof name]>(value) as SettingValues[typeof name],
      };
    },
    async remove(tenantId, name) {
      return (await settings.deleteOne({ _id: idOf(tenantId, name) })).deletedCount === 1;
    },
    async put({ value, ...rest }, ifUpdatedAt) {
      const _id = idOf(rest.tenantId, rest.name);
      const row = { ...rest, value: toText(value) };
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
