// Approvals: asked for within limits, read by those who may, decided once.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { requestApproval } from '../../src/approval/console/handlers.ts';
import type { Hub } from '../../src/http/contract/handler.ts';
import { keyPrincipalOf } from '../../src/http/contract/principal.ts';
import { type ErrorCode, HubError } from '../../src/shared/error.ts';
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

const body = { tool_name: 'drop_table', message: 'May I?', tool_args: { table: 'users' }, timeout: 60 };
const ask = async (more: object = {}, caller = key) =>
  (await t.call('createApproval', { body: { ...body, ...more } }, caller)).body;

it('are pending, of the environment of the key and the agent of the header', async () => {
  const made = await t.call('createApproval', { body: { ...body, agent_id: 'other' } }, key);
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({
    status: 'pending',
    agent_id: 'agent-1',
    env: 'production',
    tool_args: { table: 'users' },
    timeout_seconds: 60,
    timeout_effect: 'deny',
    decided_by: null,
    created_at: new Date(t.clock.now()).toISOString(),
  });
  expect((await t.call('getApproval', { params: { approval_id: made.body.id } }, key)).body).toEqual(
    made.body,
  );
});

it('take the agent from the body without a header, and need one of them', async () => {
  const headerless = t.key(user, 'production', null);
  expect((await ask({ agent_id: 'by-body' }, headerless)).agent_id).toBe('by-body');
  await expect(ask({}, headerless)).rejects.toMatchObject({
    code: 'validation_failed',
    detail: { problems: [{ loc: ['body', 'agent_id'] }] },
  });
});

it('take the effect of a timeout in the words of older and newer clients; the older win', async () => {
  const effect = async (more: object) => (await ask(more)).timeout_effect;
  expect(await effect({})).toBe('deny');
  expect(await effect({ timeout_action: 'block' })).toBe('deny');
  expect(await effect({ timeout_action: 'allow' })).toBe('allow');
  expect(await effect({ timeout_effect: 'allow', timeout_action: 'block' })).toBe('allow');
  await expect(ask({ timeout_action: 'ask' })).rejects.toMatchObject({ code: 'validation_failed' });
});

it('are asked for and read with a key that is bound to their agent, and with no other', async () => {
  const bound = { ...t.key(user, 'production', null), agentPattern: 'team-a.*' };
  const get = async (id: string, caller: KeyCaller) =>
    (await t.call('getApproval', { params: { approval_id: id } }, caller)).body.agent_id;
  const { id } = await ask({ agent_id: 'team-a.1' }, bound);
  expect(await get(id, bound)).toBe('team-a.1');
  const refused = { code: 'forbidden', message: expect.stringContaining("'team-a.*'") };
  await expect(ask({ agent_id: 'team-b.1' }, bound)).rejects.toMatchObject(refused);
  const one = { ...bound, agentId: 'team-a.1' };
  await expect(ask({ agent_id: 'team-b.1' }, one)).rejects.toMatchObject(refused);
  const other = await ask({}, t.key(user, 'production', 'team-b.1'));
  await expect(get(other.id, bound)).rejects.toMatchObject({ code: 'not_found' });
});

it('are limited to 10 a minute per agent and environment, whatever others do', async () => {
  for (let i = 0; i < 10; i++) await ask({}, t.key(user, 'staging'));
  for (let i = 0; i < 10; i++) await ask();
  await expect(ask()).rejects.toMatchObject({
    code: 'rate_limited',
    message: 'Too many approval requests. Please slow down.',
    detail: { retryAfter: 60 },
  });
  await expect(ask({}, t.key(user, 'staging'))).rejects.toMatchObject({ code: 'rate_limited' });
  expect((await ask({}, t.key(user, 'production', 'agent-2'))).status).toBe('pending');
});

it('are limited to as many as the setting says', async () => {
  await t.close();
  t = await makeHub({ approvalsPerMinute: 2 });
  user = await t.tenant();
  key = t.key(user);
  for (let i = 0; i < 2; i++) await ask();
  await expect(ask()).rejects.toMatchObject({ code: 'rate_limited' });
});

it('are limited per key and client address, however many agents it names', async () => {
  for (let i = 0; i < 600; i++)
    await t.hub.limits.hit(`approvals-key:${key.keyId}/${key.network}`, 600, 60_000);
  await expect(ask()).rejects.toMatchObject({ code: 'rate_limited' });
  expect((await ask({}, { ...key, network: '203.0.113.10' })).status).toBe('pending');
});

it('have nothing where an optional text is empty', async () => {
  const texts = { agent_id: '', contract_name: '', decision_source: '', session_id: '', call_id: '' };
  const nothing = { contract_name: null, decision_source: null, session_id: null, call_id: null };
  const agent = { agent_id: key.agentId };
  expect(await ask(texts)).toMatchObject({ status: 'pending', ...agent, ...nothing });
  await expect(ask(texts, { ...key, agentId: null })).rejects.toMatchObject({ code: 'validation_failed' });
});

it('that are refused for their key do not count for their agent', async () => {
  for (let i = 0; i < 600; i++)
    await t.hub.limits.hit(`approvals-key:${key.keyId}/${key.network}`, 600, 60_000);
  for (let i = 0; i < 10; i++) await expect(ask()).rejects.toMatchObject({ code: 'rate_limited' });
  expect((await ask({}, { ...key, network: '203.0.113.10' })).status).toBe('pending');
});

it('are decided once, by the signed-in user whatever the body says', async () => {
  const { id } = await ask();
  const decide = (approved: boolean) =>
    t.call(
      'decideApproval',
      { params: { approval_id: id }, body: { approved, decided_by: 'eve', reason: 'ok' } },
      user,
    );
  const decided = await decide(true);
  expect(decided.body).toMatchObject({
    status: 'approved',
    decided_by: user.email,
    decision_reason: 'ok',
    decided_via: 'console',
  });
  await expect(decide(false)).rejects.toMatchObject({ code: 'conflict' });
});

it('are withdrawn by the agent that asked, once, and by no other', async () => {
  const { id } = await ask();
  const withdraw = (caller: typeof key) =>
    t.call('withdrawApproval', { params: { approval_id: id } }, caller);
  await expect(withdraw({ ...key, agentId: 'another' })).rejects.toMatchObject({ code: 'not_found' });
  await expect(withdraw({ ...key, agentId: null })).rejects.toMatchObject({ code: 'not_found' });
  expect((await withdraw(key)).body).toMatchObject({
    status: 'denied',
    decided_by: key.agentId,
    decision_reason: null,
    decided_via: 'withdrawn',
  });
  await expect(withdraw(key)).rejects.toMatchObject({ code: 'conflict' });
  const params = { approval_id: id };
  await expect(t.call('decideApproval', { params, body: { approved: true } }, user)).rejects.toMatchObject({
    code: 'conflict',
  });
});

it("are not decided by a person with the label of the agent's own withdrawal", async () => {
  const { id } = await ask();
  const decide = (body: { approved: boolean; decided_via?: string }) =>
    t.call('decideApproval', { params: { approval_id: id }, body }, user);
  await expect(decide({ approved: false, decided_via: 'withdrawn' })).rejects.toMatchObject({
    code: 'validation_failed',
  });
  const decided = await decide({ approved: false, decided_via: 'dashboard' });
  expect(decided.body).toMatchObject({ status: 'denied', decided_via: 'dashboard' });
});

it('read as timeout from their deadline on, and cannot be decided then', async () => {
  const { id } = await ask({ timeout: 1 });
  t.clock.advance(1000);
  const params = { approval_id: id };
  expect((await t.call('getApproval', { params }, key)).body).toMatchObject({
    status: 'timeout',
    decided_by: null,
  });
  const pending = await t.call('listApprovals', { query: { status: 'pending' } }, user);
  expect(pending.body).toEqual([]);
  await expect(t.call('decideApproval', { params, body: { approved: true } }, user)).rejects.toMatchObject({
    code: 'conflict',
  });
});

it.each(['getApproval', 'listApprovals'] as const)(
  'once read as timed out (%s) lose a decision that was under way, and are announced once',
  async (operation) => {
    const { id } = await ask({ timeout: 1 });
    // The actor's timer has not come to it yet.
    t.clock.skip(1000);
    const input = operation === 'getApproval' ? { params: { approval_id: id } } : { query: {} };
    const { body: seen } = await t.call(operation, input, user);
    expect([seen].flat()).toMatchObject([{ id, status: 'timeout', decided_via: 'system' }]);
    // It was looked at before the deadline and is written after it.
    const late = { id: 'late', approved: true, decidedBy: user.email, reason: null, decidedVia: 'console' };
    expect(await t.hub.store.approvals.decide(user.tenantId, id, late, t.clock.now() - 1)).toBe(
      'not_pending',
    );
    await t.clock.advanceAsync(1);
    expect(t.frames.filter(({ type }) => type === 'approval_timeout')).toHaveLength(1);
  },
);

it('are unknown to keys of other environments and to other tenants', async () => {
  const params = { approval_id: (await ask()).id };
  const unknown = { code: 'not_found', message: 'Approval not found.' };
  await expect(t.call('getApproval', { params }, t.key(user, 'staging'))).rejects.toMatchObject(unknown);
  const stranger = await t.tenant();
  await expect(t.call('getApproval', { params }, stranger)).rejects.toMatchObject(unknown);
  await expect(
    t.call('decideApproval', { params, body: { approved: true } }, stranger),
  ).rejects.toMatchObject(unknown);
});

it('are listed newest first, by page', async () => {
  for (let i = 0; i < 3; i++) {
    await ask({ message: `m${i}` });
    t.clock.advance(10);
  }
  const messages = async (query: { [name: string]: string }) =>
    (await t.call('listApprovals', { query }, user)).body.map(({ message }) => message);
  expect(await messages({})).toEqual(['m2', 'm1', 'm0']);
  expect(await messages({ limit: '1', offset: '1' })).toEqual(['m1']);
  await expect(messages({ limit: '1001' })).rejects.toMatchObject({ code: 'validation_failed' });
});

it('with large arguments have them whole in their own answer, and their size in the list', async () => {
  const tool_args = { text: 'x'.repeat(900_000), n: 1 };
  const bytes = JSON.stringify(tool_args).length;
  const asked = await ask({ tool_args });
  expect(asked.tool_args).toEqual(tool_args);
  const params = { approval_id: asked.id };
  expect((await t.call('getApproval', { params }, key)).body.tool_args).toEqual(tool_args);
  const { body: list } = await t.call('listApprovals', {}, user);
  expect(list).toEqual([{ ...asked, assignee: null, tool_args: { _truncated: true, bytes } }]);
  const decided = await t.call('decideApproval', { params, body: { approved: true } }, user);
  expect(decided.body).toMatchObject({ status: 'approved', tool_args });
});

it('show in the list whatever takes little room, and only the size of the rest', async () => {
  const message = 'm'.repeat(5000);
  const small = await ask({ tool_args: { text: 'x'.repeat(4000) } });
  const long = await ask({ tool_args: { text: 'x'.repeat(4096) }, message });
  const { body: list } = await t.call('listApprovals', {}, user);
  expect(list.map((one) => [one.id, one.message, one.tool_args])).toEqual([
    [long.id, { _truncated: true, bytes: 5002 }, { _truncated: true, bytes: 4107 }],
    [small.id, small.message, small.tool_args],
  ]);
});

it('with large arguments are refused when those fill their quota, others are not', async () => {
  await t.close();
  t = await makeHub({ quotas: { ...t.hub.settings.quotas, largeArgsBytes: 150_000, largeArgsDays: 30 } });
  user = await t.tenant();
  key = t.key(user);
  const tool_args = { text: 'x'.repeat(70_000) };
  await ask({ tool_args });
  await ask({ tool_args, call_id: 'another' });
  const refused = {
    code: 'quota_exceeded',
    message: expect.stringMatching(/30 days.*LARGE_ARGUMENTS_MAX_BYTES/),
  };
  await expect(ask({ tool_args })).rejects.toMatchObject(refused);
  expect((await ask({ tool_args: { text: 'x'.repeat(60_000) } })).status).toBe('pending');
  expect((await ask({ tool_args }, t.key(user, 'staging'))).status).toBe('pending');
});

it.each(['unavailable', 'internal'] as const)(
  'leave no arguments behind when they are refused, unless they may be stored all the same (%s)',
  async (unknown) => {
    const quotas = { ...t.hub.settings.quotas, largeArgsBytes: 100_000 };
    const refusing = (code: ErrorCode): Hub =>
      t.changed({
        settings: { ...t.hub.settings, quotas },
        actors: { ...t.hub.actors, ask: () => Promise.reject(new HubError(code, 'no')) },
      });
    const large = { ...body, tool_args: { text: 'x'.repeat(70_000) } };
    const limits = { refusal: () => null };
    const refused = (code: ErrorCode) =>
      expect(requestApproval(refusing(code), key, large, limits)).rejects.toMatchObject({ code });
    await refused('overloaded');
    await refused('quota_exceeded');
    // It may be that this one is there, so its arguments stay and fill the quota.
    await refused(unknown);
    await expect(requestApproval(refusing('overloaded'), key, large, limits)).rejects.toMatchObject({
      code: 'quota_exceeded',
    });
  },
);

it.each(['overloaded', 'quota_exceeded'] as const)(
  'keep their arguments when a repeat of their request is refused (%s)',
  async (code) => {
    const large = { ...body, tool_args: { text: 'x'.repeat(70_000) } };
    const limits = { refusal: () => null };
    const stored = await requestApproval(t.hub, key, large, limits, 'one');
    const busy = t.changed({
      actors: { ...t.hub.actors, ask: () => Promise.reject(new HubError(code, 'no')) },
    });
    await expect(requestApproval(busy, key, large, limits, 'one')).rejects.toMatchObject({ code });
    const read = (await t.call('getApproval', { params: { approval_id: stored.id } }, user)).body;
    expect(read).toMatchObject({ status: 'pending', tool_args: large.tool_args });
  },
);

it('are read by their agent while the owner of their environment is away', async () => {
  const { id } = await ask();
  const away = () => Promise.reject(new HubError('unavailable', 'no'));
  const hub = t.changed({ actors: { ...t.hub.actors, ask: away, tell: away } });
  expect(await hub.app.approvals.get(keyPrincipalOf(key), id)).toMatchObject({ id, status: 'pending' });
});

it('are refused when their arguments would take more room than a body may have', async () => {
  const tool_args = { n: Array.from({ length: 60_000 }, () => 1e20) };
  await expect(ask({ tool_args })).rejects.toMatchObject({ code: 'payload_too_large' });
});

it('whose large arguments were dropped still tell their size', async () => {
  const tool_args = { text: 'x'.repeat(70_000) };
  const { id } = await ask({ tool_args });
  await t.hub.store.approvals.removeLargeArgs(t.clock.now() + 1, 10);
  const { body: left } = await t.call('getApproval', { params: { approval_id: id } }, key);
  expect(left.tool_args).toEqual({ _truncated: true, bytes: JSON.stringify(tool_args).length });
});

it.each([
  { timeout: 0 },
  { timeout: 86_401 },
  { timeout_effect: 'maybe' },
  { tool_name: '' },
  { message: 7 },
])('are refused with %j', async (more) => {
  await expect(ask(more)).rejects.toMatchObject({ code: 'validation_failed' });
});

it('carry what the agent says of the call, and when they time out', async () => {
  const context = {
    contracts: [{ name: 'ask-first', message: 'Is it urgent?' }],
    principal: { user_id: 'ada' },
    session_id: 's1',
    call_id: 'c1',
  };
  const made = await ask(context);
  expect(made).toMatchObject({ ...context, expires_at: new Date(t.clock.now() + 60_000).toISOString() });
  expect((await t.call('listApprovals', {}, user)).body).toMatchObject([context]);
  expect(await ask()).toMatchObject({ contracts: null, principal: null, session_id: null, call_id: null });
});

it('are not refused for what is said besides: long texts are cut, a large principal gives way to its size', async () => {
  const principal = { claims: { text: 'x'.repeat(20_000) } };
  const contracts = [{ name: 'a', message: `${'x'.repeat(999)}🦄 and more` }];
  const made = await ask({ principal, contracts });
  expect(made.principal).toEqual({ _truncated: true, bytes: JSON.stringify(principal).length });
  expect(made.contracts).toEqual([{ name: 'a', message: 'x'.repeat(999) }]);
});

it.each([
  { contracts: [{ name: 'a' }] },
  { contracts: Array(51).fill({ name: 'a', message: 'b' }) },
  { principal: 'ada' },
  { session_id: 'x'.repeat(256) },
  { call_id: 'x'.repeat(256) },
])('are refused with %o', async (more) => {
  await expect(ask(more)).rejects.toMatchObject({ code: 'validation_failed' });
});

it('are listed by agent, time and text, and their pages go on where they ended although others come', async () => {
  const list = (query: { [name: string]: string }, as = user) => t.call('listApprovals', { query }, as);
  const ids: string[] = [];
  for (const agent of ['a', 'b', 'a', 'b', 'a']) {
    ids.push(
      (await ask({ message: `for ${agent}`, call_id: `${ids.length}` }, t.key(user, 'production', agent))).id,
    );
    t.clock.advance(1000);
  }
  const found = async (query: { [name: string]: string }) =>
    (await list(query)).body.map(({ id }) => ids.indexOf(id));
  expect(await found({ agent_id: 'a' })).toEqual([4, 2, 0]);
  expect(await found({ search: 'FOR B' })).toEqual([3, 1]);
  const since = new Date(t.clock.now() - 2000).toISOString();
  expect(await found({ since })).toEqual([4, 3]);
  const first = await list({ limit: '2' });
  const cursor = first.headers['X-Next-Cursor'] ?? '';
  await ask({}, t.key(user, 'production', 'later'));
  expect(await found({ limit: '2', cursor })).toEqual([2, 1]);
  await expect(list({ cursor }, await t.tenant())).rejects.toMatchObject({ code: 'bad_request' });
  await expect(list({ cursor: 'made-up' })).rejects.toMatchObject({ code: 'bad_request' });
  await expect(list({ since: 'yesterday' })).rejects.toMatchObject({ code: 'validation_failed' });
});
