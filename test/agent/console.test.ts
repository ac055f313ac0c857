// Agents: status, reports, registrations, assignment.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { agentStreamsOf } from '../../src/hub/agent-streams.ts';
import { streamHandlers } from '../../src/hub/api/stream-handlers.ts';
import { settled } from '../clock.ts';
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

/** Opens an agent's stream as the edge does. */
async function connect(caller = key, query: object = {}) {
  const streams = streamHandlers(t.hub, agentStreamsOf(t.hub, 'node-1'));
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

it('hear of an assignment that was stored before, when it is repeated', async () => {
  await connect();
  await t.hub.store.agents.assign(user.tenantId, ['agent-1'], 'base', 0);
  await settled();
  t.newFrames();
  expect((await patch({ bundle_name: 'base' })).body).toMatchObject({ bundle_name: 'base' });
  await settled();
  expect(t.newFrames()).toContainEqual(
    expect.objectContaining({
      audience: `agents:${user.tenantId}/production`,
      data: { type: 'assignment_changed', agent_id: 'agent-1', bundle_name: 'base', source: 'explicit' },
    }),
  );
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

type Query = { readonly [name: string]: string };

/** The items on all pages of a list. */
async function walk<T>(
  limit: string,
  read: (query: Query) => Promise<readonly [readonly T[], Query]>,
): Promise<T[]> {
  const items: T[] = [];
  for (let query: Query | null = { limit }; query !== null; ) {
    const [page, headers]: readonly [readonly T[], Query] = await read(query);
    expect(page.length).toBeLessThanOrEqual(Number(limit));
    items.push(...page);
    query = headers['X-Next-Cursor'] === undefined ? null : { limit, cursor: headers['X-Next-Cursor'] };
  }
  return items;
}

it('have a status in pages, over all environments', async () => {
  for (const [env, agent] of [
    ['staging', 'b'],
    ['production', 'c'],
    ['production', 'a'],
    ['development', 'd'],
  ] as const) {
    await connect(t.key(user, env, agent));
  }
  const whole = (await status()).map(({ env, agent_id }) => `${env} ${agent_id}`);
  expect(whole).toEqual(['production a', 'production c', 'staging b', 'development d']);
  for (const limit of ['1', '2', '3', '4', '9']) {
    const seen = await walk(limit, async (query) => {
      const { body, headers } = await t.call('agentStatus', { query }, user);
      return [body.agents, headers];
    });
    expect(seen.map(({ env, agent_id }) => `${env} ${agent_id}`)).toEqual(whole);
  }
  expect((await status({ env: 'production' })).map(({ agent_id }) => agent_id)).toEqual(['a', 'c']);
  const ofStaging = await t.call('agentStatus', { query: { env: 'staging', limit: '1' } }, user);
  expect([ofStaging.body.agents.length, ofStaging.headers.Link]).toEqual([1, undefined]);
  const stranger = await t.tenant();
  const { headers } = await t.call('agentStatus', { query: { limit: '1' } }, user);
  const cursor = headers['X-Next-Cursor'] ?? '';
  for (const query of [{ cursor: 'made-up' }, { cursor }]) {
    await expect(t.call('agentStatus', { query }, stranger)).rejects.toMatchObject({ code: 'bad_request' });
  }
});

it('are registered in pages, with the bundle that the rules give each', async () => {
  const rule = { priority: 1, pattern: 'a[0-4]', bundle_name: 'base', env: 'production' };
  await t.call('createRule', { body: rule }, user);
  for (const n of [7, 2, 9, 4, 0]) {
    await t.hub.store.agents.noteSeen(
      user.tenantId,
      `a${n}`,
      'production',
      t.clock.now(),
      t.hub.secrets.uuid(),
    );
  }
  const all = await walk('2', async (query) => {
    const { body, headers } = await t.call('listRegistrations', { query }, user);
    return [body, headers];
  });
  const seen = all.map(({ agent_id, resolved_bundle }) => [agent_id, resolved_bundle]);
  expect(seen).toEqual([
    ['a0', 'base'],
    ['a2', 'base'],
    ['a4', 'base'],
    ['a7', null],
    ['a9', null],
  ]);
});

it('beyond what a tenant may have are served all the same, and the list says how many they are', async () => {
  await t.close();
  t = await makeHub({ maxAgents: 2 });
  user = await t.tenant();
  key = t.key(user);
  const rule = { priority: 1, pattern: 'agent-*', bundle_name: 'base', env: 'production' };
  await t.call('createRule', { body: rule }, user);
  for (const agent of ['agent-1', 'agent-2', 'agent-3']) {
    expect((await connect(t.key(user, 'production', agent))).bundleName).toBe('base');
  }
  const agent_manifest = { agent_id: 'agent-4', policy_version: 'v1', contracts: [] };
  const event = {
    call_id: 'c1',
    agent_id: 'agent-4',
    tool_name: 'read_file',
    verdict: 'call_allowed',
    mode: 'enforce',
    timestamp: new Date(t.clock.now()).toISOString(),
  };
  const stored = await t.call('ingestEvents', { body: { events: [event], agent_manifest } }, key);
  expect(stored.body).toEqual({ accepted: 1, duplicates: 0, manifest: 'refused' });
  const report = { policy_version: 'v1' };
  expect((await t.call('reportVersion', { body: report }, t.key(user, 'production', 'agent-5'))).status).toBe(
    200,
  );
  const { body, headers } = await t.call('listRegistrations', {}, user);
  expect(body.map(({ agent_id }) => agent_id)).toEqual(['agent-1', 'agent-2']);
  expect(headers['X-Agents-Not-Registered']).toBe('3');
  expect(await status()).toHaveLength(3);
  const { tenantId } = user;
  expect(await t.hub.store.agents.get(tenantId, 'agent-4')).toBeNull();
  expect(await t.hub.store.agents.listReports(tenantId, 'production', 9)).toEqual([]);
});

it('that are retired can still be read, and come back when they are assigned', async () => {
  await connect();
  await patch({ display_name: 'First' });
  t.clock.advance(8 * 24 * 3_600_000);
  await t.hub.store.agents.retire(t.clock.now(), t.clock.now(), 9);
  const listed = async () =>
    (await t.call('listRegistrations', {}, user)).body.map(({ agent_id }) => agent_id);
  const get = (agent_id: string) => t.call('getRegistration', { params: { agent_id } }, user);
  expect(await listed()).toEqual([]);
  expect((await get('agent-1')).body).toMatchObject({ agent_id: 'agent-1', display_name: 'First' });
  await expect(get('agent-2')).rejects.toMatchObject({ code: 'not_found' });
  await patch({ bundle_name: 'base' });
  expect(await listed()).toEqual(['agent-1']);
});

it('of an exact id are listed although more ids before them contain it', async () => {
  const ids = [...Array.from({ length: 60 }, (_, i) => `dev-ops-${i}`), 'ops'];
  const events = ids.map((agent_id, i) => ({
    call_id: `ops-${i}`,
    agent_id,
    tool_name: 'x',
    verdict: 'call_allowed',
  }));
  await t.call('ingestEvents', { body: { events } }, key);
  const list = await t.call('listAgents', { query: { search: 'ops', q: 'agent:ops', limit: '1' } }, user);
  expect(list.body.map(({ agent_id }) => agent_id)).toEqual(['ops']);
});
