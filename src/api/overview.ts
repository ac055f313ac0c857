// Routes of statistics: the figures on the first page, and how contracts decided.
import { z } from 'zod';
import { env, instant, instantInput } from './fields.ts';
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
  statsContracts: {
    method: 'GET',
    path: '/api/v1/stats/contracts',
    auth: ['cookie'],
    tag: 'stats',
    summary:
      'How contracts decided in a time range, by default the last 24 hours, most evaluations first; a call counts once for each ' +
      'contract that it names',
    query: z.object({ env: env.optional(), since: instantInput.optional(), until: instantInput.optional() }),
    status: 200,
    reply: z.object({
      /** The 1,000 contracts of most calls. */
      coverage: z.array(
        z.object({
          decision_name: z.string(),
          total_evaluations: count,
          total_denials: count,
          /** Calls that it would have denied. */
          total_warnings: count,
          last_triggered: instant.nullable(),
        }),
      ),
      total_events: count,
      period_start: instant,
      /** Not part of it. */
      period_end: instant,
    }),
    search: true,
    errors: ['validation_failed', 'unprocessable', 'search_timeout', 'rate_limited'],
  },
});
