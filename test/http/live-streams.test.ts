// Streams: admission, what a stream gets at once, what agents send on it, and its end.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { agentKey, environmentKey } from '../../actors/protocol.ts';
import { callerNames } from '../../src/admission/caller-name.ts';
import type { StreamHandlers, StreamQuery } from '../../src/http/contract/stream.ts';
import { agentStreamsOf } from '../../src/hub/agent-streams.ts';
import { streamHandlers } from '../../src/hub/api/stream-handlers.ts';
import { environments } from '../../src/shared/ids.ts';
import type { Store } from '../../src/shared/ports/store.ts';
import { settled } from '../clock.ts';
import { deploy } from '../deployment/deploy.ts';
import { type KeyCaller, makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
let key: KeyCaller;
let streams: Omit<StreamHandlers, 'admitEvents'>;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
  key = t.key(user);
  streams = streamHandlers(t.hub, agentStreamsOf(t.hub, 'node-1'));
});
afterEach(() => t.close());

const admit = (query: StreamQuery = {}, caller = key) =>
  streams.admitAgent(caller, { env: 'production', ...query }, 'c1');
const assign = (bundle_name: string | null) =>
  t.call('bulkAssign', { body: { agent_ids: ['agent-1'], bundle_name } }, user);

it('are of the environment of their key, which need not be said', async () => {
  expect((await streams.admitAgent(key, {}, 'c1')).audience).toBe((await admit()).audience);
  await expect(admit({ env: 'staging' })).rejects.toMatchObject({
    code: 'env_mismatch',
    message: "API key is scoped to 'production', cannot subscribe to 'staging'.",
  });
});

it('get no second copy of what an earlier stream of the client was sent and had time to read', async () => {
  await deploy(t, user, 'base', '1');
  await deploy(t, user, 'other', '1');
  const named = { bundle_name: 'base' };
  /** How many documents a stream gets at connect that then stays open for so long. */
  const copies = async (openMs: number, query: StreamQuery = named, caller = key): Promise<number> => {
    const stream = await admit(query, caller);
    const got = await stream.catchUp();
    t.clock.advance(openMs);
    stream.closed();
    return got.length;
  };
  expect(await copies(4_999)).toBe(1);
  expect(await copies(5_000)).toBe(1);
  t.clock.advance(119_999);
  expect(await copies(0)).toBe(0);
  // A client that reports its version, names nothing, or is another one gets the frame as ever.
  expect(await copies(0, { ...named, policy_version: 'older' })).toBe(1);
  expect(await copies(0, { ...named, resumes: true })).toBe(1);
  expect(await copies(0, {})).toBe(2);
  expect(await copies(0, named, { ...key, network: '198.51.100.7' })).toBe(1);
  expect(await copies(0, named, { ...key, agentId: 'agent-2' })).toBe(1);
  expect(await copies(5_000, { bundle_name: 'other' })).toBe(1);
  t.clock.advance(2);
  // Two minutes after its stream the first copy counts no more, and a new revision never did.
  expect(await copies(5_000)).toBe(1);
  await deploy(t, user, 'base', '2');
  expect(await copies(0)).toBe(1);
});

it.each([{ bundle_name: 'No Bundle' }, { policy_version: 'a\nb' }])('refuse %j', async (query) => {
  await expect(admit(query)).rejects.toMatchObject({ code: 'validation_failed' });
});

it('of unassigned agents follow all and get every current deployment at once', async () => {
  await deploy(t, user, 'base', '1');
  await deploy(t, user, 'extra', '1');
  await deploy(t, user, 'elsewhere', '1', 'staging');
  const stream = await admit();
  expect(stream).toMatchObject({ agentId: 'agent-1', bundleName: null, pinned: false });
  const due = (await stream.catchUp()).map((one) => (one.kind === 'deploymentDue' ? one : null));
  expect(due.map((one) => one?.deployment.bundleName).sort()).toEqual(['base', 'extra']);
  expect(due[0]).toMatchObject({
    deployment: { tenantId: user.tenantId, env: 'production', version: 1 },
    yaml: expect.any(Uint8Array),
    agentId: null,
  });
});

it('get nothing when nothing is deployed, or when they run what is', async () => {
  expect(await (await admit()).catchUp()).toEqual([]);
  const { revisionHash } = await deploy(t, user, 'base', '1');
  const stream = await admit({ bundle_name: 'base', policy_version: revisionHash });
  expect(stream).toMatchObject({ bundleName: 'base', pinned: true });
  expect(await stream.catchUp()).toEqual([]);
});

it('share the limit of the HTTP routes for reports and approvals; events are counted by their number', async () => {
  const report = () => streams.message(key, { type: 'report', body: { policy_version: 'v1' } });
  await t.hub.requestLimits.hit(callerNames.requestsOf(key) ?? '', 6_000, 60_000, 5_999);
  await report();
  await expect(report()).rejects.toMatchObject({ code: 'rate_limited', detail: { retryAfter: 60 } });
  await expect(
    streams.message(key, { type: 'approval', body: { tool_name: 't', message: 'm' } }),
  ).rejects.toMatchObject({ code: 'rate_limited' });
  await expect(streams.message(key, { type: 'events', body: {} })).rejects.toMatchObject({
    code: 'validation_failed',
  });
});

it('of dashboards follow their tenant and need nothing at once', async () => {
  const stream = await streams.admitDashboard(user, {}, 'c1');
  expect(stream).toMatchObject({
    audience: `dashboards:${user.tenantId}`,
    agentId: null,
    keepalive: { type: 'keepalive' },
  });
  expect(await stream.catchUp()).toEqual([]);
  const fleet = { audience: stream.audience, type: 'fleet_changed', fleet: 'staging' } as const;
  expect(stream.skips?.(fleet, null)).toBe(true);
});

it('of dashboards that ask for the fleet are told the numbers of every environment at once', async () => {
  const agent = await admit({});
  await agent.catchUp();
  const stream = await streams.admitDashboard(user, { include: 'fleet' }, 'c1');
  const told = (await stream.catchUp()).map((one) => one.kind === 'fleetChanged' && [one.env, one.numbers]);
  const none = { connected: 0, current: 0, drift: 0, unknown: 0 };
  expect(told).toEqual(
    environments.map((env) => [env, env === 'production' ? { ...none, connected: 1, unknown: 1 } : none]),
  );
  const fleet = { audience: stream.audience, type: 'fleet_changed', fleet: 'staging' } as const;
  expect(stream.skips?.(fleet, null)).toBe(false);
});

it('of dashboards get counts in place of each batch if they ask for them', async () => {
  const audience = `dashboards:${user.tenantId}` as const;
  const skips = async (include?: string) => {
    const stream = await streams.admitDashboard(user, include === undefined ? {} : { include }, 'c1');
    return [
      stream.skips?.({ audience, type: 'event_created' }, null),
      stream.skips?.({ audience, type: 'stats_changed', part: 'stats' }, null),
    ];
  };
  expect(await skips()).toEqual([false, true]);
  expect(await skips('fleet,stats')).toEqual([true, false]);
});

it('of dashboards get assignments of approvals if they ask for them, in any order of the parts', async () => {
  const frame = {
    audience: `dashboards:${user.tenantId}`,
    type: 'approval_assigned',
    part: 'assignments',
  } as const;
  const skips = async (include?: string) =>
    (await streams.admitDashboard(user, include === undefined ? {} : { include }, 'c1')).skips?.(frame, null);
  expect(await skips()).toBe(true);
  expect(await skips('fleet,tools')).toBe(true);
  expect(await skips('assignments')).toBe(false);
  expect(await skips('tools,assignments,fleet')).toBe(false);
});

it.each(['', 'events', 'fleet,fleet', 'fleet,'])('of dashboards refuse to include %j', async (include) => {
  await expect(streams.admitDashboard(user, { include }, 'c1')).rejects.toMatchObject({
    code: 'validation_failed',
    detail: { problems: [{ loc: ['query', 'include'] }] },
  });
});

describe('of agents that ask for the mode of isolation', () => {
  const put = (isolation: string) => t.call('putToolSettings', { body: { isolation } }, user);

  it('get it at once, before documents, and each change; others get neither', async () => {
    await deploy(t, user, 'base', '1');
    const kinds = async (query: StreamQuery) =>
      (await (await admit(query)).catchUp()).map((one) =>
        one.kind === 'isolationChanged' ? [one.env, one.isolation] : one.kind,
      );
    expect(await kinds({ isolation: '1' })).toEqual([['production', 'none'], 'deploymentDue']);
    await put('required');
    expect(await kinds({ isolation: '1' })).toEqual([['production', 'required'], 'deploymentDue']);
    for (const isolation of ['', '0', 'true']) expect(await kinds({ isolation })).toEqual(['deploymentDue']);

    const audience = `agents:${user.tenantId}/production` as const;
    const frame = { audience, type: 'isolation_changed', part: 'isolation' } as const;
    const pins = { audience, type: 'tool_pins_changed', tools: true } as const;
    const skips = async (query: StreamQuery) => {
      const stream = await admit(query);
      return [frame, pins].map((one) => stream.skips?.(one, null));
    };
    expect(await skips({})).toEqual([true, true]);
    expect(await skips({ isolation: '1' })).toEqual([false, true]);
    expect(await skips({ pins: '1' })).toEqual([true, false]);
    expect(await skips({ pins: '1', isolation: '1' })).toEqual([false, false]);
  });

  it('share a reading that begins after they ask', async () => {
    const reads: (() => void)[] = [];
    const get = vi.fn(
      () => new Promise<null>((resolve) => reads.push(() => resolve(null))),
    ) as unknown as Store['settings']['get'];
    const store = { ...t.hub.store, settings: { ...t.hub.store.settings, get } };
    streams = streamHandlers(t.hub, agentStreamsOf({ ...t.hub, store }, 'node-1'));
    const opened = await Promise.all(Array.from({ length: 5 }, () => admit({ isolation: '1' })));
    const caughtUp = Promise.all(opened.map((stream) => stream.catchUp()));
    await vi.waitFor(() => expect(reads).toHaveLength(1));
    reads[0]?.();
    await vi.waitFor(() => expect(reads).toHaveLength(2));
    reads[1]?.();
    const first = await caughtUp;
    expect(first.map((announcements) => announcements.length)).toEqual([1, 1, 1, 1, 1]);
    expect(new Set(first.map(([one]) => one)).size).toBe(2);
    expect(get).toHaveBeenCalledTimes(2);
  });
});

it('are of the agents that their key is bound to', async () => {
  const bound = { ...key, agentId: null, agentPattern: 'team-a.*' };
  const open = (caller: KeyCaller) => streams.admitAgent(caller, { env: 'production' }, 'c1');
  expect((await open({ ...bound, agentId: 'team-a.1' })).agentId).toBe('team-a.1');
  const refused = { code: 'forbidden', message: expect.stringContaining("'team-a.*'") };
  await expect(open(bound)).rejects.toMatchObject(refused);
  const report = { type: 'report', body: { policy_version: 'v1' } } as const;
  await expect(streams.message(bound, report)).rejects.toMatchObject(refused);
});

it('share one announcement per deployment, and get a new one after a rotation', async () => {
  await deploy(t, user, 'base', '1');
  const due = async () => {
    const [first] = await (await admit({ bundle_name: 'base' })).catchUp();
    return first?.kind === 'deploymentDue' ? first : null;
  };
  const before = await due();
  expect(before).not.toBeNull();
  expect(await due()).toBe(before);
  await t.call('rotateSigningKey', {}, user);
  await settled();
  expect((await due())?.deployment.publicKey).not.toBe(before?.deployment.publicKey);
});

it('follow a rule that matches the tags in their query; tags that are no object of texts count for nothing', async () => {
  const rule = {
    priority: 1,
    pattern: '*',
    tag_match: { team: 'a' },
    bundle_name: 'base',
    env: 'production',
  };
  await t.call('createRule', { body: rule }, user);
  expect((await admit({ tags: '{"team":"a"}' })).bundleName).toBe('base');
  for (const tags of ['{"team":', '["team"]', 'null', '{"team":1}']) {
    expect((await admit({ tags })).bundleName).toBeNull();
  }
});

it('of the hosted API refuse tags that are no object of at most 64 texts, before they begin', async () => {
  const hosted = t.hostedKey(user);
  const open = (tags: string, caller: Parameters<typeof streams.admitHosted>[0] = hosted) =>
    streams.admitHosted(caller, { env: 'production', tags }, 'c1');
  const many = (count: number) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [i, ''])));
  for (const tags of ['', '{}', '{"team":"a"}', many(64), `{"${'n'.repeat(128)}":"${'😀'.repeat(256)}"}`]) {
    expect((await open(tags)).admitted.agentId).toBe('agent-1');
  }
  for (const tags of [
    '{"team":',
    '["team"]',
    'null',
    '5',
    '{"team":1}',
    '{"":"a"}',
    many(65),
    `{"${'n'.repeat(129)}":"a"}`,
    `{"team":"${'😀'.repeat(257)}"}`,
  ]) {
    for (const caller of [hosted, t.operator(user)]) {
      await expect(open(tags, caller), tags).rejects.toMatchObject({
        code: 'validation_failed',
        detail: { problems: [{ loc: ['query', 'tags'] }] },
      });
    }
  }
});

it('that are assigned anew between admission and registration are told so at once', async () => {
  await deploy(t, user, 'base', '1');
  const stream = await admit();
  await assign('base');
  await settled();
  const [first, second] = await stream.catchUp();
  expect(first).toEqual({
    kind: 'agentReassigned',
    tenantId: user.tenantId,
    env: 'production',
    agentId: 'agent-1',
    bundleName: 'base',
    source: 'explicit',
  });
  expect(second).toMatchObject({ kind: 'deploymentDue', deployment: { bundleName: 'base' } });
});

it('announced again are in the roster of new actors, and hear of an assignment that they missed', async () => {
  const stream = await admit();
  await stream.catchUp();
  await t.hub.store.agents.assign(user.tenantId, ['agent-1'], 'base');
  t.newFrames();
  await stream.announce(null);
  await settled();
  expect(t.newFrames().map(({ data }) => data)).toContainEqual(
    expect.objectContaining({ type: 'assignment_changed', bundle_name: 'base' }),
  );
  const status = await t.call('agentStatus', {}, user);
  expect(status.body.agents).toMatchObject([{ agent_id: 'agent-1', bundle_name: 'base' }]);
});

it('leave the roster when closed, also when the actors cannot be reached at first', async () => {
  const stream = await admit();
  await stream.catchUp();
  const { tell } = t.hub.actors;
  let failures = 2;
  const flaky: typeof tell = async (...message) => {
    if (failures-- > 0) throw new Error('no way to the actors');
    return tell(...message);
  };
  Object.assign(t.hub.actors, { tell: flaky });
  stream.closed();
  await t.clock.advanceAsync(5000, 250);
  const status = await t.hub.actors.ask(
    'environment',
    environmentKey(user.tenantId, 'production'),
    'status',
    { bundleName: null, limit: 9, after: null },
  );
  expect(status).toEqual({ entries: [], next: null });
  expect(await stream.catchUp()).toEqual([]);
});

it('take events, reports and approvals as the routes do', async () => {
  const event = {
    call_id: '1',
    agent_id: 'agent-1',
    tool_name: 'x',
    verdict: 'call_allowed',
    mode: 'enforce',
    timestamp: '2023-11-14T21:00:00Z',
  };
  expect(await streams.message(key, { type: 'events', body: { events: [event] } })).toEqual({
    accepted: 1,
    duplicates: 0,
  });
  expect(await streams.message(key, { type: 'report', body: { policy_version: 'v1' } })).toMatchObject({
    agent_id: 'agent-1',
    policy_version: 'v1',
  });
  expect(
    await streams.message(key, { type: 'approval', body: { tool_name: 'x', message: 'm' } }),
  ).toMatchObject({
    status: 'pending',
    timeout_seconds: 300,
  });
  for (const type of ['events', 'report', 'approval'] as const) {
    await expect(streams.message(key, { type, body: 7 })).rejects.toMatchObject({
      code: 'validation_failed',
    });
  }
});

it('without an agent-id header belong to the agent named default', async () => {
  const stream = await admit({}, t.key(user, 'production', null));
  expect(stream.agentId).toBe('default');
  const resolution = await t.hub.actors.ask(
    'agent',
    agentKey(user.tenantId, 'production', 'default'),
    'resolve',
    null,
  );
  expect(resolution.source).toBe('none');
});

describe('an agent id outside of the identifier rule', () => {
  const oddIds = ['a b', 'caf\u00e9', '\ufffd\ufffd', '-a', 'team/bot', 'ann@example.com', 'x'.repeat(129)];
  const registered = async (agent_id: string) =>
    (await t.hub.store.agents.get(user.tenantId, agent_id)) !== null;

  it.each(oddIds)('is refused on streams and approvals: %j', async (agentId) => {
    const caller = t.key(user, 'production', agentId);
    await expect(admit({}, caller)).rejects.toMatchObject({ code: 'bad_request' });
    const body = { tool_name: 'rm', message: 'may I?', timeout: 60 };
    await expect(t.call('createApproval', { body }, caller)).rejects.toMatchObject({ code: 'bad_request' });
    expect(await registered(agentId)).toBe(false);
  });

  it.each(oddIds)('has its events stored, and registers nobody: %j', async (agentId) => {
    const caller = t.key(user, 'production', agentId);
    const event = {
      call_id: crypto.randomUUID(),
      agent_id: agentId,
      tool_name: 'rm',
      verdict: 'call_denied',
    };
    const events = [{ ...event, mode: 'enforce', timestamp: new Date(t.clock.now()).toISOString() }];
    const { body } = await t.call('ingestEvents', { body: { events } } as never, caller);
    expect(body).toMatchObject({ accepted: 1 });
    expect(await registered(agentId)).toBe(false);
  });

  it('is good where it is registered', async () => {
    const agentId = 'ann@example.com';
    await t.hub.store.agents.noteSeen(
      user.tenantId,
      agentId,
      'production',
      t.clock.now(),
      crypto.randomUUID(),
    );
    expect((await admit({}, t.key(user, 'production', agentId))).agentId).toBe(agentId);
  });

  it('needs no look at the store where it keeps the rule', async () => {
    const get = vi.spyOn(t.hub.store.agents, 'get');
    await admit({}, t.key(user, 'production', 'Agent_1.prod-2'));
    expect(get).not.toHaveBeenCalled();
  });
});
