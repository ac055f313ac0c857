// The figures on the first page, and how contracts decided. A key sees its environment. A user sees all environments of
// the own roles, and `total_agents` counts in all of them even if the query names one.

import type { CallSeries } from '../../event/rules/series.ts';
import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { iso, isoOrNull } from '../../http/contract/render.ts';
import { dayMs } from '../../shared/duration.ts';
import { renderInstant } from '../../shared/instant.ts';
import { snakeKeys } from '../../shared/snake-keys.ts';
import type { CallCounts, RangeOverview } from '../use-cases/statistics.ts';
import type { overviewRoutes } from './routes.ts';

const renderCalls = ({ observed, pending, ...rest }: CallCounts) => ({
  ...rest,
  would_deny: observed,
  asked: pending,
});

function renderSeries({ value, allowed, denied, observed, pending }: CallSeries) {
  const counts = {
    allowed: [...allowed],
    denied: [...denied],
    would_deny: [...observed],
    asked: [...pending],
  };
  const total = Object.values(counts)
    .flat()
    .reduce((sum, count) => sum + count, 0);
  return { value: value === '' ? null : value, total, ...counts };
}

const renderAgents = ({ registered, ...connected }: RangeOverview['agents']) => ({
  known: registered,
  ...connected,
});

export const overview: Handlers<typeof overviewRoutes> = {
  async statsOverview({ app, clock }, { query }, caller) {
    const { env = null, compare, until = clock.now() + 1, since = until - dayMs } = query;
    const principal = principalOf(caller);
    const [overview, range] = await Promise.all([
      app.statistics.overview(principal, env),
      compare === undefined ? null : app.statistics.range(principal, { env, since, until }),
    ]);
    return {
      pending_approvals: overview.pendingApprovals,
      active_agents: overview.activeAgents,
      total_agents: overview.totalAgents,
      events_24h: overview.events,
      denials_24h: overview.denials,
      observe_findings_24h: overview.observeFindings,
      contracts_triggered_24h: overview.contractsTriggered,
      ...(range === null
        ? {}
        : {
            calls: renderCalls(range.calls),
            previous: renderCalls(range.previous),
            agents: renderAgents(range.agents),
            next_deadline: isoOrNull(range.nextDeadline),
          }),
    };
  },

  async attention({ app }, { query }, caller) {
    const items = await app.attention.get(principalOf(caller), query.env ?? null);
    return {
      items: items.map(({ role: _role, since, deadline, ...item }) => ({
        ...item,
        since: isoOrNull(since),
        deadline: isoOrNull(deadline),
        facts: snakeKeys(item.facts),
      })),
    };
  },

  async statsSeries({ app, clock }, { query }, caller) {
    const { env = null, by, values = null, top, points, until = clock.now() + 1 } = query;
    const since = query.since ?? until - dayMs;
    const question = { env, by, values, top, points, since, until };
    const { start, bucketMs, completeTo, series } = await app.series.get(principalOf(caller), question);
    return {
      start: iso(start),
      bucket_seconds: bucketMs / 1000,
      complete_to: iso(completeTo),
      series: series.map(renderSeries),
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
