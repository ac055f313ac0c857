// The list of agents: what each should run and runs, filtered, sorted and in pages.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Fleet } from '../../src/agent/use-cases/fleet.ts';
import { principalOf } from '../../src/http/contract/principal.ts';
import { agentStreamsOf } from '../../src/hub/agent-streams.ts';
import { streamHandlers } from '../../src/hub/api/stream-handlers.ts';
import { rightsOf } from '../../src/shared/access.ts';
import { memberRoles } from '../../src/shared/env-roles.ts';
import { ManualClock, settled } from '../clock.ts';
import { deploy } from '../deployment/deploy.ts';
import { type KeyCaller, makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
});
afterEach(() => t.close());

const iso = (at: number): string => new Date(at).toISOString();
type Query = { readonly [name: string]: string };
const list = (query: Query = {}, as = user) => t.call('listAgents', { query }, as);
const ids = async (query: Query = {}) => (await list(query)).body.map(({ agent_id }) => agent_id);

async function connect(caller: KeyCaller, query: object = {}) {
  const streams = streamHandlers(t.hub, agentStreamsOf(t.hub, 'node-1'));
  const id = `${caller.env}/${caller.agentId}`;
  const stream = await streams.admitAgent(caller, { env: caller.env, ...query }, id);
  await stream.catchUp();
  await settled();
  return stream;
}

/** An agent that was seen and is not connected any more. */
async function seen(agentId: string, env: KeyCaller['env'] = 'production') {
  (await connect(t.key(user, env, agentId))).closed();
  await settled();
}

it('count the open streams of the environments that answer within a second and that the caller sees', async () => {
  const clock = new ManualClock();
  const asked: string[] = [];
  const answers: { readonly [env: string]: () => Promise<unknown> } = {
    production: async () => ({ connected: 3 }),
    staging: () => Promise.reject(new Error('no owner')),
    development: () => new Promise(() => {}),
  };
  const ask = (_kind: string, key: string) => {
    const env = key.split('/')[1] ?? '';
    asked.push(env);
    return answers[env]?.();
  };
  const fleet = new Fleet({ actors: { ask }, clock } as never);
  const principal = principalOf(user);
  let count: number | null = null;
  void fleet.countConnected(principal).then((connected) => {
    count = connected;
  });
  await settled();
  expect([asked, count]).toEqual([['production', 'staging', 'development'], null]);
  clock.advance(1000);
  await settled();
  expect(count).toBe(3);
  asked.length = 0;
  const rights = rightsOf([{ env: 'production', role: 'viewer' }]);
  expect(await fleet.countConnected({ ...principal, ...rights })).toBe(3);
  expect(asked).toEqual(['production']);
});

it('show an agent that runs what is deployed, and then an older version', async () => {
  const { revisionHash } = await deploy(t, user, 'base', '1');
  await connect(t.key(user), { bundle_name: 'base', policy_version: revisionHash });
  const at = new Date(t.clock.now()).toISOString();
  const entry = {
    agent_id: 'agent-1',
    display_name: null,
    tags: {},
    env: 'production',
    bundle_name: null,
    resolved_bundle: null,
    assignment_source: 'none',
    followed_bundle: 'base',
    policy_version: revisionHash,
    version: 1,
    status: 'current',
    last_api: 'console',
    cannot_load: false,
    connected: true,
    streams: 1,
    coverage: null,
    wanted_version: 1,
    drift_since: null,
    connected_at: at,
    last_seen_at: at,
    created_at: at,
  };
  expect((await list()).body).toEqual([entry]);
  await deploy(t, user, 'base', '2');
  expect((await list()).body).toEqual([{ ...entry, status: 'drift', wanted_version: 2, drift_since: at }]);
  expect(await ids({ status: 'drift' })).toEqual(['agent-1']);
  expect(await ids({ status: 'current' })).toEqual([]);
});

it('show what an agent that went away ran last, and one that never said', async () => {
  const { revisionHash } = await deploy(t, user, 'base', '1');
  const key = t.key(user);
  await seen('agent-1');
  await seen('silent');
  await t.call(
    'updateRegistration',
    { params: { agent_id: 'agent-1' }, body: { bundle_name: 'base' } },
    user,
  );
  await t.call('reportVersion', { body: { bundle_name: 'base', policy_version: revisionHash } }, key);
  await settled();
  expect((await list()).body).toMatchObject([
    {
      agent_id: 'agent-1',
      connected: false,
      connected_at: null,
      status: 'current',
      version: 1,
      followed_bundle: null,
    },
    { agent_id: 'silent', connected: false, status: 'unknown', policy_version: null, version: null },
  ]);
  expect(await ids({ connected: 'true' })).toEqual([]);
  expect(await ids({ connected: 'false', status: 'unknown' })).toEqual(['silent']);
});

it('are searched by a query, in the environment that it names', async () => {
  const { revisionHash } = await deploy(t, user, 'base', '1');
  await connect(t.key(user, 'production', 'shop-1'), { bundle_name: 'base', policy_version: revisionHash });
  t.clock.advance(1000);
  await connect(t.key(user, 'staging', 'shop-1'));
  await seen('desk-2');
  const body = { tags: { team: 'blue' } };
  await t.call('updateRegistration', { params: { agent_id: 'desk-2' }, body }, user);
  for (const [q, matches] of [
    ['', ['desk-2', 'shop-1']],
    ['is:away', ['desk-2']],
    ['-is:away', ['shop-1']],
    ['agent:shop-*', ['shop-1']],
    ['agent:shop', []],
    ['shop', ['shop-1']],
    ['des*', ['desk-2']],
    ['tag:team:blue', ['desk-2']],
    ['tag:(team,other)', ['desk-2']],
    ['env:production bundle:base version:v1 is:current', ['shop-1']],
    ['env:staging bundle:base', []],
    ['env:(staging,production)', ['desk-2', 'shop-1']],
  ] as const) {
    expect([q, await ids({ q })]).toEqual([q, matches]);
  }
  await expect(list({ q: 'is:nonsense' })).rejects.toMatchObject({
    code: 'validation_failed',
    message: expect.stringMatching(/position 3: expected one of connected, away/),
  });
  const inStaging = { ...user, roles: [{ role: 'viewer', env: 'staging' }] } as const;
  await expect(list({ q: 'env:production' }, inStaging)).rejects.toMatchObject({ code: 'role_required' });
});

it('belong to every environment that they are connected in, whichever saw them last', async () => {
  await connect(t.key(user, 'production', 'both'));
  t.clock.advance(1000);
  await connect(t.key(user, 'staging', 'both'));
  await seen('other', 'development');
  expect(await ids({ env: 'production' })).toEqual(['both']);
  expect((await list({ env: 'production' })).body).toMatchObject([{ env: 'production', connected: true }]);
  expect(await ids({ env: 'staging' })).toEqual(['both']);
  expect(await ids({ env: 'development' })).toEqual(['other']);
  expect((await list()).body).toMatchObject([{ env: 'staging' }, { env: 'development' }]);
});

it('are seen by who has a role in any environment that they were seen in, as in that environment', async () => {
  const of = (env: 'production' | 'staging' | 'development'): UserCaller => ({
    ...user,
    roles: [{ role: 'operator', env }],
  });
  await seen('mover', 'staging');
  t.clock.advance(120_000);
  await seen('mover', 'production');
  await seen('stayer', 'production');
  const rule = { priority: 1, pattern: 'mover', bundle_name: 'for-production', env: 'production' } as const;
  await t.call('createRule', { body: rule }, user);
  const params = { agent_id: 'mover' };
  expect((await list({}, of('staging'))).body).toMatchObject([{ agent_id: 'mover', env: 'staging' }]);
  expect((await list({}, of('production'))).body.map(({ env }) => env)).toEqual(['production', 'production']);
  const registered = await t.call('listRegistrations', { query: {} }, of('staging'));
  expect(registered.body).toMatchObject([{ agent_id: 'mover', resolved_bundle: null }]);
  expect((await t.call('getRegistration', { params }, of('production'))).body).toMatchObject({
    resolved_bundle: 'for-production',
  });
  expect((await t.call('getRegistration', { params }, of('staging'))).body).toMatchObject({
    resolved_bundle: null,
  });
  expect((await t.call('listAgentStreams', { params, query: {} }, of('staging'))).body.total).toBe(0);
  await expect(t.call('getRegistration', { params }, of('development'))).rejects.toMatchObject({
    code: 'not_found',
  });
  const timeline = {
    params,
    query: { since: iso(t.clock.now() - 3_600_000), until: iso(t.clock.now() + 1) },
  };
  expect((await t.call('agentTimeline', timeline, of('staging'))).body.env).toBe('staging');
  await expect(t.call('agentTimeline', timeline, of('development'))).rejects.toMatchObject({
    code: 'not_found',
  });
  const search = async (as: UserCaller) => (await t.call('searchThings', { query: { q: 'mover' } }, as)).body;
  expect((await search(of('staging'))).results).toMatchObject([{ id: 'mover', hint: 'staging' }]);
  expect((await search(of('development'))).results).toEqual([]);
  await expect(t.call('listAgentStreams', { params, query: {} }, of('development'))).rejects.toMatchObject({
    code: 'not_found',
  });
  // Its name concerns each of them; its assignment holds in all.
  const named = { params, body: { display_name: 'Mover' } };
  expect((await t.call('updateRegistration', named, of('staging'))).body).toMatchObject({
    display_name: 'Mover',
  });
  const assigned = { params, body: { bundle_name: 'other' } };
  await expect(t.call('updateRegistration', assigned, of('staging'))).rejects.toMatchObject({
    code: 'role_required',
  });
});

it('are found by tag, bundle and text', async () => {
  for (const id of ['mail-1', 'mail-2', 'dba']) await seen(id);
  const patch = (agent_id: string, body: object) =>
    t.call('updateRegistration', { params: { agent_id }, body }, user);
  await patch('mail-1', { tags: { team: 'mail', url: 'a:b' }, display_name: 'Post Office' });
  await patch('dba', { bundle_name: 'strict', tags: { team: 'data' } });
  const rule = { priority: 1, pattern: 'mail-*', bundle_name: 'mail', env: 'production' };
  await t.call('createRule', { body: rule }, user);
  expect(await ids({ tag: 'team' })).toEqual(['dba', 'mail-1']);
  expect(await ids({ tag: 'team:mail' })).toEqual(['mail-1']);
  expect(await ids({ tag: 'url:a:b' })).toEqual(['mail-1']);
  expect(await ids({ tag: 'constructor' })).toEqual([]);
  expect(await ids({ bundle: 'mail' })).toEqual(['mail-1', 'mail-2']);
  expect(await ids({ bundle: 'strict' })).toEqual(['dba']);
  expect(await ids({ search: 'OFFICE' })).toEqual(['mail-1']);
  expect(await ids({ search: 'mail', tag: 'team:data' })).toEqual([]);
  const [dba, mail] = (await list()).body;
  expect(dba).toMatchObject({ resolved_bundle: 'strict', assignment_source: 'explicit' });
  expect(mail).toMatchObject({ resolved_bundle: 'mail', assignment_source: 'rule' });
});

it('are sorted and paged, with filters that leave most out, and a cursor belongs to its order and tenant', async () => {
  for (let i = 0; i < 12; i++) {
    await seen(`agent-${String(i).padStart(2, '0')}`, i % 4 === 0 ? 'staging' : 'production');
    t.clock.advance(1000);
  }
  const all = async (query: Query) => {
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const { body, headers } = await list({ ...query, limit: '2', ...(cursor ? { cursor } : {}) });
      found.push(...body.map(({ agent_id }) => agent_id.slice(-2)));
      cursor = headers['X-Next-Cursor'];
    } while (cursor);
    return found;
  };
  expect(await all({ env: 'staging' })).toEqual(['00', '04', '08']);
  expect(await all({ env: 'staging', sort: '-last_seen_at' })).toEqual(['08', '04', '00']);
  expect((await all({ sort: '-agent_id' })).length).toBe(12);
  expect((await all({ sort: 'created_at', search: '1' })).join()).toBe('01,10,11');
  const cursor = (await list({ limit: '2' })).headers['X-Next-Cursor'] ?? '';
  await expect(list({ cursor, sort: '-agent_id' })).rejects.toMatchObject({ code: 'bad_request' });
  await expect(list({ cursor }, await t.tenant())).rejects.toMatchObject({ code: 'bad_request' });
  expect((await list({}, await t.tenant())).body).toEqual([]);
});

it.each([
  { limit: '501' },
  { sort: 'tags' },
  { status: 'lost' },
  { env: 'test' },
  { connected: 'yes' },
  { search: '' },
  { tag: 'x'.repeat(401) },
])('refuse %o', async (query) => {
  await expect(list(query as Query)).rejects.toMatchObject({ code: 'validation_failed' });
});

it('count how far a deployment has come, and name those that do not run it, in pages', async () => {
  const first = await deploy(t, user, 'base', '1');
  const old = first.revisionHash;
  for (const [i, version] of [old, old, null].entries()) {
    const query = { bundle_name: 'base', ...(version === null ? {} : { policy_version: version }) };
    await connect(t.key(user, 'production', `a${i}`), query);
  }
  await connect(t.key(user, 'production', 'elsewhere'), { bundle_name: 'other' });
  await connect(t.key(user, 'staging', 's0'), { bundle_name: 'base', policy_version: old });
  t.clock.advance(1000);
  const second = await deploy(t, user, 'base', '2');
  const report = { bundle_name: 'base', policy_version: second.revisionHash };
  await t.call('reportVersion', { body: report }, t.key(user, 'production', 'a0'));
  await settled();
  const rollout = async (deployment_id: string, query: Query = {}, as = user) =>
    (await t.call('deploymentRollout', { params: { deployment_id }, query }, as)).body;
  const whole = await rollout(second.id);
  expect(whole).toMatchObject({
    deployment: { id: second.id, bundle_version: 2 },
    current: true,
    connected: 3,
    running: 1,
    behind: 1,
    unknown: 1,
    agents: [
      { agent_id: 'a1', policy_version: old, version: 1 },
      { agent_id: 'a2', policy_version: null, version: null },
    ],
    next_cursor: null,
  });
  expect(whole.versions).toEqual(
    [
      { policy_version: old, version: 1, agents: 1 },
      { policy_version: second.revisionHash, version: 2, agents: 1 },
    ].sort((a, b) => (a.policy_version < b.policy_version ? -1 : 1)),
  );
  const page = await rollout(second.id, { limit: '1' });
  expect(page.agents.map(({ agent_id }) => agent_id)).toEqual(['a1']);
  const next = await rollout(second.id, { limit: '1', cursor: page.next_cursor ?? '' });
  expect([next.agents.map(({ agent_id }) => agent_id), next.next_cursor]).toEqual([['a2'], null]);
  expect(await rollout(first.id)).toMatchObject({ current: false, running: 1, behind: 1 });
  await expect(rollout(second.id, {}, await t.tenant())).rejects.toMatchObject({ code: 'not_found' });
  await expect(rollout(second.id, { cursor: 'x' })).rejects.toMatchObject({ code: 'bad_request' });
});

it('are counted per API key, over all environments', async () => {
  const create = async (env: string) => (await t.call('createKey', { body: { env } }, user)).body.id;
  const [used, idle] = [await create('production'), await create('staging')];
  const key = { ...t.key(user), keyId: used };
  await connect(key);
  const second = await connect({ ...key, agentId: 'agent-2' });
  const streams = async () =>
    Object.fromEntries((await t.call('listKeys', {}, user)).body.map((one) => [one.id, one.streams]));
  expect(await streams()).toEqual({ [used]: 2, [idle]: 0 });
  second.closed();
  await settled();
  expect(await streams()).toEqual({ [used]: 1, [idle]: 0 });
});

it('list the open streams of an agent on every node, the newest first, and the node for admins alone', async () => {
  const key = { ...t.key(user), keyId: t.hub.secrets.uuid() };
  const since = iso(t.clock.now());
  await connect(key, { bundle_name: 'base' });
  t.clock.advance(1000);
  const hosted = streamHandlers(t.hub, agentStreamsOf(t.hub, 'node-2'));
  const { env, agentId, keyId } = key;
  const hostedKey = { ...key, kind: 'hostedKey' } as const;
  const { admitted } = await hosted.admitHosted(hostedKey, { env, transport: 'websocket' }, 'second');
  await admitted.catchUp();
  await settled();
  const streams = (as = user, query = {}) =>
    t.call('listAgentStreams', { params: { agent_id: agentId ?? '' }, query }, as);
  const first = {
    id: 'production/agent-1',
    env: 'production',
    connected_at: since,
    transport: 'sse',
    api: 'console',
    bundle_name: 'base',
    pinned: true,
    key_id: keyId,
    node: 'node-1',
  };
  const second = {
    ...first,
    id: 'second',
    connected_at: iso(t.clock.now()),
    transport: 'websocket',
    api: 'hosted',
    bundle_name: null,
    pinned: false,
    node: 'node-2',
  };
  expect((await streams()).body).toEqual({ agent_id: 'agent-1', total: 2, streams: [second, first] });
  expect((await streams(user, { limit: '1' })).body).toMatchObject({ total: 2, streams: [{ id: 'second' }] });
  const member = { ...user, roles: memberRoles };
  expect((await streams(member)).body.streams.map(({ node }) => node)).toEqual([null, null]);
  admitted.closed();
  await settled();
  expect((await streams()).body).toMatchObject({ total: 1, streams: [{ id: first.id }] });
  await expect(streams(await t.tenant())).rejects.toMatchObject({ code: 'not_found' });
  await expect(streams(user, { limit: '201' })).rejects.toMatchObject({ code: 'validation_failed' });
});
