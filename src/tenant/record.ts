// A tenant's fields, and those of its settings.
import { z } from 'zod';
import { field, instant, json, type RecordOf, record } from '../shared/record.ts';

const tenantFields = {
  id: field(z.string()),
  name: field(z.string()),
  createdAt: field(instant),
};

export type Tenant = RecordOf<typeof tenantFields>;

export const tenantRecord = record('tenants', tenantFields);

/** A small record under a name of its own. tenant/rules/settings.ts declares the value of each name. */
const settingFields = {
  tenantId: field(z.string()),
  name: field(z.string()),
  updatedAt: field(instant),
  /** The e-mail of who wrote it. */
  updatedBy: field(z.string()),
  value: field(json<unknown, z.ZodUnknown>(z.unknown())),
};

export type SettingFields = RecordOf<typeof settingFields>;

export const settingRecord = record('settings', settingFields);
