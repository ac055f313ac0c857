// Route of the removal of old events.

import { z } from 'zod';
import { instant, intQuery } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';

export const removalRoutes = routes({
  purgeEvents: {
    method: 'DELETE',
    path: '/api/v1/settings/purge-events',
    auth: ['cookie'],
    role: 'admin',
    envs: 'none',
    tag: 'settings',
    summary:
      'Remove events received more than N days or hours ago (send one); complete is false while the rest is removed in the background',
    query: z.object({
      older_than_days: intQuery(1, 36_500).optional(),
      /** Instead of `older_than_days`. */
      older_than_hours: intQuery(1, 876_000).optional(),
      /** true: nothing is removed, and deleted_count is what would be. */
      dry_run: z.enum(['true', 'false']).default('false'),
    }),
    status: 200,
    reply: z.object({
      deleted_count: z.number().int(),
      cutoff: instant,
      complete: z.boolean(),
      dry_run: z.boolean(),
    }),
    audit: ['setting.events_removed'],
    errors: ['validation_failed', 'search_timeout'],
  },
});
