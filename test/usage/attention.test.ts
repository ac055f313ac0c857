// Items that need attention: each source, the order, and who reads which items.
import { createHash } from 'node:crypto';
import { fingerprintOf, readToolList } from 'reeve-agent/rules';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { agentStreamsOf } from '../../src/hub/agent-streams.ts';
import { streamHandlers } from '../../src/hub/api/stream-handlers.ts';
import { settled } from '../clock.ts';
import { aStream } from '../conformance/agent-streams.ts';
import { aDelivery } from '../conformance/channels.ts';
import { deploy } from '../deployment/deploy.ts';
import { type KeyCaller, makeHub, type TestHub, type UserCaller } from '../harness.ts';

const day = 86_400_000;
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
const attention = async (as = user, query = {}) => (await t.call('attention', { query }, as)).body.items;

let calls = 0;
const denials = (count: number, at: number, policyVersion?: string) => {
  const events = Array.from({ length: count }, () => ({
    call_id: `d${++calls}`,
    agent_id: 'agent-1',
    tool_name: 'x',
    verdict: 'call_denied',
    timestamp: iso(at),
    payload: { decision_name: 'no-prod-sql', ...(policyVersion ? { policy_version: policyVersion } : {}) },
  }));
  return t.call('ingestEvents', { body: { events } }, key);
};

it('is nothing at first; then a contract that denies more than usual, an approval near its end, and agents out of date', async () => {
  expect(await attention()).toEqual([]);
  await t.clock.advance(6_000);
  const now = t.clock.now();
  await denials(2, now - 3 * 3_600_000);
  await denials(21, now - 60_000);
  await t.call('createApproval', { body: { tool_name: 'refund', message: 'ok?' } }, key);
  const first = await deploy(t, user, 'shop', '1');
  const streams = streamHandlers(t.hub, agentStreamsOf(t.hub, 'node-1'));
  const query = { env: key.env, bundle_name: 'shop', policy_version: first.revisionHash };
  await (await streams.admitAgent(key, query, 'stream-1')).catchUp();
  await deploy(t, user, 'shop', '2');
  await settled();
  const deployedAt = t.clock.now();
  // An answer of the last 5 seconds stays.
  await t.clock.advance(6_000);
  const kinds = async () => (await attention()).map(({ kind, count }) => [kind, count]);
  expect(await kinds()).toEqual([
    ['approval_deadline', 1],
    ['deny_spike', 21],
  ]);
  await t.clock.advance(200_000);
  expect((await attention()).find(({ kind }) => kind === 'deny_spike')).toMatchObject({
    severity: 'high',
    env: 'production',
    subject: { type: 'contract', id: 'no-prod-sql' },
    facts: { usual: 1, version: null },
  });
  await t.clock.advance(310_000);
  expect((await attention()).find(({ kind }) => kind === 'out_of_date')).toMatchObject({
    severity: 'medium',
    subject: { type: 'bundle', id: 'shop' },
    since: iso(deployedAt),
    count: 1,
    facts: { wanted_version: 2 },
  });
});

it('names the new version by which a contract denies more than usual', async () => {
  const { revisionHash } = await deploy(t, user, 'shop', '1');
  await denials(25, t.clock.now() - 60_000, revisionHash);
  const spike = (await attention()).find(({ kind }) => kind === 'deny_spike');
  expect(spike).toMatchObject({ count: 25, facts: { version: 1 } });
});

it('is agents that are usually connected and are away, one item for their environment', async () => {
  const now = t.clock.now();
  const ended = (agentId: string, from: number, to: number) =>
    aStream({
      ...{ tenantId: user.tenantId, agentId },
      ...{ startedAt: now - from * 3_600_000, endedAt: now - to * 3_600_000 },
    });
  await t.hub.store.agentStreams.record([
    ...[ended('silent', 9, 5), ended('silent', 5, 2), ended('agent-1', 9, 1), ended('also-silent', 8, 1)],
    // Two at once are not twice as long, and a job of an hour is over when it is away.
    ...[ended('double', 6, 2), ended('double', 6, 2), ended('job', 3, 2)],
  ]);
  const streams = streamHandlers(t.hub, agentStreamsOf(t.hub, 'node-1'));
  await (await streams.admitAgent(key, { env: key.env }, 'stream-1')).catchUp();
  expect(await attention()).toMatchObject([
    {
      ...{ kind: 'silent_agents', severity: 'medium', env: 'production', count: 2 },
      subject: { type: 'environment', id: 'production', name: 'production' },
      since: iso(now - 2 * 3_600_000),
      facts: { agent_id: 'silent' },
    },
  ]);
});

it('is tools that wait for a person in each mode but observe, also behind many that are observed', async () => {
  const toolsOf = (server: string, names: readonly string[]) => {
    const { tools } = readToolList(names.map((name) => ({ name, description: 'v1' })));
    const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
    const listed = tools.map(({ name, definition }) => ({
      ...{ name, definition },
      fingerprint: fingerprintOf(definition, sha256),
    }));
    return t.call(
      'observeTools',
      { body: { agent_id: key.agentId ?? 'default', server, tools: listed } },
      key,
    );
  };
  const mode = (server: string, value: string) =>
    t.call('setPinMode', { body: { env: 'production', server, mode: value } }, user);
  await toolsOf(
    'a',
    Array.from({ length: 100 }, (_, i) => `read-${i}`),
  );
  await toolsOf(
    'b',
    Array.from({ length: 110 }, (_, i) => `read-${i}`),
  );
  await mode('y', 'deny');
  await mode('z', 'hold');
  await toolsOf('y', ['pay', 'refund']);
  // The first tools of a server in this mode are accepted.
  await toolsOf('z', ['list']);
  await toolsOf('z', ['list', 'pay']);
  const items = await attention();
  expect(items.map(({ kind, subject, count }) => [kind, subject.id, count])).toEqual([
    ['tool_waits', 'y', 2],
    ['tool_waits', 'z', 1],
  ]);
});

it('is shown to those who may read its subject', async () => {
  const body = { env: 'production' as const, label: 'ci', expires_at: iso(t.clock.now() + 3 * day) };
  await t.call('createKey', { body }, user);
  const [item] = await attention();
  expect(item).toMatchObject({ kind: 'key_expiring', deadline: body.expires_at, subject: { name: 'ci' } });
  const viewer = { ...user, roles: [{ role: 'viewer', env: '*' }] as const };
  expect(await attention(viewer)).toEqual([]);
  const elsewhere = { ...user, roles: [{ role: 'admin', env: 'staging' }] as const };
  expect(await attention(elsewhere)).toEqual([]);
  await expect(attention(elsewhere, { env: 'production' })).rejects.toMatchObject({
    code: 'role_required',
  });
});

it('is a channel whose latest three attempts failed, for operators', async () => {
  const config = { url: 'http://127.0.0.1:9/hook', secret: 'key' };
  const { body } = await t.call(
    'createChannel',
    { body: { name: 'ops', channel_type: 'webhook', config } },
    user,
  );
  const request = { tool_name: 'x', message: 'ok?', timeout: 3600 };
  const approvalId = (await t.call('createApproval', { body: request }, key)).body.id;
  const now = t.clock.now();
  const attempt = (hoursAgo: number, failure: 'status' | 'timeout' | null) => ({
    at: now - hoursAgo * 3_600_000,
    durationMs: 5,
    status: failure === null ? 200 : 500,
    failure,
  });
  const record = (...log: ReturnType<typeof attempt>[]) =>
    t.hub.store.deliveries.create(
      aDelivery({ tenantId: user.tenantId, channelId: body.id, approvalId, createdAt: now, log }),
    );
  await record(attempt(5, 'status'), attempt(3, 'status'));
  await record(attempt(4, null), attempt(2, 'status'));
  await t.clock.advance(6_000);
  expect(await attention()).toEqual([]);
  await record(attempt(1, 'timeout'));
  await t.clock.advance(6_000);
  const [item] = await attention();
  expect(item).toEqual({
    ...{ kind: 'delivery_failing', severity: 'high', env: null, deadline: null, count: 3 },
    subject: { type: 'channel', id: body.id, name: 'ops' },
    since: iso(now - 3 * 3_600_000),
    facts: { channel_kind: 'webhook' },
  });
  expect(await attention({ ...user, roles: [{ role: 'operator', env: '*' }] })).toHaveLength(1);
  // Others know what they see: three attempts of production, none of staging.
  const operatorOf = (env: 'production' | 'staging') => ({
    ...user,
    roles: [{ role: 'operator', env }] as const,
  });
  expect(await attention(operatorOf('production'))).toEqual([{ ...item, env: 'production' }]);
  expect(await attention(operatorOf('staging'))).toEqual([]);
  expect(await attention({ ...user, roles: [{ role: 'viewer', env: '*' }] })).toEqual([]);
});

it('is a store with little room, or one that refuses writes, for admins', async () => {
  const storage = vi.spyOn(t.hub.health, 'storage');
  for (const [state, severity] of [
    ['low', 'medium'],
    ['reserved', 'high'],
    ['damaged', 'high'],
  ] as const) {
    storage.mockReturnValue({ state, freeBytes: 700, totalBytes: 9_000, reserveBytes: 512 });
    await t.clock.advance(6_000);
    expect(await attention()).toEqual([
      {
        ...{ kind: 'store', severity, env: null, since: null, deadline: null, count: 1 },
        subject: { type: 'store', id: 'store', name: state },
        facts: { state, free_bytes: 700 },
      },
    ]);
    expect(await attention({ ...user, roles: [{ role: 'operator', env: '*' }] })).toEqual([]);
  }
});

it('is no store for admins while the installation has several tenants', async () => {
  await t.tenant();
  const storage = { state: 'low', freeBytes: 700, totalBytes: 9_000, reserveBytes: 512 } as const;
  vi.spyOn(t.hub.health, 'storage').mockReturnValue(storage);
  expect(await attention()).toEqual([]);
});

it('is an urgent approval behind many that end earlier and are new', async () => {
  const ask = (tool_name: string, timeout: number, agentId: string) => {
    const body = { tool_name, message: 'm', timeout };
    return t.call('createApproval', { body }, t.key(user, 'production', agentId));
  };
  await ask('urgent', 3_600, 'urgent');
  await t.clock.advance(3_000_000);
  for (let i = 0; i < 20; i++) await ask('new', 420, `new-${i}`);
  expect((await attention()).map(({ kind, subject }) => [kind, subject.name])).toEqual([
    ['approval_deadline', 'urgent'],
  ]);
});

it('is no approval of the sample run, and the overview leaves its deadline out', async () => {
  await t.call('makeSampleRun', {}, user);
  await t.clock.advance(80_000_000);
  expect(await attention()).toEqual([]);
  const now = t.clock.now();
  const query = { compare: 'previous', since: iso(now - 3_600_000) };
  expect((await t.call('statsOverview', { query }, user)).body).toMatchObject({ next_deadline: null });
});

it('is a token of a service account in its last 14 days, for admins who are people', async () => {
  const roles = [{ role: 'viewer', env: '*' }];
  const { body: account } = await t.call('createServiceAccount', { body: { name: 'ci', roles } }, user);
  const params = { account_id: account.id };
  const create = async (label: string, expires_in_days: number) =>
    (await t.call('createServiceToken', { params, body: { label, expires_in_days } }, user)).body;
  await create('later', 15);
  const token = await create('soon', 14);
  expect(await attention()).toEqual([
    {
      ...{ kind: 'key_expiring', severity: 'medium', env: null, since: null, count: 1 },
      subject: { type: 'service_account', id: account.id, name: 'ci' },
      deadline: token.expires_at,
      facts: { token: 'soon' },
    },
  ]);
  expect(await attention({ ...user, roles: [{ role: 'operator', env: '*' }] })).toEqual([]);
  const service = { tokenId: token.id, expiresAt: Number.MAX_SAFE_INTEGER };
  expect(await attention({ ...user, service })).toEqual([]);
  await t.call('revokeServiceToken', { params: { ...params, token_id: token.id } }, user);
  await t.clock.advance(6_000);
  expect(await attention()).toEqual([]);
});

it('the overview compares a range with the one before', async () => {
  const now = t.clock.now();
  await denials(3, now - 30 * 60_000);
  await denials(2, now - 90 * 60_000);
  await t.call('createApproval', { body: { tool_name: 'x', message: 'm' } }, key);
  const query = { compare: 'previous', since: iso(now - 3_600_000) };
  const { body } = await t.call('statsOverview', { query }, user);
  expect(body).toMatchObject({
    calls: { allowed: 0, denied: 3, would_deny: 0, asked: 0 },
    previous: { denied: 2 },
    agents: { known: 1, connected: 0 },
    next_deadline: iso(now + 300_000),
  });
  expect((await t.call('statsOverview', {}, user)).body).not.toHaveProperty('calls');
});
