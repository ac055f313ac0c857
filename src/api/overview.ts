// Route of the figures on the first page.
import { z } from 'zod';
import { env } from './fields.ts';
import { routes } from './route.ts';

const count = z.number().int();

export const overviewRoutes = routes({
  statsOverview: {
    method: 'GET',
    path: '/api/v1/stats/overview',
    auth: ['key', 'cookie'],
    ownEnvironment: true,
    tag: 'stats',
    summary:
      'Counts of now and the last 24 hours; a key sees its environment, a user all of them or the one asked for',
    query: z.object({ env: env.optional() }),
    status: 200,
    reply: z.object({
      pending_approvals: count,
      active_agents: count,
      total_agents: count,
      events_24h: count,
      denials_24h: count,
      observe_findings_24h: count,
      contracts_triggered_24h: count,
    }),
    search: true,
    errors: ['env_mismatch', 'validation_failed', 'search_timeout', 'rate_limited'],
  },
});
