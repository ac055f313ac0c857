// Routes of statistics: the figures on the first page, and how contracts decided.
import { z } from 'zod';
import { env, instant, instantInput } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';

const count = z.number().int();

export const overviewRoutes = routes({
  statsOverview: {
    method: 'GET',
    path: '/api/v1/stats/overview',
    auth: ['key', 'cookie'],
    role: 'viewer',
    envs: 'query',
    ownEnvironment: true,
    tag: 'stats',
    summary:
      'Current counts and those of the last 24 hours; an API key gets its environment, a user all or one',
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
    role: 'viewer',
    envs: 'query',
    tag: 'stats',
    summary:
      'Decisions by contract in a time range, by default the last 24 hours, most evaluations first; a call counts once for each ' +
      'contract in its event',
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
