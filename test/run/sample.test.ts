// The sample run: one for a workspace, judged for real, counted nowhere.
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  bucketsOfRows,
  facetsOfRows,
  visibleEvents,
} from '../../src/dashboard/pages/events/sample-events.ts';
import { runSums } from '../../src/dashboard/pages/runs/sums.ts';
import type { RouteDeclaration } from '../../src/http/contract/route.ts';
import { api } from '../../src/hub/api/console-routes.ts';
import { hostedApi } from '../../src/hub/api/hosted-routes.ts';
import type { Env } from '../../src/shared/ids.ts';
import { anApproval } from '../conformance/fixtures.ts';
import { makeHub, type Operation, type OperatorCaller, type TestHub, type UserCaller } from '../harness.ts';
import { itAtNight } from '../runs.ts';

let t: TestHub;
let user: UserCaller;
let operator: OperatorCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
  operator = t.operator(user, 'operator');
});
afterEach(() => t.close());

const make = (as: OperatorCaller = operator) => t.call('hostedSampleRun', {}, as);
const eventsOf = async () => (await t.call('hostedSearchEvents', {}, operator)).body.events;

it('of 50 calls at once one makes it, and all answer the same', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => make()));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  expect(await eventsOf()).toHaveLength(7);
  const { runs } = (await t.call('hostedListRuns', {}, operator)).body;
  expect(runs).toHaveLength(1);
  const { items } = await t.hub.store.bundles.listVersions(user.tenantId, 'sample-guardrails', {
    limit: 9,
    offset: 0,
  });
  expect(items).toHaveLength(1);
});

it('shows what is allowed, blocked, observed, asked, and a workflow that waits', async () => {
  const { body } = await make();
  const events = (await eventsOf()).reverse();
  expect(events.map(({ tool_name, action, decision_name }) => [tool_name, action, decision_name])).toEqual([
    ['read_file', 'call_allowed', null],
    ['read_file', 'call_executed', null],
    ['read_file', 'call_blocked', 'block-env-files'],
    ['run_command', 'call_would_block', 'watch-shell'],
    ['run_command', 'call_executed', null],
    ['workflow', 'workflow_stage_advanced', null],
    ['deploy_service', 'call_asked', 'ask-deploy'],
  ]);
  expect(events.every(({ sample, environment }) => sample === true && environment === 'development')).toBe(
    true,
  );
  const [run] = (await t.call('hostedListRuns', {}, operator)).body.runs;
  expect(run).toMatchObject({
    agent_id: body.agent_id,
    session_id: body.session_id,
    run_id: body.run_id,
    status: 'approval_pending',
    sample: true,
    ruleset_name: 'sample-guardrails',
    ruleset_version: 1,
    workflow: { name: 'sample-release', active_stage: 'review' },
    pending_approval: {
      id: body.approval_id,
      rule_name: 'ask-deploy',
      message: 'May shop go to production?',
    },
  });
});

it('has sums that agree: of its events, its run, its decision bundle and what the console shows of them', async () => {
  const { body } = await make();
  const events = await eventsOf();
  const decisions = events.map(({ decision }) => decision);
  const count = (word: string): number => decisions.filter((decision) => decision === word).length;
  const [run] = (await t.call('hostedListRuns', {}, operator)).body.runs;
  const ofCalls = events.filter(({ action }) => !action.startsWith('workflow_'));
  const callIds = new Set(ofCalls.map(({ call_id }) => call_id));
  expect(run?.counts).toEqual({
    events: events.length,
    calls: callIds.size,
    allowed: count('allow'),
    blocked: count('block'),
    asked: count('ask'),
    would_block: count('would_block'),
    timed_out: 0,
    failed: 0,
    warned: 0,
  });
  // Each call in one way: two run, one of them only observed.
  expect(run).toMatchObject({
    counts: { events: 7, calls: 4, blocked: 1, asked: 1, would_block: 1 },
    pending_approval_count: 1,
  });
  expect(run && runSums(run)).toBe('4 calls, 1 allowed, 1 denied, 1 asked, 1 would deny.');

  const params = { agent_id: body.agent_id, session_id: body.session_id };
  const bundle = (await t.call('hostedRunBundle', { params }, operator)).body;
  const payload = JSON.parse(Buffer.from(bundle.payload, 'base64').toString());
  const totals = Object.fromEntries([...new Set(decisions)].map((decision) => [decision, count(decision)]));
  expect(payload).toMatchObject({ event_count: events.length, totals });
  expect(payload.approvals).toHaveLength(1);

  // No statistic counts it, in whichever way it is asked.
  const day = { since: new Date(t.clock.now() - 86_400_000).toISOString() };
  const until = new Date(t.clock.now() + 60_000).toISOString();
  const filter = { agent_id: body.agent_id, ...day };
  expect((await t.call('eventFacets', { query: filter }, user)).body.total).toBe(0);
  expect((await t.call('eventHistogram', { query: { ...filter, until } }, user)).body).toEqual([]);
  expect((await t.call('statsContracts', { query: {} }, user)).body).toMatchObject({
    coverage: [],
    total_events: 0,
  });
});

it('is in the list, the chart and the filters of the events page until a reported call matches', async () => {
  await make();
  const day = { since: new Date(t.clock.now() - 86_400_000).toISOString() };
  const search = async (maxRows = 100) =>
    visibleEvents((await t.call('searchEvents', { query: { ...day, limit: '100' } }, user)).body, maxRows);
  const { rows, isSample } = await search();
  expect([rows.length, isSample]).toEqual([7, true]);
  const { total, facets } = facetsOfRows(rows);
  expect(total).toBe(7);
  expect(facets.first_verdict.top).toEqual([
    { value: 'allowed', count: 4 },
    ...['asked', 'would_deny', 'denied'].map((value) => ({ value, count: 1 })),
  ]);
  expect(facets.decision_name.top).toHaveLength(3);
  const buckets = bucketsOfRows(rows, Date.parse(day.since), 900_000);
  const calls = buckets.map(
    ({ allowed, denied, asked, would_deny: would }) => allowed + denied + asked + would,
  );
  expect(calls.reduce((sum, one) => sum + one, 0)).toBe(7);
  expect(buckets.reduce((sum, { would_deny: would }) => sum + would, 0)).toBe(1);

  const call = { call_id: 'c', tool_name: 'read_file', verdict: 'call_allowed', mode: 'enforce' };
  const reported = [{ ...call, agent_id: 'a', timestamp: new Date(t.clock.now()).toISOString() }];
  await t.call('ingestEvents', { body: { events: reported } }, t.key(user, 'production', 'a'));
  expect(await search()).toMatchObject({ rows: [{ call_id: 'c' }], isSample: false, isFull: false });
  // Hidden rows count, or the page would read on to the end of the range.
  expect(await search(8)).toMatchObject({ rows: [{ call_id: 'c' }], isFull: true });
  expect((await t.call('eventFacets', { query: day }, user)).body.total).toBe(1);
});

it('counts nowhere, tells nobody, and is deployed to development alone', async () => {
  t.newFrames();
  await make();
  expect(t.newFrames().map(({ type }) => type)).not.toContain('approval_created');
  const stats = (await t.call('statsOverview', {}, user)).body;
  expect(stats).toMatchObject({
    events_24h: 0,
    denials_24h: 0,
    observe_findings_24h: 0,
    active_agents: 0,
    total_agents: 0,
  });
  const deployed = await t.hub.store.deployments.listAllCurrent(user.tenantId);
  expect(deployed.map(({ env, bundleName }) => [env, bundleName])).toEqual([
    ['development', 'sample-guardrails'],
  ]);
  expect((await t.call('hostedListAgents', {}, operator)).body.agents).toEqual([]);
});

/**
 * Lists that show it as what it is, and what its ruleset, stored and deployed to development, changes. Everything else
 * stays as it was.
 */
const shows: ReadonlySet<string> = new Set([
  'searchEvents',
  'exportEvents',
  'listApprovals',
  'exportApprovalLines',
  'exportAuditLines',
  'listBundles',
  'listDeployments',
  'fleetMatrix',
  'hostedSearchEvents',
  'hostedListRuns',
  'hostedListApprovals',
  'hostedListRulesets',
  'hostedListAudit',
  'hostedExportAudit',
  'hostedAuditHead',
]);

/** Every answer that is asked for without naming anything: figures, histograms, facets, coverage, the fleet. */
async function answers(): Promise<Map<string, unknown>> {
  const found = new Map<string, unknown>();
  const routes = Object.entries({ ...api, ...hostedApi }) as [Operation, RouteDeclaration][];
  for (const [name, { method, params, media, auth }] of routes) {
    const caller = auth.includes('cookie') ? user : auth.includes('operatorJwt') ? operator : null;
    if (method !== 'GET' || params || media === 'text/event-stream' || !caller || shows.has(name)) continue;
    for (const query of [{}, { env: 'development' }, { agent_id: 'sample-agent' }]) {
      const said = await t.call(name, { query }, caller).then(
        ({ body }) => body,
        (error: Error) => String(error),
      );
      found.set(`${name} ${JSON.stringify(query)}`, said);
    }
  }
  return found;
}

/** Lines of exports with their data alone: each answer seals its cursors anew. */
const withoutCursors = (body: unknown): unknown =>
  typeof body === 'string' ? body.replaceAll(/"cursor":"[^"]+",/g, '') : body;

it('changes no answer but those of the lists that show it', async () => {
  const key = t.key(user, 'production', 'real');
  const event = {
    agent_id: 'real',
    tool_name: 'read_file',
    verdict: 'call_allowed',
  };
  await t.call(
    'ingestEvents',
    { body: { events: [{ ...event, call_id: 'c1', timestamp: new Date(t.clock.now()).toISOString() }] } },
    key,
  );
  const before = await answers();
  for (const one of [
    'statsOverview',
    'statsContracts',
    'eventFacets',
    'eventHistogram',
    'fleetCoverage',
    'agentStatus',
    'hostedListAgents',
  ]) {
    expect(
      [...before.keys()].filter((name) => name.startsWith(`${one} `)),
      one,
    ).toHaveLength(3);
  }
  expect(before.get('statsOverview {}')).toMatchObject({ events_24h: 1, pending_approvals: 0 });
  await make();
  const after = await answers();
  for (const [name, body] of before)
    expect(withoutCursors(after.get(name)), name).toEqual(withoutCursors(body));
});

it('is left out of the pending approvals of people with roles in several environments', async () => {
  await make();
  const viewerIn = (...envs: readonly Env[]): UserCaller => ({
    ...user,
    roles: envs.map((env) => ({ role: 'viewer', env })),
  });
  for (const caller of [
    viewerIn('staging', 'development'),
    viewerIn('development'),
    viewerIn('production', 'staging'),
  ])
    expect((await t.call('statsOverview', {}, caller)).body.pending_approvals).toBe(0);
});

itAtNight('is reused later, also when its approval is over, and goes with its approval', async () => {
  const first = (await make()).body;
  t.clock.advance(90_000_000);
  const again = await make();
  expect([again.status, again.body]).toEqual([200, first]);
  const approvals = async () => (await t.call('hostedListApprovals', {}, operator)).body.approvals;
  expect(await approvals()).toHaveLength(1);
  for (let i = 0; i < 2; i++) {
    expect((await t.call('hostedDeleteSampleRun', {}, operator)).body).toEqual({ deleted: true });
  }
  expect([await eventsOf(), await approvals()]).toEqual([[], []]);
  expect((await t.call('hostedListRuns', {}, operator)).body.runs).toEqual([]);
  const answer = await make();
  expect([answer.status, answer.body]).toEqual([201, first]);
  expect(await eventsOf()).toHaveLength(7);
  expect(await approvals()).toMatchObject([{ id: first.approval_id, status: 'pending' }]);
});

it('has an approval that is decided again at once after a removal', async () => {
  const decide = async (approval_id: string) =>
    (await t.call('decideApproval', { params: { approval_id }, body: { approved: true } }, user)).body.status;
  const { body } = await make();
  expect(await decide(body.approval_id)).toBe('approved');
  await expect(decide(body.approval_id)).rejects.toMatchObject({ code: 'conflict' });
  await t.call('hostedDeleteSampleRun', {}, operator);
  await make();
  expect(await decide(body.approval_id)).toBe('approved');
});

it('is in no export: neither its events nor its approval', async () => {
  await make();
  const approval = anApproval({ tenantId: user.tenantId });
  await t.hub.store.approvals.request(approval);
  const linesOf = async (operation: 'exportEventLines' | 'exportApprovalLines') =>
    String((await t.call(operation, {}, user)).body);
  expect(await linesOf('exportEventLines')).toBe('');
  const approvals = (await linesOf('exportApprovalLines')).trim().split('\n');
  expect(approvals.map((line) => JSON.parse(line).data.id)).toEqual([approval.id]);
});

itAtNight('is made anew when a removal ended half-way', async () => {
  const { body } = await make();
  await t.hub.store.approvals.remove(user.tenantId, body.approval_id);
  t.clock.advance(60_000);
  expect((await make()).status).toBe(201);
  expect(await eventsOf()).toHaveLength(7);
});

itAtNight('is made and removed by signed-in people, too', async () => {
  const answer = await t.call('makeSampleRun', {}, user);
  const again = await make();
  expect([answer.status, again.status, again.body]).toEqual([201, 200, answer.body]);
  expect((await t.call('deleteSampleRun', {}, user)).body).toEqual({ deleted: true });
  expect(await eventsOf()).toEqual([]);
});

it('has an id that follows from the workspace, and keeps that of an earlier version while it is there', async () => {
  const { body } = await make();
  expect(body.run_id).toBe(t.hub.secrets.namedUuid(user.tenantId, 'sample-run'));
  expect(body.run_id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const { tenantId } = user;
  await t.hub.store.events.removeSample(tenantId);
  const earlier = {
    agentId: 'sample-agent',
    callId: 'earlier',
    toolName: 'read_file',
    verdict: 'call_allowed',
    mode: 'enforce',
    timestamp: t.clock.now(),
    payload: { session_id: 'sample-session', run_id: 'earlier-run', environment: 'development' },
  } as const;
  await t.hub.store.events.ingest({
    tenantId,
    env: 'development',
    receivedAt: t.clock.now(),
    events: [earlier],
    sample: true,
  });
  const again = await make();
  expect([again.status, again.body]).toEqual([200, { ...body, run_id: 'earlier-run' }]);
  expect((await t.call('hostedListRuns', {}, operator)).body.runs).toMatchObject([{ run_id: 'earlier-run' }]);
  await t.call('hostedDeleteSampleRun', {}, operator);
  expect((await make()).body).toEqual(body);
});

it('shows its agent, which counts in no fleet number and is in no list', async () => {
  const agent = (as = operator) =>
    t.call('hostedGetAgent', { params: { agent_id: 'sample-agent' } }, as).then(({ body }) => body);
  await expect(agent()).rejects.toMatchObject({ code: 'not_found' });
  const { body } = await make();
  expect(await agent()).toMatchObject({
    agent: {
      id: 'sample-agent',
      environment: 'development',
      connected: false,
      ruleset_name: 'sample-guardrails',
      ruleset_version: 1,
      open_runs: 1,
      pending_approvals: 1,
    },
    health: { status: 'approval_pending', reason: 'pending_approval' },
    recent_runs: [{ run_id: body.run_id, sample: true }],
  });
  await expect(agent(t.operator(await t.tenant(), 'operator'))).rejects.toMatchObject({ code: 'not_found' });
  expect((await t.call('hostedListAgents', {}, operator)).body.agents).toEqual([]);
  await t.call('hostedDeleteSampleRun', {}, operator);
  await expect(agent()).rejects.toMatchObject({ code: 'not_found' });
});

it('is asked for ten times a minute at most, both APIs together', async () => {
  await make();
  for (let i = 0; i < 9; i++) expect((await make()).status).toBe(200);
  await expect(make()).rejects.toMatchObject({ code: 'rate_limited' });
  await expect(t.call('makeSampleRun', {}, user)).rejects.toMatchObject({ code: 'rate_limited' });
  await expect(t.call('deleteSampleRun', {}, user)).rejects.toMatchObject({ code: 'rate_limited' });
  t.clock.advance(60_000);
  expect((await make()).status).toBe(200);
});

itAtNight('is of one workspace', async () => {
  const other = t.operator(await t.tenant(), 'operator');
  const [one, two] = [await make(), await make(other)];
  expect(one.body.run_id).not.toBe(two.body.run_id);
  expect(two.status).toBe(201);
  await t.call('hostedDeleteSampleRun', {}, other);
  expect(await eventsOf()).toHaveLength(7);
});

it.each([
  ['an operator everywhere', () => operator, false],
  ['an API key', () => t.hostedKey(user), false],
  [
    'an operator named for it',
    () => ({ ...operator, roles: [{ role: 'operator', env: 'development' }] }) as OperatorCaller,
    true,
  ],
  ['an admin', () => t.operator(user, 'admin'), true],
] as const)(
  'goes into a protected environment as %s may: its ruleset is saved in any case',
  async (_, as, isDeployed) => {
    const policy = { params: { env: 'development' }, body: { protected: true } };
    await t.call('putEnvironmentPolicy', policy, user);
    t.clock.advance(2_000);
    expect((await t.call('hostedSampleRun', {}, as())).status).toBe(201);
    const { tenantId } = user;
    const page = { limit: 9, offset: 0 };
    expect((await t.hub.store.bundles.listVersions(tenantId, 'sample-guardrails', page)).items).toHaveLength(
      1,
    );
    expect(await t.hub.store.deployments.listAllCurrent(tenantId)).toHaveLength(isDeployed ? 1 : 0);
  },
);
