// Agents: status, reports, registrations, assignment.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { streamHandlers } from '../../src/handlers/console/streams.ts';
import { settled } from '../clock.ts';
import { type KeyCaller, makeHub, type TestHub, type UserCaller } from '../harness.ts';
import { deploy } from './deploy.ts';

let t: TestHub;
let user: UserCaller;
let key: KeyCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
  key = t.key(user);
});
afterEach(() => t.close());

/** Opens an agent's stream as the edge does. */
async function connect(caller = key, query: object = {}) {
  const streams = streamHandlers(t.hub, 'node-1');
  const stream = await streams.admitAgent(caller, { env: caller.env, ...query }, `c-${caller.agentId}`);
  await stream.catchUp();
  return stream;
}

const status = async (query = {}) => (await t.call('agentStatus', { query }, user)).body.agents;
const patch = (body: object, agent_id = 'agent-1') =>
  t.call('updateRegistration', { params: { agent_id }, body }, user);

it('have one status entry per open stream, over all environments, with drift', async () => {
  const { revisionHash } = await deploy(t, user, 'base', '1');
  const stream = await connect(key, { bundle_name: 'base', policy_version: revisionHash });
  await connect(t.key(user, 'staging', 'agent-2'));
  const entry = { agent_id: 'agent-1', env: 'production', bundle_name: 'base', policy_version: revisionHash };
  const connected_at = new Date(t.clock.now()).toISOString();
  expect(await status()).toEqual([
    { ...entry, status: 'current', connected_at },
    {
      agent_id: 'agent-2',
      env: 'staging',
      bundle_name: null,
      policy_version: null,
      status: 'unknown',
      connected_at,
    },
  ]);
  await deploy(t, user, 'base', '2');
  expect(await status({ bundle_name: 'base' })).toMatchObject([{ ...entry, status: 'drift' }]);
  stream.closed();
  await settled();
  expect(await status({ bundle_name: 'base' })).toEqual([]);
});

it('are current again once they report the new version, by word or by event', async () => {
  await connect(key, { bundle_name: 'base' });
  const first = await deploy(t, user, 'base', '1');
  const report = { bundle_name: 'base', policy_version: first.revisionHash };
  expect((await t.call('reportVersion', { body: report }, key)).body).toEqual({
    agent_id: 'agent-1',
    ...report,
  });
  await settled();
  expect(await status()).toMatchObject([{ status: 'current' }]);

  t.clock.advance(1000);
  const second = await deploy(t, user, 'base', '2');
  expect(await status()).toMatchObject([{ status: 'drift' }]);
  const event = {
    call_id: '1',
    agent_id: 'agent-1',
    tool_name: 'x',
    verdict: 'call_allowed',
    mode: 'enforce',
    timestamp: new Date(t.clock.now()).toISOString(),
    payload: { bundle_name: 'base', policy_version: second.revisionHash },
  };
  await t.call('ingestEvents', { body: { events: [event] } }, key);
  await settled();
  expect(await status()).toMatchObject([{ status: 'current' }]);
});

it('are registered when they connect, and show the bundle that a rule gives them', async () => {
  await connect();
  const rule = { priority: 1, pattern: 'agent-*', bundle_name: 'base', env: 'production' };
  await t.call('createRule', { body: rule }, user);
  const { body } = await t.call('listRegistrations', {}, user);
  expect(body).toMatchObject([
    { agent_id: 'agent-1', display_name: null, tags: {}, bundle_name: null, resolved_bundle: 'base' },
  ]);
});

it('keep what a change leaves out, and lose what is null', async () => {
  await connect();
  const changed = await patch({ display_name: 'Agent One', tags: { team: 'a' }, bundle_name: 'base' });
  const expected = {
    display_name: 'Agent One',
    tags: { team: 'a' },
    bundle_name: 'base',
    resolved_bundle: 'base',
  };
  expect(changed.body).toMatchObject(expected);
  expect((await patch({})).body).toMatchObject(expected);
  expect((await patch({ display_name: null, tags: null, bundle_name: '' })).body).toMatchObject({
    display_name: null,
    tags: {},
    bundle_name: null,
  });
});

it('hear of a new assignment, with the dashboards, and of an unchanged one not', async () => {
  await connect();
  await settled();
  t.newFrames();
  await patch({ bundle_name: 'base' });
  await settled();
  const heard = t.newFrames().filter(({ agent }) => agent === 'agent-1' || agent === undefined);
  expect(heard).toContainEqual(
    expect.objectContaining({
      audience: `agents:${user.tenantId}/production`,
      data: { type: 'assignment_changed', agent_id: 'agent-1', bundle_name: 'base', source: 'explicit' },
    }),
  );
  expect(heard).toContainEqual(
    expect.objectContaining({ audience: `dashboards:${user.tenantId}`, type: 'assignment_changed' }),
  );
  await patch({ bundle_name: 'base' });
  await settled();
  expect(t.newFrames()).toEqual([]);
});

it('follow a rule that matches their new tags', async () => {
  await connect();
  const rule = {
    priority: 1,
    pattern: '*',
    tag_match: { team: 'a' },
    bundle_name: 'base',
    env: 'production',
  };
  await t.call('createRule', { body: rule }, user);
  await settled();
  t.newFrames();
  await patch({ tags: { team: 'a' } });
  await settled();
  expect(t.newFrames().map(({ data }) => data)).toContainEqual({
    type: 'assignment_changed',
    agent_id: 'agent-1',
    bundle_name: 'base',
    source: 'rule',
  });
});

it('are assigned in bulk when registered, and skipped when not', async () => {
  await connect();
  const body = { agent_ids: ['agent-1', 'agent-1', 'stranger'], bundle_name: 'base' };
  expect((await t.call('bulkAssign', { body }, user)).body).toEqual({ updated: 1 });
  expect(await t.hub.store.agents.get(user.tenantId, 'agent-1')).toMatchObject({ bundleName: 'base' });
  const none = { ...body, bundle_name: null };
  await t.call('bulkAssign', { body: none }, user);
  expect(await t.hub.store.agents.get(user.tenantId, 'agent-1')).toMatchObject({ bundleName: null });
});

it('are unknown when never seen, and to other tenants', async () => {
  await connect();
  await expect(patch({ tags: {} }, 'stranger')).rejects.toMatchObject({ code: 'not_found' });
  user = await t.tenant();
  await expect(patch({ tags: {} })).rejects.toMatchObject({ code: 'not_found', message: 'Agent not found.' });
});

it.each([
  { display_name: 'x'.repeat(256) },
  { tags: ['a'] },
  { tags: { a: 1 } },
  { bundle_name: 'No Bundle' },
])('refuse the change %j', async (body) => {
  await expect(patch(body)).rejects.toMatchObject({ code: 'validation_failed' });
});
