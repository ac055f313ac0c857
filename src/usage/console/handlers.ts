// The figures on the first page, and how contracts decided. A key sees its environment, a user all of them; agents are
// counted per tenant.

import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { dayMs } from '../../shared/duration.ts';
import { renderInstant } from '../../shared/instant.ts';
import type { overviewRoutes } from './routes.ts';

export const overview: Handlers<typeof overviewRoutes> = {
  async statsOverview({ app }, { query }, caller) {
    const found = await app.statistics.overview(principalOf(caller), query.env ?? null);
    return {
      pending_approvals: found.pendingApprovals,
      active_agents: found.activeAgents,
      total_agents: found.totalAgents,
      events_24h: found.events,
      denials_24h: found.denials,
      observe_findings_24h: found.observeFindings,
      contracts_triggered_24h: found.contractsTriggered,
    };
  },

  async statsContracts({ app, clock }, { query }, caller) {
    const { env = null, until = clock.now() + 1 } = query;
    const since = query.since ?? until - dayMs;
    const { events, contracts } = await app.statistics.contracts(principalOf(caller), { env, since, until });
    return {
      coverage: contracts.map(({ name, calls, denials, warnings, lastTriggered }) => ({
        decision_name: name,
        total_evaluations: calls,
        total_denials: denials,
        total_warnings: warnings,
        last_triggered: renderInstant(lastTriggered),
      })),
      total_events: events,
      period_start: renderInstant(since),
      period_end: renderInstant(until),
    };
  },
};
