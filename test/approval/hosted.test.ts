// Approvals on the hosted API: the console's records in other words; who decides is who the token says.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { environmentKey } from '../../actors/protocol.ts';
import {
  type HostedKeyCaller,
  makeHub,
  type OperatorCaller,
  type TestHub,
  type UserCaller,
} from '../harness.ts';

let t: TestHub;
let user: UserCaller;
let operator: OperatorCaller;
let key: HostedKeyCaller;
beforeEach(async () => {
  t = await makeHub({ approvalsPerMinute: 1000 });
  user = await t.tenant('ann@example.com');
  operator = t.operator(user, 'operator');
  key = t.hostedKey(user);
});
afterEach(() => t.close());

const ask = async (body: object = {}, as = key, headers: { [name: string]: string } = {}) =>
  (
    await t.call(
      'hostedCreateApproval',
      { body: { tool_name: 'deploy', message: 'May I?', tool_args: { a: 1 }, ...body } },
      as,
      { headers },
    )
  ).body;
const read = async (approval_id: string, as: OperatorCaller | HostedKeyCaller = key) =>
  (await t.call('hostedGetApproval', { params: { approval_id } }, as)).body;
const decide = async (approval_id: string, body: object, as = operator) =>
  (await t.call('hostedDecideApproval', { params: { approval_id }, body }, as)).body;
const list = async (
  query: { [name: string]: string } = {},
  as: OperatorCaller | HostedKeyCaller = operator,
) => (await t.call('hostedListApprovals', { query }, as)).body;

describe('an approval', () => {
  it('takes the field of older clients for what happens when nobody decides', async () => {
    expect((await ask({ timeout_effect: 'allow' })).timeout_action).toBe('allow');
    expect((await ask({ message: 'b', timeout_effect: 'deny' })).timeout_action).toBe('block');
    const both = { message: 'c', timeout_action: 'block', timeout_effect: 'allow' };
    expect((await ask(both)).timeout_action).toBe('block');
  });

  it('is asked for with 64 KiB of arguments at most', async () => {
    const argsOf = (bytes: number) => ({ text: 'é'.repeat((bytes - 12) / 2) });
    expect(Buffer.byteLength(JSON.stringify(argsOf(65_536)))).toBe(65_536 - 1);
    const largest = { text: `${argsOf(65_536).text}x` };
    expect((await ask({ tool_args: largest })).tool_args).toEqual(largest);
    await expect(ask({ tool_args: { text: `${largest.text}x` } })).rejects.toMatchObject({
      code: 'validation_failed',
      detail: { problems: [{ loc: ['body', 'tool_args'] }] },
    });
  });

  it('is asked for by a key and is the one that the console shows', async () => {
    const asked = await ask({
      session_id: 's1',
      timeout: 60,
      timeout_action: 'deny',
      principal: { user_id: 'u' },
    });
    expect(asked).toMatchObject({
      status: 'pending',
      agent_id: 'agent-1',
      session_id: 's1',
      rule_name: 'deploy',
      environment: 'production',
      timeout: 60,
      timeout_action: 'block',
      effective_action: null,
      tool_args: { a: 1 },
    });
    expect(await read(asked.id)).toEqual(asked);
    const console = (await t.call('getApproval', { params: { approval_id: asked.id } }, user)).body;
    expect(console).toMatchObject({
      status: 'pending',
      timeout_effect: 'deny',
      contract_name: 'deploy',
      session_id: 's1',
    });
    expect(await ask({ session_id: '' })).toMatchObject({ session_id: null });
  });

  it('of the console that names no contract goes by its tool, as one that names no rule', async () => {
    const body = { tool_name: 'deploy', message: 'May I?' };
    const { id } = (await t.call('createApproval', { body }, t.key(user))).body;
    expect((await read(id, operator)).rule_name).toBe('deploy');
    expect((await list()).approvals).toMatchObject([{ id, rule_name: 'deploy' }]);
  });

  it('registers the agent that asks', async () => {
    await ask({ agent_id: 'worker' });
    const { agents } = (await t.call('hostedListAgents', {}, operator)).body;
    expect(agents).toMatchObject([{ id: 'worker', health: { status: 'approval_pending' } }]);
  });

  it('shows times with microseconds', async () => {
    const micros = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/;
    const { id, created_at, expires_at } = await ask();
    const { decided_at } = await decide(id, { decision: 'approved' });
    for (const time of [created_at, expires_at, decided_at]) expect(time).toMatch(micros);
  });

  it('is of the agent that the body names, whatever the header says', async () => {
    expect(await ask({ agent_id: 'worker' })).toMatchObject({ agent_id: 'worker' });
    expect(await ask({})).toMatchObject({ agent_id: 'agent-1' });
    await expect(ask({}, { ...key, agentId: null })).rejects.toMatchObject({ code: 'validation_failed' });
    const bound = { ...key, agentPattern: 'agent-*' };
    await expect(ask({ agent_id: 'worker' }, bound)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('names the ruleset that the agent says, else the one that it follows', async () => {
    expect(await ask()).toMatchObject({ ruleset_name: null });
    expect(await ask({ ruleset_name: 'said', message: 'And now?' })).toMatchObject({ ruleset_name: 'said' });
    const fetched = { bundleName: 'followed', at: t.clock.now(), otherUntil: 0 };
    await t.hub.actors.ask('environment', environmentKey(user.tenantId, 'production'), 'join', {
      connectionId: 'c',
      node: 'n',
      agentId: 'agent-1',
      bundleName: null,
      pinned: false,
      connectedAt: t.clock.now(),
      keyId: key.keyId,
      transport: 'sse',
      api: 'hosted',
      policyVersion: null,
      fetched,
    });
    const asked = await ask({ message: 'Once more?' });
    expect(asked).toMatchObject({ ruleset_name: 'followed', rule_name: 'deploy' });
    expect(await read(asked.id)).toEqual(asked);
  });

  it("stands in the key's environment, the one that is named, or production", async () => {
    expect(await ask({ environment: 'staging' })).toMatchObject({ environment: 'staging' });
    const bound = t.hostedKey(user, 'development');
    expect(await ask({}, bound)).toMatchObject({ environment: 'development' });
    await expect(ask({ environment: 'staging' }, bound)).rejects.toMatchObject({ code: 'env_mismatch' });
  });

  it('is decided by an operator, whom the token names, whatever the body says', async () => {
    const { id } = await ask();
    const decided = await decide(id, {
      decision: 'rejected',
      reason: 'no',
      decided_by: 'eve',
      decided_via: 'phone',
    });
    expect(decided).toMatchObject({
      status: 'rejected',
      decided_by: 'ann@example.com',
      decided_via: 'phone',
      decision_reason: 'no',
      effective_action: 'block',
    });
    expect(await read(id)).toEqual(decided);
    // Safe to repeat, by the same person with the same decision alone.
    expect(await decide(id, { decision: 'rejected' })).toEqual(decided);
    const late = {
      detail: { reason: 'approval_already_decided', members: { approval: { id, status: 'rejected' } } },
    };
    await expect(decide(id, { decision: 'approved' })).rejects.toMatchObject(late);
    // Another person may be called the same.
    const namesake = { ...operator, subject: 'another ann' };
    await expect(decide(id, { decision: 'rejected' }, namesake)).rejects.toMatchObject(late);
    expect(decided.decided_by_subject).toBe(`${operator.issuer} ${operator.subject}`);
  });

  it('of which nobody decides times out, with what the agent then does', async () => {
    const block = await ask({ timeout: 10 });
    const allow = await ask({ timeout: 10, timeout_action: 'allow' });
    t.clock.advance(10_000);
    expect(await read(block.id)).toMatchObject({
      status: 'timed_out',
      effective_action: 'block',
      decided_by: null,
    });
    expect(await read(allow.id)).toMatchObject({
      status: 'timed_out',
      effective_action: 'allow',
      decided_at: allow.expires_at,
    });
    await expect(decide(block.id, { decision: 'approved' })).rejects.toMatchObject({
      code: 'conflict',
      detail: { reason: 'approval_timed_out' },
    });
  });

  it('is asked for once with one Idempotency-Key, for a day', async () => {
    const keyed = async (idempotencyKey: string, body: object = {}, as = key) =>
      t.call(
        'hostedCreateApproval',
        { body: { tool_name: 'deploy', message: 'May I?', timeout: 60, ...body } },
        as,
        { headers: { 'idempotency-key': idempotencyKey } },
      );
    const first = await keyed('k-1');
    expect([first.status, first.headers]).toEqual([201, {}]);
    await decide(first.body.id, { decision: 'approved' });
    const again = await keyed('k-1');
    expect([again.status, again.headers]).toEqual([201, { 'Idempotency-Replayed': 'true' }]);
    expect(again.body).toEqual(first.body);
    expect((await keyed('k-2')).body.id).not.toBe(first.body.id);
    const reused = { code: 'unprocessable', detail: { reason: 'idempotency_key_reused' } };
    await expect(keyed('k-1', { message: 'Really?' })).rejects.toMatchObject(reused);
    await expect(keyed('k-1', {}, { ...key, agentId: 'other' })).rejects.toMatchObject(reused);
    // Another credential's keys are its own.
    const other = await keyed('k-1', {}, { ...key, keyId: 'another' });
    expect(other.body.id).not.toBe(first.body.id);
    expect((await list()).total).toBe(3);
    t.clock.advance(24 * 3_600_000);
    expect((await keyed('k-1', { message: 'Really?' })).body.id).not.toBe(first.body.id);
  });

  it('stands in the audit chain with who asked and who decided', async () => {
    const [a, b, c] = [
      await ask(),
      await ask({ message: 'Again?' }),
      await ask({ message: 'Third', timeout: 5 }),
    ];
    await decide(a.id, { decision: 'approved' });
    await t.call('decideApproval', { params: { approval_id: b.id }, body: { approved: false } }, user);
    t.clock.advance(5_000);
    await read(c.id);
    const { entries } = (
      await t.call('hostedListAudit', { query: { subject_type: ['approval'] as never } }, operator)
    ).body;
    expect(entries.map(({ action_type }) => action_type)).toEqual([
      'approval.timed_out',
      'approval.rejected',
      'approval.approved',
      'approval.created',
      'approval.created',
      'approval.created',
    ]);
    expect(entries[5]).toMatchObject({
      actor: { type: 'agent', id: 'agent-1' },
      subject: { id: a.id },
      details: { key_id: key.keyId, env: 'production' },
    });
    expect(entries[2]?.actor).toMatchObject({ type: 'operator', display: 'ann@example.com' });
    expect(entries[0]?.actor).toMatchObject({ type: 'system' });
    expect(JSON.stringify(entries)).not.toContain('"a":1');
  });
});

describe('the list', () => {
  it('is asked by status in either vocabulary, agent and session', async () => {
    const a = await ask({ session_id: 's1' });
    const b = await ask({ session_id: 's2', agent_id: 'other' }, { ...key, agentId: null });
    await decide(a.id, { decision: 'rejected' });
    const ids = async (query: { [name: string]: string }) =>
      (await list(query)).approvals.map(({ id }) => id);
    expect((await list()).total).toBe(2);
    expect(await ids({ status: 'rejected' })).toEqual([a.id]);
    expect(await ids({ status: 'denied' })).toEqual([a.id]);
    expect(await ids({ status: 'pending' })).toEqual([b.id]);
    expect(await ids({ agent_id: 'other' })).toEqual([b.id]);
    expect(await ids({ session_id: 's1' })).toEqual([a.id]);
    expect(await list({ limit: '1' })).toMatchObject({ has_more: true, total: 2, limit: 1, offset: 0 });
    expect(await list({ limit: '1', offset: '1' })).toMatchObject({ has_more: false });
  });

  it('shows a key what is of its environment and agents', async () => {
    const { id } = await ask({ environment: 'staging' });
    expect((await list({}, t.hostedKey(user, 'production'))).approvals).toEqual([]);
    expect((await list({}, t.hostedKey(user, 'staging'))).approvals).toHaveLength(1);
    const bound = { ...key, agentId: null, agentPattern: 'team-*' };
    await expect(list({}, bound)).rejects.toMatchObject({ code: 'forbidden' });
    await expect(list({ agent_id: 'agent-1' }, bound)).rejects.toMatchObject({ code: 'forbidden' });
    expect((await list({ agent_id: 'team-a' }, bound)).approvals).toEqual([]);
    await expect(read(id, bound)).rejects.toMatchObject({ code: 'not_found' });
    await expect(read(id, t.hostedKey(user, 'production'))).rejects.toMatchObject({ code: 'not_found' });
    const other = t.operator(await t.tenant());
    await expect(read(id, other)).rejects.toMatchObject({ code: 'not_found' });
    await expect(decide(id, { decision: 'approved' }, other)).rejects.toMatchObject({ code: 'not_found' });
  });
});

it.each([
  [{ message: '' }],
  [{ message: 'a\u0007b' }],
  [{ message: 'x'.repeat(4097) }],
  [{ timeout: 0 }],
  [{ timeout: 86_401 }],
  [{ timeout_action: 'maybe' }],
  [{ tool_args: [] }],
  [{ environment: 'test' }],
  [{ agent_id: 'two words' }],
  [{ agent_id: 'a'.repeat(129) }],
  [{ tool_name: 'a/b' }],
  [{ session_id: '-s' }],
])('a request with %o is refused', async (body) => {
  await expect(ask(body)).rejects.toMatchObject({ code: 'validation_failed' });
});

it.each([
  [{ decision: 'yes' }],
  [{ decision: 'approved', decided_via: 'chat_bot' }],
  [{ decision: 'approved', decided_via: 'system' }],
  [{ decision: 'rejected', decided_via: 'withdrawn' }],
  [{ decision: 'approved', reason: 'x'.repeat(2001) }],
])('a decision with %o is refused', async (body) => {
  const { id } = await ask();
  await expect(decide(id, body)).rejects.toMatchObject({ code: 'validation_failed' });
});
