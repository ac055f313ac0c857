// Decision events, runs and agents on the hosted API; what either API stored appears on both.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { runSums } from '../../src/dashboard/pages/runs/sums.ts';
import { flatFields, maxExtraBytes } from '../../src/event/rules/flat.ts';
import type { Caller } from '../../src/http/contract/call.ts';
import type { Env } from '../../src/shared/ids.ts';
import { renderMicros } from '../../src/shared/instant.ts';
import { type KeyCaller, makeHub, type OperatorCaller, type TestHub, type UserCaller } from '../harness.ts';

type HostedKey = Extract<Caller, { kind: 'hostedKey' }>;

let t: TestHub;
let user: UserCaller;
let key: KeyCaller;
let agent: HostedKey;
let viewer: OperatorCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
  key = t.key(user);
  agent = { ...key, kind: 'hostedKey', env: null };
  viewer = t.operator(user, 'viewer');
});
afterEach(() => t.close());

const at = (ms = 0): string => renderMicros(t.clock.now() + ms);
const event = (more: object = {}) => ({
  call_id: 'call-1',
  agent_id: key.agentId,
  tool_name: 'read_file',
  tool_args: { path: 'README.md' },
  action: 'call_allowed',
  mode: 'enforce',
  timestamp: at(),
  session_id: 's1',
  ...more,
});
const ingest = async (events: readonly unknown[], as: HostedKey = agent) =>
  (await t.call('hostedIngestEvents', { body: { events } }, as)).body;
type Query = { readonly [name: string]: string | number | null | readonly string[] };
const texts = (query: Query) =>
  Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, Array.isArray(value) ? value : String(value)]),
  ) as { readonly [name: string]: string };
const search = async (query: Query = {}, as: Caller = viewer) =>
  (await t.call('hostedSearchEvents', { query: texts(query) }, as)).body;
const runs = async (query: Query = {}) =>
  (await t.call('hostedListRuns', { query: texts(query) }, viewer)).body;

it('several events of one call are kept, a repeat is not, and one that cannot be stored costs no other', async () => {
  const batch = [event(), event({ action: 'call_executed' }), 'odd', event({ timestamp: at(90_000_000) })];
  expect(await ingest(batch)).toMatchObject({
    accepted: 2,
    duplicates: 0,
    rejected: [
      { index: 2, code: 'not_an_object' },
      { index: 3, code: 'timestamp_in_future' },
    ],
  });
  expect(await ingest(batch.slice(0, 2))).toEqual({ accepted: 0, duplicates: 2, rejected: [] });
});

it.each([[undefined], [null], [{}]])(
  'without arguments (%o) have an empty object of them',
  async (tool_args) => {
    await ingest([event({ tool_args })]);
    expect((await search()).events).toMatchObject([{ tool_args: {} }]);
  },
);

it('of an empty session and run are of none', async () => {
  await ingest([event({ session_id: '', run_id: '' })]);
  expect((await search()).events).toMatchObject([{ session_id: null, run_id: null, run_key: null }]);
});

it('come back flat, with what the hub knows of them', async () => {
  await ingest([
    event({ decision_name: 'no-env', reason: 'because', odd: [1], seq: 'mine', workflow: null }),
  ]);
  const { events } = await search();
  expect(events).toHaveLength(1);
  expect(events[0]).toMatchObject({
    call_id: 'call-1',
    agent_id: key.agentId,
    tool_name: 'read_file',
    tool_args: { path: 'README.md' },
    action: 'call_allowed',
    decision: 'allow',
    decision_name: 'no-env',
    environment: 'production',
    session_id: 's1',
    run_key: { agent_id: key.agentId, session_id: 's1' },
    ruleset_name: null,
    timestamp: at(),
    extra: { odd: [1], seq: 'mine' },
  });
  expect(events[0]?.seq).toBeTypeOf('number');
});

it("hold no word of the hub that an agent wrote, in either API's form", async () => {
  const forged = {
    sample: true,
    truncated: ['tool_args'],
    outcomes: [{ action: 'call_blocked' }],
    received_at: '2000-01-01T00:00:00Z',
    verified_by: 'the hub',
    extra: 'mine',
  };
  await ingest([event(forged)]);
  const old = {
    call_id: 'old',
    agent_id: key.agentId,
    tool_name: 't',
    verdict: 'call_allowed',
    timestamp: at(5),
  };
  await t.call('ingestEvents', { body: { events: [{ ...old, payload: forged }] } }, key);
  const { events } = await search();
  expect(events).toHaveLength(2);
  for (const shown of events) {
    expect(shown).toMatchObject({ extra: forged });
    for (const word of ['sample', 'truncated', 'outcomes', 'verified_by'])
      expect(shown).not.toHaveProperty(word);
    expect(shown.received_at).not.toBe(forged.received_at);
  }
  const [nested] = (await t.call('searchEvents', { query: { call_id: 'old' } }, key)).body;
  expect(nested?.payload).toEqual(forged);
});

it('keep 8 KiB of fields that the form does not have, by name', async () => {
  const odd = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [`odd_${name}`, name.repeat(3000)]));
  await ingest([event(odd)]);
  const [{ id } = { id: '' }] = (await t.call('searchEvents', {}, key)).body;
  const { payload } = (await t.call('getEvent', { params: { event_id: id } }, key)).body;
  expect(payload).toMatchObject(odd);
  const { extra } = flatFields(payload);
  expect(Object.keys(extra ?? {})).toEqual(['odd_a', 'odd_b']);
  expect(Buffer.byteLength(JSON.stringify(extra))).toBeLessThanOrEqual(maxExtraBytes);
  expect((await search()).events[0]?.extra).toMatchObject({ _truncated: true });
});

it('become text once when they are listed', async () => {
  const fields = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`field_${i}`, `value ${i}`]));
  const events = Array.from({ length: 40 }, (_, i) => event({ call_id: `c${i}`, tool_args: fields }));
  await ingest(events);
  const write = JSON.stringify;
  let written = 0;
  JSON.stringify = ((...values: [unknown]) => {
    const text = write(...values);
    written += text?.length ?? 0;
    return text;
  }) as typeof write;
  try {
    for (const list of [search, () => t.call('searchEvents', {}, key)]) {
      written = 0;
      const length = write(await list()).length;
      expect(length).toBeGreaterThan(40 * 2500);
      // Once for the answer, and once where the store measures its page: on a thread of its own, but not in tests.
      expect(written).toBeLessThan(2.2 * length);
    }
  } finally {
    JSON.stringify = write;
  }
});

it('of either API are seen on both, each in its own words', async () => {
  await ingest([event({ action: 'call_blocked' })]);
  const payload = { run_id: 'r1', policy_version: 'f'.repeat(64) };
  const old = {
    call_id: 'old',
    agent_id: key.agentId,
    tool_name: 't',
    verdict: 'call_denied',
    timestamp: at(5),
    payload,
  };
  await t.call('ingestEvents', { body: { events: [old] } }, key);
  const onConsole = (await t.call('searchEvents', { query: { verdict: 'call_denied' } }, user)).body;
  expect(onConsole.map(({ call_id, verdict }) => [call_id, verdict])).toEqual([
    ['old', 'call_denied'],
    ['call-1', 'call_denied'],
  ]);
  const { events } = await search({ decision: ['block'] });
  expect(events.map(({ call_id, action, session_id }) => [call_id, action, session_id])).toEqual([
    ['old', 'call_blocked', 'r1'],
    ['call-1', 'call_blocked', 's1'],
  ]);
  expect((await runs()).runs.map(({ session_id, status }) => [session_id, status])).toEqual([
    ['r1', 'blocked'],
    ['s1', 'blocked'],
  ]);
});

it('belong to the environment of the key, else to the one they name, else to production', async () => {
  const named = [event({ call_id: 'a', environment: 'staging' }), event({ call_id: 'b', environment: 'qa' })];
  await ingest([...named, event({ call_id: 'c' })]);
  await ingest([event({ call_id: 'd', environment: 'staging' })], { ...agent, env: 'development' });
  const found = async (environment: string) =>
    (await search({ environment })).events.map((e) => e.call_id).sort();
  expect(await found('production')).toEqual(['b', 'c']);
  expect(await found('staging')).toEqual(['a']);
  expect(await found('development')).toEqual(['d']);
  expect(await found('qa')).toEqual([]);
  const [b] = (await search({ environment: 'production' })).events.filter((e) => e.call_id === 'b');
  expect(b?.environment).toBe('qa');
  const own = (await search({}, { ...agent, env: 'staging' })).events.map((e) => e.call_id);
  expect(own).toEqual(['a']);
});

it('are found by what they are and when, in pages of either kind', async () => {
  await ingest(
    Array.from({ length: 7 }, (_, i) =>
      event({
        call_id: `c${i}`,
        timestamp: at(i),
        session_id: i < 4 ? 's1' : 's2',
        parent_session_id: i === 0 ? 'p' : null,
      }),
    ),
  );
  const ids = (page: Awaited<ReturnType<typeof search>>) => page.events.map((e) => e.call_id);
  expect(ids(await search({ session_id: 's1' }))).toEqual(['c3', 'c2', 'c1', 'c0']);
  expect(ids(await search({ parent_session_id: 'p' }))).toEqual(['c0']);
  expect(ids(await search({ since: at(2), until: at(4) }))).toEqual(['c3', 'c2']);
  expect(ids(await search({ decision: ['call_allowed', 'call_blocked'] }))).toHaveLength(7);
  expect(ids(await search({ decision: ['other'] }))).toEqual([]);
  await expect(search({ decision: ['nonsense'] })).rejects.toMatchObject({ code: 'validation_failed' });
  const first = await search({ limit: 3 });
  expect([ids(first), first.has_more, first.next_offset]).toEqual([['c6', 'c5', 'c4'], true, 3]);
  await ingest([event({ call_id: 'newer', timestamp: at(9) })]);
  const second = await search({ limit: 3, cursor: first.next_cursor });
  expect([ids(second), second.next_offset]).toEqual([['c3', 'c2', 'c1'], null]);
  const last = await search({ limit: 3, offset: 6 });
  expect([ids(last), last.has_more, last.next_cursor]).toEqual([['c1', 'c0'], false, null]);
  expect(ids(await search({ offset: 50 }))).toEqual([]);
});

it('a key that is bound to agents writes and reads theirs alone', async () => {
  const bound: HostedKey = { ...agent, agentId: 'a-1', agentPattern: 'a-*' };
  const answer = await ingest([event({ agent_id: 'a-1' }), event({ agent_id: 'b' })], bound);
  expect(answer).toMatchObject({
    accepted: 1,
    rejected: [{ index: 1, call_id: 'call-1', code: 'forbidden' }],
  });
  await ingest([event({ agent_id: 'b' })]);
  expect((await search({}, bound)).events.map((e) => e.agent_id)).toEqual(['a-1']);
  for (const ask of [
    search({ agent_id: 'b' }, bound),
    t.call('hostedGetAgent', { params: { agent_id: 'b' } }, bound),
  ]) {
    await expect(ask).rejects.toMatchObject({ code: 'forbidden' });
  }
  const { agents } = (await t.call('hostedListAgents', {}, bound)).body;
  expect(agents.map((one) => one.id)).toEqual(['a-1']);
});

it('another workspace sees nothing of it', async () => {
  await ingest([event()]);
  const other = t.operator(await t.tenant(), 'admin');
  expect((await search({}, other)).events).toEqual([]);
  expect((await t.call('hostedListRuns', {}, other)).body).toMatchObject({ runs: [], total: 0 });
  await expect(
    t.call('hostedGetAgent', { params: { agent_id: key.agentId ?? '' } }, other),
  ).rejects.toMatchObject({
    code: 'not_found',
  });
});

it('a run shows what its events say, and names the ruleset by its hash', async () => {
  const yaml = new TextEncoder().encode('kind: Ruleset\n');
  const revisionHash = t.hub.secrets.sha256('kind: Ruleset\n');
  await t.hub.store.bundles.upload({
    id: t.hub.secrets.uuid(),
    tenantId: user.tenantId,
    name: 'guardrails',
    revisionHash,
    contractCount: 1,
    mode: 'enforce',
    description: null,
    size: yaml.length,
    uploadedBy: 'ann',
    createdAt: t.clock.now(),
    compositionId: null,
    snapshot: null,
    yaml,
  });
  const workflow = {
    name: 'release',
    active_stage: 'review',
    completed_stages: ['build'],
    pending_approval: { required: false },
    extra: 1,
  };
  await ingest([
    event({ run_id: 'r1', policy_version: revisionHash, workflow }),
    event({ run_id: 'r2', action: 'call_blocked', timestamp: at(5), decision_name: 'rule' }),
  ]);
  const { runs: rows, total } = await runs({ status: ['blocked', 'stale'] });
  expect(total).toBe(1);
  expect(rows[0]).toMatchObject({
    run_id: 'r2',
    status: 'blocked',
    ruleset_name: 'guardrails',
    ruleset_version: 1,
    policy_version: revisionHash,
    last_activity_at: at(5),
    last_event: { action: 'call_blocked', decision: 'block', decision_name: 'rule' },
    workflow: { name: 'release', active_stage: 'review' },
    counts: { events: 2, calls: 2, allowed: 1, blocked: 1 },
    pending_approval: null,
    sample: false,
  });
  expect((await runs({ status: ['active'] })).runs).toEqual([]);
  const params = { agent_id: key.agentId ?? '' };
  const state = (await t.call('hostedWorkflowState', { params, query: { session_id: 's1' } }, agent)).body;
  const { events } = await search();
  expect(state).toMatchObject({
    ...workflow,
    session_id: 's1',
    run_id: 'r2',
    event_id: events[1]?.id,
    snapshot_error: false,
  });
  await expect(
    t.call('hostedWorkflowState', { params, query: { session_id: 'none' } }, agent),
  ).rejects.toMatchObject({ code: 'not_found' });
});

it('a run counts each call once by its last decision, whatever contracts in observe mode fire beside it', async () => {
  const reports = [
    ['a', 'call_would_block', 'watched'],
    ['a', 'call_would_block', 'also'],
    ['a', 'call_allowed', null],
    ['b', 'call_would_block', 'watched'],
    ['b', 'call_blocked', 'rule'],
    ['c', 'call_allowed', null],
  ] as const;
  await ingest(
    reports.map(([call_id, action, decision_name], i) =>
      event({ call_id, action, decision_name, timestamp: at(i) }),
    ),
  );
  const [run] = (await runs()).runs;
  // The classes count events.
  expect(run?.counts).toMatchObject({ events: 6, calls: 3, allowed: 2, blocked: 1, would_block: 3 });
  expect(run?.call_outcomes).toEqual({ allowed: 2, denied: 1, asked: 0, would_deny: 0, expired: 0 });
  expect(run && runSums(run)).toBe('3 calls, 2 allowed, 1 denied. Contracts in observe mode fired 3 times.');
  expect(run && runSums({ ...run, call_outcomes: null })).toBe(
    '3 calls. The outcomes of a part of the run are unknown.',
  );
});

it('an agent is healthy, asks, is blocked or stale', async () => {
  const params = { agent_id: key.agentId ?? '' };
  const get = async () => (await t.call('hostedGetAgent', { params }, viewer)).body;
  await ingest([event()]);
  expect(await get()).toMatchObject({
    agent: {
      id: key.agentId,
      connected: false,
      environment: 'production',
      open_runs: 1,
      last_event_at: at(),
    },
    health: { status: 'healthy', reason: 'ok', stale_after_seconds: 900 },
    recent_runs: [{ session_id: 's1', status: 'active' }],
  });
  await t.call('createApproval', { body: { tool_name: 't', message: 'May I?', session_id: 's1' } }, key);
  expect(await get()).toMatchObject({
    health: { status: 'approval_pending', pending_approvals: 1 },
    recent_runs: [{ status: 'approval_pending', pending_approval: { message: 'May I?', rule_name: 't' } }],
  });
  t.clock.advance(400_000);
  await ingest([event({ action: 'call_blocked' })]);
  expect((await get()).health).toMatchObject({
    status: 'blocked',
    reason: 'last_decision_blocked',
    blocked_runs: 1,
  });
  await ingest([event({ action: 'call_executed', timestamp: at(1) })]);
  t.clock.advance(901_000);
  expect((await get()).health).toMatchObject({ status: 'stale', reason: 'no_activity' });
  const { agents } = (await t.call('hostedListAgents', {}, agent)).body;
  expect(agents).toMatchObject([{ id: key.agentId, health: { status: 'stale' } }]);
});

it('session values are one store under both prefixes', async () => {
  const params = { key: 's:1:attempts' };
  await t.call('hostedIncrementSession', { params, body: { amount: 2 } }, agent);
  expect((await t.call('getSession', { params }, key)).body).toEqual({ value: '2' });
  await t.call('hostedSetSession', { params, body: { value: 'x' } }, agent);
  const batch = { keys: ['s:1:attempts', 'none'] };
  expect((await t.call('hostedReadSessions', { body: batch }, agent)).body.values).toEqual({
    's:1:attempts': 'x',
    none: null,
  });
  await t.call('hostedDeleteSession', { params }, agent);
  await expect(t.call('hostedGetSession', { params }, agent)).rejects.toMatchObject({ code: 'not_found' });
  expect((await t.call('hostedHealth', {}, { kind: 'none' })).body).toMatchObject({ status: 'ok' });
});

it('a key of one environment sees no snapshot and no version of another, though agent and session are the same', async () => {
  const workflow = { name: 'w', active_stage: 'secret', completed_stages: [], pending_approval: {} };
  const inEnv = (env: Env): HostedKey => ({ ...agent, agentId: null, env });
  const ids = { agent_id: 'two-places', session_id: 's-two' };
  await ingest([event({ ...ids, call_id: 'p1', workflow, policy_version: 'v-secret' })], inEnv('staging'));
  await ingest([event({ ...ids, call_id: 'p2' })], inEnv('development'));
  const runOf = async (as: Caller) =>
    (await t.call('hostedListRuns', { query: { agent_id: 'two-places' } }, as)).body.runs[0];
  expect(await runOf(viewer)).toMatchObject({ policy_version: 'v-secret', workflow: { name: 'w' } });
  const run = await runOf(inEnv('development'));
  expect(run).toMatchObject({ environment: 'development', policy_version: null, workflow: null });
  expect(JSON.stringify(run)).not.toContain('secret');
  const params = { agent_id: 'two-places' };
  const state = t.call(
    'hostedWorkflowState',
    { params, query: { session_id: 's-two' } },
    inEnv('development'),
  );
  await expect(state).rejects.toMatchObject({ code: 'not_found' });
});

it('a long list of agents is made a few at a time: their runs are many, and the event loop reads them in one turn', async () => {
  const events = Array.from({ length: 70 }, (_, i) =>
    event({ call_id: `c${i}`, agent_id: `many-${i}`, session_id: `s${i}` }),
  );
  await ingest(events, { ...agent, agentId: null });
  const recent = vi.spyOn(t.hub.store.runs, 'listRecent');
  const { agents } = (await t.call('hostedListAgents', { query: { limit: '500' } }, viewer)).body;
  expect(agents.length).toBe(70);
  expect(agents.every(({ open_runs }) => open_runs === 1)).toBe(true);
  const asked = recent.mock.calls.map(([, { agentIds }]) => agentIds.length);
  expect(asked.reduce((sum, n) => sum + n, 0)).toBe(70);
  expect(Math.max(...asked)).toBeLessThanOrEqual(20);
});
