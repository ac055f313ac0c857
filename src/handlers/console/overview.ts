// The figures on the first page. A key sees its environment, a user all of them; agents are counted per tenant.
import type { overviewRoutes } from '../../api/overview.ts';
import type { Handlers } from './hub.ts';
import { envSeen } from './scope.ts';

const hourMs = 3_600_000;

export const overview: Handlers<typeof overviewRoutes> = {
  async statsOverview(hub, { query }, caller) {
    const { tenantId } = caller;
    const env = envSeen(caller, query.env);
    const now = hub.clock.now();
    const [pending, agents, counts] = await Promise.all([
      hub.store.approvals.countPending(tenantId, env, now),
      hub.store.agents.count(tenantId),
      hub.store.events.counts(tenantId, env, now - 24 * hourMs, now - hourMs),
    ]);
    return {
      pending_approvals: pending,
      active_agents: counts.activeAgents,
      total_agents: agents,
      events_24h: counts.events,
      denials_24h: counts.denials,
      observe_findings_24h: counts.observeFindings,
      contracts_triggered_24h: counts.contractsTriggered,
    };
  },
};
