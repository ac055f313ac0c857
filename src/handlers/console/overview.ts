// The figures on the first page, and how contracts decided. A key sees its environment, a user all of them; agents are counted per tenant.
import type { overviewRoutes } from '../../api/overview.ts';
import { renderInstant } from '../../domain/instant.ts';
import type { Handlers } from './hub.ts';
import { principalOf } from './principal.ts';
import { envSeen } from './scope.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const minuteMs = 60_000;

const floorMinute = (ms: number): number => Math.floor(ms / minuteMs) * minuteMs;

export const overview: Handlers<typeof overviewRoutes> = {
  async statsOverview(hub, { query }, caller) {
    const { tenantId } = caller;
    const env = envSeen(caller, query.env);
    const now = hub.clock.now();
    const [pending, ofSample, agents, counts] = await Promise.all([
      hub.store.approvals.countPending(tenantId, env, now),
      hub.app.sampleRuns.pending(tenantId, env),
      hub.store.agents.count(tenantId),
      // To the minute: whole minutes are counted already.
      hub.store.events.counts(tenantId, env, floorMinute(now - dayMs), now - hourMs),
    ]);
    return {
      pending_approvals: Math.max(0, pending - ofSample),
      active_agents: counts.activeAgents,
      total_agents: agents,
      events_24h: counts.events,
      denials_24h: counts.denials,
      observe_findings_24h: counts.observeFindings,
      contracts_triggered_24h: counts.contractsTriggered,
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
