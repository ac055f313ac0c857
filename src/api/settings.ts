// Routes of a tenant's settings: signing key and retention.
import { z } from 'zod';
import { instant, intQuery } from './fields.ts';
import { routes } from './route.ts';

export const settingRoutes = routes({
  rotateSigningKey: {
    method: 'POST',
    path: '/api/v1/settings/rotate-signing-key',
    auth: ['cookie'],
    role: 'admin',
    tag: 'settings',
    summary:
      'Make a new signing key and sign every current deployment with it; agents get the new signatures. With compromised, the old key does not vouch for the new one, and agents that pinned it must be pinned again',
    body: z.object({ compromised: z.boolean().optional() }),
    optionalBody: true,
    status: 201,
    reply: z.object({
      public_key: z.string(),
      rotated_at: instant,
      deployments_re_signed: z.number().int(),
      agents_follow: z.boolean(),
      warning: z.string().nullable(),
    }),
    errors: ['validation_failed', 'overloaded', 'unavailable'],
  },
  purgeEvents: {
    method: 'DELETE',
    path: '/api/v1/settings/purge-events',
    auth: ['cookie'],
    role: 'admin',
    tag: 'settings',
    summary:
      'Remove events received more than N days ago; complete is false when more are left, which are removed in the background',
    query: z.object({ older_than_days: intQuery(1, 36_500) }),
    status: 200,
    reply: z.object({ deleted_count: z.number().int(), cutoff: instant, complete: z.boolean() }),
    errors: ['validation_failed'],
  },
});
