// Routes of retention: how long a tenant's records are kept.
import { z } from 'zod';
import { instant } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';
import { maxRetentionDays } from '../rules/retention.ts';

const days = z.number().int().min(0).max(maxRetentionDays);

const policy = z.object({
  events_days: days,
  approvals_days: days,
  runs_days: days,
  deliveries_days: days,
});

const patch = policy.partial();

export const retentionSettings = policy.extend({
  updated_at: instant.nullable(),
  updated_by: z.string().nullable(),
});

const count = z.number().int();

export const retentionRoutes = routes({
  retention: {
    method: 'GET',
    path: '/api/v1/settings/retention',
    auth: ['cookie', 'operatorJwt'],
    role: 'viewer',
    envs: 'none',
    tag: 'settings',
    summary: 'Days after which events, approvals, runs and deliveries are removed; 0 keeps them',
    status: 200,
    reply: retentionSettings,
    errors: [],
  },
  putRetention: {
    method: 'PUT',
    path: '/api/v1/settings/retention',
    auth: ['cookie', 'operatorJwt'],
    role: 'admin',
    envs: 'none',
    tag: 'settings',
    summary:
      'Set the days since the receipt by the hub after which records are removed, within a minute and then hourly. ' +
      'Pending approvals stay; absent fields keep their value',
    body: patch.refine((body) => Object.keys(body).length > 0, 'must contain at least one number of days'),
    status: 200,
    reply: retentionSettings,
    audit: ['setting.changed'],
    errors: ['validation_failed'],
  },
  previewRetention: {
    method: 'POST',
    path: '/api/v1/settings/retention/preview',
    auth: ['cookie', 'operatorJwt'],
    role: 'admin',
    envs: 'none',
    tag: 'settings',
    summary: 'Count the records that these days would remove now; absent fields are as they are set',
    body: patch,
    optionalBody: true,
    reads: true,
    search: true,
    status: 200,
    reply: z.object({ events: count, approvals: count, runs: count, deliveries: count, as_of: instant }),
    errors: ['validation_failed', 'search_timeout'],
  },
});
