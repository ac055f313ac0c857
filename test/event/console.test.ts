// Audit events: what is stored, announced, found and counted.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { agentStreamsOf } from '../../src/hub/agent-streams.ts';
import { streamHandlers } from '../../src/hub/api/stream-handlers.ts';
import { HubError } from '../../src/shared/error.ts';
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

const event = (call_id: string, more: object = {}) => ({
  call_id,
  agent_id: 'agent-1',
  tool_name: 'read_file',
  verdict: 'call_allowed',
  mode: 'enforce',
  timestamp: new Date(t.clock.now()).toISOString(),
  ...more,
});

const ingest = async (...events: object[]) => (await t.call('ingestEvents', { body: { events } }, key)).body;

it('are counted as accepted once, and as duplicates after', async () => {
  expect(await ingest(event('1'), event('2'), event('1'))).toEqual({ accepted: 2, duplicates: 1 });
  expect(await ingest(event('1'), event('2'))).toEqual({ accepted: 0, duplicates: 2 });
});

it('keep microseconds and what a repeat adds; the payload cannot choose the environment', async () => {
  const timestamp = '2023-11-14T22:00:00.123456+01:00';
  await ingest(event('1', { timestamp, payload: { environment: 'staging', decision_name: 'rule' } }));
  await ingest(event('1', { verdict: 'call_executed' }));
  const [found] = (await t.call('searchEvents', {}, user)).body;
  expect(found).toMatchObject({
    call_id: '1',
    env: 'production',
    timestamp: '2023-11-14T21:00:00.123456Z',
    payload: { environment: 'staging', decision_name: 'rule' },
    outcomes: [{ verdict: 'call_executed' }],
  });
});

it('of another agent than the request names are stored with both, whatever they say themselves', async () => {
  const other = `not-${key.agentId}`;
  await ingest(
    event('1', { agent_id: key.agentId, sent_by: 'x' }),
    event('2', { agent_id: other, sent_by: 'x' }),
  );
  await t.call(
    'ingestEvents',
    { body: { events: [event('3', { agent_id: other })] } },
    { ...key, agentId: null },
  );
  const found = (await t.call('searchEvents', {}, user)).body as { call_id: string }[];
  const both = Object.fromEntries(found.map((e) => [e.call_id, e]));
  expect(both['1']).toMatchObject({ agent_id: key.agentId, sent_by: null });
  expect(both['2']).toMatchObject({ agent_id: other, sent_by: key.agentId });
  expect(both['3']).toMatchObject({ agent_id: other, sent_by: 'default' });
});

it('of agents that a key is not bound to are listed as rejected, and the others are stored', async () => {
  const bound = { ...key, agentId: null, agentPattern: 'team-a.*' };
  const agent_manifest = { agent_id: 'team-b.1', policy_version: 'v1', contracts: [] };
  const of = (...ids: string[]) => ids.map((agent_id, i) => event(`${i}`, { agent_id }));
  const post = async (body: object) => (await t.call('ingestEvents', { body }, bound)).body;
  expect(await post({ events: of('team-a.1', 'team-b.1', 'team-a.2') })).toEqual({
    accepted: 2,
    duplicates: 0,
    rejected: [
      {
        index: 1,
        call_id: '1',
        code: 'forbidden',
        detail:
          "This API key is restricted to agents that match 'team-a.*', and 'team-b.1' does not match. Use a key for this agent.",
      },
    ],
  });
  expect(await post({ events: of('team-b.1'), agent_manifest })).toMatchObject({
    accepted: 0,
    rejected: [{ index: 0 }],
    manifest: 'refused',
  });
  const stored = (await t.call('searchEvents', {}, user)).body;
  expect(stored.map(({ agent_id }) => agent_id).sort()).toEqual(['team-a.1', 'team-a.2']);
  expect(await t.hub.store.agents.get(user.tenantId, 'team-b.1')).toBeNull();
  const streams = streamHandlers(t.hub, agentStreamsOf(t.hub, 'node-1'));
  const message = { type: 'events', body: { events: of('team-b.1', 'team-a.1') } } as const;
  expect(await streams.message(bound, message)).toMatchObject({
    rejected: [{ index: 0, code: 'forbidden' }],
  });
});

it('are searched by a key that is bound to agents for those alone', async () => {
  await ingest(event('1', { agent_id: 'team-a.1' }), event('2', { agent_id: 'team-b.1' }));
  const search = async (caller: KeyCaller, query = {}) =>
    (await t.call('searchEvents', { query }, caller)).body.map(({ call_id }) => call_id);
  const one = { ...key, agentId: 'team-a.1', agentPattern: 'team-a.1' };
  expect(await search(one)).toEqual(['1']);
  const several = { ...key, agentId: null, agentPattern: 'team-a.*' };
  expect(await search(several, { agent_id: 'team-a.1' })).toEqual(['1']);
  for (const query of [{}, { agent_id: 'team-b.1' }]) {
    await expect(search(several, query)).rejects.toMatchObject({ code: 'forbidden' });
  }
});

it("that repeat another agent's call say so in what they add", async () => {
  await ingest(event('1'));
  const other = { ...key, agentId: 'agent-2' };
  const repeat = (agent_id: string, verdict: string, caller: KeyCaller) =>
    t.call('ingestEvents', { body: { events: [event('1', { agent_id, verdict })] } }, caller);
  await repeat('agent-1', 'call_executed', key);
  await repeat('agent-1', 'call_failed', other);
  await repeat('agent-2', 'call_denied', other);
  const [found] = (await t.call('searchEvents', {}, user)).body;
  expect(found?.outcomes).toMatchObject([
    { verdict: 'call_executed', sent_by: null },
    { verdict: 'call_failed', sent_by: 'agent-2' },
    { verdict: 'call_denied', sent_by: 'agent-2' },
  ]);
});

it('are announced to dashboards once per batch, and only when something is new', async () => {
  t.newFrames();
  await ingest(event('1'), event('2'));
  await ingest(event('1'));
  const told = t.newFrames().filter(({ type }) => type === 'event_created');
  expect(told.map(({ data, audience }) => [audience, data])).toEqual([
    [`dashboards:${user.tenantId}`, { type: 'event_created', accepted: 2 }],
  ]);
});

it('whose announcement failed are announced with the repeat, which stores nothing twice', async () => {
  const { announce } = t.hub.announcer;
  const told = () =>
    t.newFrames().flatMap(({ type, data }) => (type === 'event_created' ? [data.accepted] : []));
  Object.assign(t.hub.announcer, { announce: () => Promise.reject(new HubError('unavailable', 'away')) });
  await expect(ingest(event('1'), event('2'))).rejects.toMatchObject({ code: 'unavailable' });
  await expect(ingest(event('1'), event('3'))).rejects.toMatchObject({ code: 'unavailable' });
  Object.assign(t.hub.announcer, { announce });
  told();
  expect(await ingest(event('1'), event('2'))).toEqual({ accepted: 0, duplicates: 2 });
  expect(told()).toEqual([3]);
  await ingest(event('4'));
  expect(told()).toEqual([1]);
});

it('of newer clients say decision instead of verdict', async () => {
  const { verdict: decision, ...newer } = event('1');
  await ingest({ ...newer, decision }, { ...event('2'), decision: 'call_denied' });
  const found = (await t.call('searchEvents', { query: { verdict: 'call_allowed' } }, user)).body;
  expect(found.map(({ call_id }) => call_id).sort()).toEqual(['1', '2']);
});

it('register the agents they name, and their manifest', async () => {
  const agent_manifest = {
    agent_id: 'agent-1',
    policy_version: 'v1',
    contracts: [{ id: 'c', type: 'pre', tool: 'read_file', mode: 'enforce' }],
  };
  await t.call('ingestEvents', { body: { events: [event('1')], agent_manifest } }, key);
  expect(await t.hub.store.agents.get(user.tenantId, 'agent-1')).toMatchObject({
    lastEnv: 'production',
    lastSeenAt: t.clock.now(),
    manifest: { policyVersion: 'v1', contracts: [{ id: 'c', tool: 'read_file' }] },
  });
});

it('are refused when an agent sends more than 600 posts of fewer than 10 in a minute', async () => {
  const post = (count: number, who = key) =>
    t
      .call(
        'ingestEvents',
        { body: { events: Array.from({ length: count }, (_, i) => event(`c${i}`)) } },
        who,
      )
      .then(
        ({ status }) => status,
        (error) => error.code,
      );
  for (let i = 0; i < 600; i++) expect(await post(1)).toBe(200);
  expect(await post(9)).toBe('rate_limited');
  expect(await post(10)).toBe(200);
  expect(await post(1, { ...key, agentId: 'agent-2' })).toBe(200);
  expect(await post(1, { ...key, network: '203.0.113.10' })).toBe(200);
  // Without a header the events' agent counts.
  const silent = { ...key, agentId: null };
  expect(await post(1, silent)).toBe('rate_limited');
});

it('are found page by page through the cursor, each once', async () => {
  for (let i = 0; i < 5; i++) {
    await ingest(event(`c${i}`));
    t.clock.advance(1000);
  }
  const seen: string[] = [];
  let cursor = '';
  for (let page = 0; page < 3; page++) {
    const query = { limit: '2', tool_name: 'read_file', ...(cursor === '' ? {} : { cursor }) };
    const { body, headers } = await t.call('searchEvents', { query }, user);
    seen.push(...body.map(({ call_id }) => call_id ?? ''));
    cursor = headers['X-Next-Cursor'] ?? '';
    if (cursor !== '') {
      const link = /^<\/api\/v1\/events\?(.+)>; rel="next"$/.exec(headers.Link ?? '')?.[1] ?? '';
      expect(Object.fromEntries(new URLSearchParams(link))).toEqual({
        limit: '2',
        tool_name: 'read_file',
        cursor,
      });
    }
  }
  expect(seen).toEqual(['c4', 'c3', 'c2', 'c1', 'c0']);
  expect(cursor).toBe('');
});

it('with large payloads show in lists what fits, and are read whole by their id', async () => {
  const payload = {
    tool_args: { content: 'x'.repeat(50_000) },
    reason: 'r'.repeat(3000),
    note: 'n'.repeat(2900),
    decision_name: 'no-secrets',
    environment: 'production',
  };
  await ingest(event('1', { payload }));
  const [listed] = (await t.call('searchEvents', {}, key)).body;
  const gone = (value: unknown) => ({ _truncated: true, bytes: JSON.stringify(value).length });
  expect(listed).toMatchObject({
    call_id: '1',
    payload: { ...payload, tool_args: gone(payload.tool_args), reason: gone(payload.reason) },
  });
  const params = { event_id: listed?.id ?? '' };
  expect((await t.call('getEvent', { params }, key)).body).toEqual({
    ...listed,
    payload,
    policy_bundle: null,
  });
  expect((await t.call('getEvent', { params }, user)).body.payload).toEqual(payload);
});

it('name the version that their policy version is, for people, in the tenant that has it', async () => {
  const { revisionHash } = await deploy(t, user, 'base', '1');
  const last = await deploy(t, user, 'base', '2');
  const read = async (policy_version: string, as: UserCaller | KeyCaller = user) => {
    await ingest(event(policy_version, { payload: { policy_version } }));
    const [{ id } = { id: '' }] = (await t.call('searchEvents', { query: { call_id: policy_version } }, key))
      .body;
    return (await t.call('getEvent', { params: { event_id: id } }, as)).body.policy_bundle;
  };
  expect(await read(revisionHash)).toEqual({ name: 'base', version: 1 });
  expect(await read(last.revisionHash)).toEqual({ name: 'base', version: 2 });
  expect(await read('f'.repeat(64))).toBeNull();
  expect(await read('my own name')).toBeNull();
  expect(await read(revisionHash, key)).toBeNull();
});

it('with a payload of very many small values show its size alone', async () => {
  const payload = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`k${i}`, i]));
  await ingest(event('1', { payload }));
  const [listed] = (await t.call('searchEvents', {}, key)).body;
  expect(listed?.payload).toMatchObject({ _truncated: true });
});

it('are not there for keys of other environments, other tenants and unknown ids', async () => {
  await ingest(event('1'));
  const [{ id } = { id: '' }] = (await t.call('searchEvents', {}, user)).body;
  const unknown = { code: 'not_found', message: 'Event not found.' };
  const params = { event_id: id };
  await expect(t.call('getEvent', { params }, t.key(user, 'staging'))).rejects.toMatchObject(unknown);
  await expect(t.call('getEvent', { params }, await t.tenant())).rejects.toMatchObject(unknown);
  await expect(t.call('getEvent', { params }, { ...key, agentPattern: 'other-*' })).rejects.toMatchObject(
    unknown,
  );
  expect((await t.call('getEvent', { params }, { ...key, agentPattern: 'agent-*' })).body.id).toBe(id);
  const other = { params: { event_id: t.hub.secrets.uuid() } };
  await expect(t.call('getEvent', other, key)).rejects.toMatchObject(unknown);
});

it('of another environment or tenant are not seen by a key', async () => {
  await ingest(event('1'));
  const staging = t.key(user, 'staging');
  expect((await t.call('searchEvents', {}, staging)).body).toEqual([]);
  await expect(t.call('searchEvents', { query: { env: 'production' } }, staging)).rejects.toMatchObject({
    code: 'env_mismatch',
  });
  expect((await t.call('searchEvents', {}, await t.tenant())).body).toEqual([]);
});

it('are filtered by every parameter', async () => {
  await ingest(
    event('1', { verdict: 'call_denied', mode: 'observe', payload: { decision_name: 'No-Secrets' } }),
    event('2', { agent_id: 'agent-2' }),
  );
  const ids = async (query: { [name: string]: string }) =>
    (await t.call('searchEvents', { query }, user)).body.map(({ call_id }) => call_id);
  expect(await ids({ verdict: 'call_denied' })).toEqual(['1']);
  expect(await ids({ mode: 'observe' })).toEqual(['1']);
  expect(await ids({ search: 'no-sec' })).toEqual(['1']);
  expect(await ids({ agent_id: 'agent-2' })).toEqual(['2']);
  expect(await ids({ until: '2001-01-01T00:00:00Z' })).toEqual([]);
  await expect(ids({ since: 'yesterday' })).rejects.toMatchObject({ code: 'validation_failed' });
});

it('are counted in buckets of time', async () => {
  await ingest(event('1'), event('2', { verdict: 'call_denied' }));
  const since = new Date(t.clock.now() - 3_600_000).toISOString();
  const until = new Date(t.clock.now() + 1000).toISOString();
  const { body } = await t.call('eventHistogram', { query: { since, until, bucket_seconds: '3600' } }, key);
  expect(body).toEqual([
    { bucket_start: expect.stringMatching(/:00:00\.000Z$/), allowed: 1, denied: 1, pending: 0, observed: 0 },
  ]);
  const far = { since: '2001-01-01', until, bucket_seconds: '60' };
  await expect(t.call('eventHistogram', { query: far }, key)).rejects.toMatchObject({
    code: 'unprocessable',
  });
});

it('are filtered by contract, run and call; the contracts of what repeats said count, too', async () => {
  const of = (decision_name: string, run_id = 'run-1') => ({ payload: { decision_name, run_id } });
  await ingest(event('1', of('x')), event('2', of('y', 'run-2')), event('3'));
  await ingest(event('2', { verdict: 'call_would_deny', ...of('x') }));
  const ids = async (query: { [name: string]: string }) =>
    (await t.call('searchEvents', { query }, user)).body.map(({ call_id }) => call_id).sort();
  expect(await ids({ decision_name: 'x' })).toEqual(['1', '2']);
  expect(await ids({ decision_name: 'X' })).toEqual([]);
  expect(await ids({ run_id: 'run-1' })).toEqual(['1']);
  expect(await ids({ call_id: '3' })).toEqual(['3']);
  expect(await ids({ call_id: '3', agent_id: 'agent-2' })).toEqual([]);
  for (const bad of [{ decision_name: '' }, { run_id: 'x'.repeat(256) }, { call_id: '\u0000' }]) {
    await expect(ids(bad)).rejects.toMatchObject({ code: 'validation_failed' });
  }
});

it('are counted by the values that filters take: the 50 most frequent, and the others together', async () => {
  const events = Array.from({ length: 60 }, (_, i) =>
    event(`c${i}`, { agent_id: `agent-${i}`, tool_name: i < 40 ? 'read' : 'write' }),
  );
  await ingest(...events, event('more', { agent_id: 'agent-7', mode: 'observe' }));
  const facets = async (query: { [name: string]: string } = {}, caller: KeyCaller | UserCaller = user) =>
    (await t.call('eventFacets', { query }, caller)).body;
  const all = await facets();
  expect(all.total).toBe(61);
  expect(all.facets.agent_id.top).toHaveLength(50);
  expect(all.facets.agent_id.top[0]).toEqual({ value: 'agent-7', count: 2 });
  expect(all.facets.agent_id.rest).toEqual({ values: 10, count: 10 });
  expect(all.facets.tool_name).toEqual({
    top: [
      { value: 'read', count: 40 },
      { value: 'write', count: 20 },
      { value: 'read_file', count: 1 },
    ],
    rest: { values: 0, count: 0 },
  });
  expect((await facets({ mode: 'observe' })).facets.agent_id.top).toEqual([{ value: 'agent-7', count: 1 }]);
  expect((await facets({}, t.key(user, 'staging'))).total).toBe(0);
  expect((await facets({}, await t.tenant())).total).toBe(0);
  const bound = { ...key, agentId: null, agentPattern: 'agent-1*' };
  await expect(facets({}, bound)).rejects.toMatchObject({ code: 'forbidden' });
  expect((await facets({ agent_id: 'agent-12' }, bound)).total).toBe(1);
});

it('are counted in buckets of 5 seconds over at most 2 hours', async () => {
  await ingest(event('1'));
  const ask = (hours: number, bucket_seconds: string) => {
    const since = new Date(t.clock.now() - hours * 3_600_000).toISOString();
    const until = new Date(t.clock.now() + 1).toISOString();
    return t.call('eventHistogram', { query: { since, until, bucket_seconds } }, user);
  };
  expect((await ask(1.9, '5')).body).toMatchObject([{ allowed: 1 }]);
  await expect(ask(2.1, '5')).rejects.toMatchObject({ code: 'unprocessable' });
  expect((await ask(2.1, '60')).body).toMatchObject([{ allowed: 1 }]);
  await expect(ask(1, '4')).rejects.toMatchObject({ code: 'validation_failed' });
});
