// Figures that stand on one page of the console: the replies behind them count the same events, calls and approvals.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { spanOf } from '../../src/dashboard/lib/range.ts';
import type { Env } from '../../src/shared/ids.ts';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
  // In the middle of a bucket of the overview's lanes, and of a minute.
  t.clock.advance(17 * 60_000 + 1_234);
});
afterEach(() => t.close());

const kinds = ['call_allowed', 'call_denied', 'call_would_deny', 'call_approval_requested'] as const;

/** Calls over the last 24 hours, both ends included, of two agents of the environment. */
async function seed(env: Env, calls: number): Promise<void> {
  const now = t.clock.now();
  const { from: since } = spanOf({}, now);
  const events = Array.from({ length: calls }, (_, i) => ({
    call_id: `${env}-${i}`,
    agent_id: `${env}-${i % 2}`,
    tool_name: `tool-${i % 3}`,
    verdict: kinds[i % kinds.length],
    mode: kinds[i % kinds.length] === 'call_would_deny' ? 'observe' : 'enforce',
    timestamp: new Date(since + Math.floor((i * (now - since)) / (calls - 1))).toISOString(),
    payload: {
      run_id: `run-${env}-${i % 4}`,
      session_attempt_count: 1,
      ...(i % 2 === 1 ? { decision_name: `rule-${i % 4}` } : {}),
    },
  }));
  const old = { ...events[0], call_id: `${env}-old`, timestamp: new Date(since - 1).toISOString() };
  const outcomes = events
    .filter(({ verdict }) => verdict === 'call_allowed')
    .map((event) => ({ ...event, verdict: 'call_executed' }));
  const body = { events: [...events, old, ...outcomes] };
  expect((await t.call('ingestEvents', { body }, t.key(user, env, `${env}-0`))).body.accepted).toBe(
    calls + 1,
  );
  for (let i = 0; i < calls / 4; i++) {
    const body = { tool_name: 'tool-0', tool_args: { i }, message: 'May I?', agent_id: `${env}-${i % 2}` };
    await t.call('createApproval', { body }, t.key(user, env, `${env}-0`));
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const iso = (at: number): string => new Date(at).toISOString();

it.each([undefined, 'production', 'staging'] as const)(
  'agree on Home, Events, Agents, Approvals and Runs, in %s',
  async (env) => {
    await seed('production', 20);
    await seed('staging', 12);
    const [calls, agents] = env === undefined ? [32, 4] : [env === 'production' ? 20 : 12, 2];
    const query = env ? { env } : {};
    const { from: since, until } = spanOf({}, t.clock.now());
    const within = { ...query, since: iso(since) };

    const range = { ...within, until: iso(until) };
    const home = (await t.call('statsOverview', { query: { ...range, compare: 'previous' } }, user)).body;
    const { series } = (await t.call('statsSeries', { query: { ...range, points: '96' } }, user)).body;
    const waiting = (await t.call('listApprovals', { query: { ...query, status: 'pending' } }, user)).body;
    const quarter = calls / 4;
    expect(home).toMatchObject({
      calls: { allowed: quarter, denied: quarter, would_deny: quarter, asked: quarter },
      contracts_triggered_24h: 2,
      pending_approvals: waiting.length,
    });
    expect(waiting).toHaveLength(quarter);
    const [all] = series;
    expect([all?.total, sum(all?.denied ?? []), sum(all?.would_deny ?? [])]).toEqual([
      calls,
      quarter,
      quarter,
    ]);

    const facets = (await t.call('eventFacets', { query: within }, user)).body;
    const events = (await t.call('searchEvents', { query: { ...within, limit: '1000' } }, user)).body;
    expect([facets.total, events.length]).toEqual([calls, calls]);
    expect(sum(facets.facets.agent_id.top.map(({ count }) => count))).toBe(calls);
    expect(facets.facets.decision_name.top).toHaveLength(home.contracts_triggered_24h);

    const contracts = (await t.call('statsContracts', { query: within }, user)).body;
    expect(contracts.total_events).toBe(calls);
    expect(sum(contracts.coverage.map(({ total_denials }) => total_denials))).toBe(quarter);
    expect(
      contracts.coverage
        .map(({ decision_name, total_evaluations }) => [decision_name, total_evaluations])
        .sort(),
    ).toEqual(facets.facets.decision_name.top.map(({ value, count }) => [value, count]).sort());

    const fleet = (await t.call('fleetCoverage', { query: { ...query, since: iso(since) } }, user)).body;
    const list = (await t.call('listAgents', { query }, user)).body;
    expect([fleet.fleet_summary.total_agents, fleet.agents.length, list.length]).toEqual([
      agents,
      agents,
      agents,
    ]);
    for (const { agent_id, total_tools } of fleet.agents) {
      const one = { params: { agent_id }, query: { since: iso(since) } };
      const { tools } = (await t.call('agentCoverage', one, user)).body;
      const own = facets.facets.agent_id.top.find(({ value }) => value === agent_id)?.count;
      expect([tools.length, sum(tools.map(({ event_count }) => event_count))]).toEqual([total_tools, own]);
    }

    const operator = t.operator(user, 'viewer');
    const { runs, total } = (await t.call('hostedListRuns', { query: { limit: '100' } }, operator)).body;
    expect(total).toBe(runs.length);
    const ofEnv = runs.filter(({ environment }) => env === undefined || environment === env);
    // One call of each environment is older than a day.
    const old = env === undefined ? 2 : 1;
    expect(sum(ofEnv.map(({ counts }) => counts.calls))).toBe(calls + old);
    expect(sum(ofEnv.map(({ counts }) => counts.blocked))).toBe(quarter);
  },
);
