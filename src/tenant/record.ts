// A tenant's fields.
import { z } from 'zod';
import { field, instant, type RecordOf, record } from '../shared/record.ts';

const tenantFields = {
  id: field(z.string()),
  name: field(z.string()),
  createdAt: field(instant),
};

export type Tenant = RecordOf<typeof tenantFields>;

export const tenantRecord = record('tenants', tenantFields);
