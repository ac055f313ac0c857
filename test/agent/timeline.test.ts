// Events of an agent, and in a run, over time.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { environmentKey } from '../../actors/protocol.ts';
import { agentStreamsOf } from '../../src/hub/agent-streams.ts';
import { streamHandlers } from '../../src/hub/api/stream-handlers.ts';
import { deploy } from '../deployment/deploy.ts';
import { type KeyCaller, makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
let key: KeyCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
  key = t.key(user);
});
afterEach(() => t.close());

const iso = (at: number): string => new Date(at).toISOString();
const ofAgent = async (query = {}, as = user, agent_id = 'agent-1') =>
  (await t.call('agentTimeline', { params: { agent_id }, query }, as)).body;
const ofRun = async (query = {}, as = user, session_id = 'run') =>
  (await t.call('runTimeline', { params: { agent_id: 'agent-1', session_id }, query }, as)).body;
const ingest = (...events: object[]) =>
  t.call(
    'ingestEvents',
    {
      body: {
        events: events.map((more) => ({
          agent_id: 'agent-1',
          tool_name: 'x',
          verdict: 'call_allowed',
          timestamp: iso(t.clock.now()),
          ...more,
        })),
      },
    },
    key,
  );

it("an agent's streams, documents and approvals, in the range", async () => {
  const streams = streamHandlers(t.hub, agentStreamsOf(t.hub, 'node-1'));
  const query = { env: key.env, bundle_name: 'shop' };
  await (await streams.admitAgent(key, query, 'stream-1')).catchUp();
  const openedAt = t.clock.now();
  await t.clock.advance(1_000);
  const first = await deploy(t, user, 'shop', '1');
  await t.clock.advance(1_000);
  await ingest({ call_id: 'c1', payload: { policy_version: first.revisionHash, bundle_name: 'shop' } });
  const ranAt = t.clock.now();
  const { body: approval } = await t.call('createApproval', { body: { tool_name: 'x', message: 'm' } }, key);
  await t.clock.advance(1_000);
  const params = { approval_id: approval.id };
  await t.call('decideApproval', { params, body: { approved: false } }, user);
  const decidedAt = t.clock.now();
  await t.clock.advance(1_000);
  const second = await deploy(t, user, 'shop', '2');
  await t.call('undeployBundle', { query: { env: 'production', bundle_name: 'shop' } }, user);
  const document = { bundle_name: 'shop', version: 1 };
  expect(await ofAgent()).toEqual({
    env: 'production',
    streams: [{ from: iso(openedAt), to: null, transport: expect.anything(), node: 'node-1' }],
    documents: [
      { ...document, at: iso(first.createdAt), kind: 'deployed' },
      { ...document, at: iso(ranAt), kind: 'running' },
      { ...document, at: iso(second.createdAt), version: 2, kind: 'deployed' },
      { ...document, at: iso(t.clock.now()), version: 2, kind: 'undeployed' },
    ],
    approvals: [{ id: approval.id, from: iso(ranAt), to: iso(decidedAt), status: 'denied' }],
    next_cursor: null,
  });
  expect(await ofAgent({ since: iso(ranAt), until: iso(ranAt + 1) })).toMatchObject({
    documents: [{ kind: 'running' }],
    approvals: [{ id: approval.id }],
  });
  expect((await ofAgent({ until: iso(ranAt) })).approvals).toEqual([]);
  const viewer: UserCaller = { ...user, roles: [{ role: 'viewer', env: '*' }] };
  expect((await ofAgent({}, viewer)).streams).toMatchObject([{ node: null }]);

  // It is there when it has ended, before and after it is stored; a viewer does not see its node.
  await t.hub.actors.ask('environment', environmentKey(user.tenantId, 'production'), 'leave', {
    agentId: 'agent-1',
    connectionId: 'stream-1',
  });
  const ended = { from: iso(openedAt), to: iso(t.clock.now()), transport: expect.anything() };
  expect((await ofAgent()).streams).toEqual([{ ...ended, node: 'node-1' }]);
  await t.clock.advance(20_000);
  expect((await ofAgent()).streams).toEqual([{ ...ended, node: 'node-1' }]);
  expect((await ofAgent({}, viewer)).streams).toEqual([{ ...ended, node: null }]);
  expect((await ofAgent({ since: ended.to })).streams).toEqual([]);
});

it("pages an agent's approvals, with streams and documents on the first page alone", async () => {
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) {
    const body = { tool_name: 'x', message: 'm', call_id: `${i}` };
    ids.unshift((await t.call('createApproval', { body }, key)).body.id);
    await t.clock.advance(10);
  }
  await deploy(t, user, 'shop', '1');
  const first = await ofAgent({ limit: '3' });
  const second = await ofAgent({ limit: '3', cursor: first.next_cursor ?? '' });
  expect([...first.approvals, ...second.approvals].map(({ id }) => id)).toEqual(ids);
  expect([second.documents, second.streams, second.next_cursor]).toEqual([[], [], null]);
});

it('is not there for people without a role where the agent is, nor for other tenants', async () => {
  await ingest({ call_id: 'c', payload: { session_id: 'run' } });
  const elsewhere: UserCaller = { ...user, roles: [{ role: 'admin', env: 'staging' }] };
  const other = await t.tenant('other@example.com');
  for (const as of [elsewhere, other]) {
    await expect(ofAgent({}, as)).rejects.toMatchObject({ code: 'not_found' });
    await expect(ofRun({}, as)).rejects.toMatchObject({ code: 'not_found' });
  }
  await expect(ofAgent({}, user, 'nobody')).rejects.toMatchObject({ code: 'not_found' });
  await expect(ofRun({}, user, 'none')).rejects.toMatchObject({ code: 'not_found' });
  const now = iso(t.clock.now());
  await expect(ofAgent({ since: now, until: now })).rejects.toMatchObject({ code: 'validation_failed' });
});

it('a run: its calls oldest first, reports about one call once, and the runs that it started', async () => {
  const run = { payload: { session_id: 'run' } };
  const at = (ms: number) => ({ timestamp: iso(t.clock.now() - 10_000 + ms) });
  await ingest(
    { ...run, ...at(2), call_id: 'b', verdict: 'call_denied', mode: 'observe' },
    { ...at(1), call_id: 'a', payload: { session_id: 'run', tool_success: true, duration_ms: 12 } },
    { ...run, ...at(3), call_id: 'c', verdict: 'call_asked', tool_name: 'y' },
    { ...at(4), call_id: 'd', payload: { session_id: 'child', parent_session_id: 'run' } },
    { ...at(5), call_id: 'e', payload: { session_id: 'child', parent_session_id: 'run' } },
    { ...at(6), call_id: 'f', payload: { session_id: 'other', parent_session_id: 'elsewhere' } },
  );
  await ingest({ call_id: 'c', verdict: 'call_executed', payload: { tool_success: true, duration_ms: 30 } });
  const { calls, children, next_cursor } = await ofRun();
  expect(calls.map(({ verdict, duration_ms, tool_name }) => [verdict, duration_ms, tool_name])).toEqual([
    ['allowed', 12, 'x'],
    ['would_deny', null, 'x'],
    ['asked', 30, 'y'],
  ]);
  expect(children).toMatchObject([{ agent_id: 'agent-1', session_id: 'child', calls: 2 }]);
  expect(next_cursor).toBeNull();
  const first = await ofRun({ limit: '2' });
  const second = await ofRun({ limit: '2', cursor: first.next_cursor ?? '' });
  expect([...first.calls, ...second.calls]).toEqual(calls);
  expect(second.children).toEqual([]);
});

it('a run with a workflow: the reports of the workflow hide no call', async () => {
  await t.call('makeSampleRun', {}, user);
  const params = { agent_id: 'sample-agent', session_id: 'sample-session' };
  const { calls } = (await t.call('runTimeline', { params, query: {} }, user)).body;
  expect(calls.map(({ verdict, tool_name }) => [verdict, tool_name])).toEqual([
    ['allowed', 'read_file'],
    ['denied', 'read_file'],
    ['would_deny', 'run_command'],
    ['asked', 'deploy_service'],
  ]);
});
