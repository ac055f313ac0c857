// Repeats of approval requests over the limit of approvals: the first approval answers them, and nothing is created.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { agentStreamsOf } from '../../src/hub/agent-streams.ts';
import { streamHandlers } from '../../src/hub/api/stream-handlers.ts';
import { type HostedKeyCaller, type KeyCaller, makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
let key: KeyCaller;
let hostedKey: HostedKeyCaller;
beforeEach(async () => {
  t = await makeHub({ approvalsPerMinute: 2 });
  user = await t.tenant();
  key = t.key(user);
  hostedKey = t.hostedKey(user);
});
afterEach(() => t.close());

type Request = (message: string, idempotencyKey?: string) => Promise<{ id: string; status: string }>;
const bodyOf = (message: string) => ({ tool_name: 'deploy', message, tool_args: { a: [1] }, timeout: 60 });
const optionsOf = (idempotencyKey?: string) =>
  idempotencyKey === undefined ? {} : { headers: { 'idempotency-key': idempotencyKey } };
const requests: { readonly [api: string]: Request } = {
  console: async (message, idempotencyKey) =>
    (await t.call('createApproval', { body: bodyOf(message) }, key, optionsOf(idempotencyKey))).body,
  hosted: async (message, idempotencyKey) =>
    (await t.call('hostedCreateApproval', { body: bodyOf(message) }, hostedKey, optionsOf(idempotencyKey)))
      .body,
  WebSocket: async (message) => {
    const streams = streamHandlers(t.hub, agentStreamsOf(t.hub, 'node-1'));
    return (await streams.message(key, { type: 'approval', body: bodyOf(message) })) as never;
  },
};
const limited = { code: 'rate_limited', detail: { retryAfter: 60 } };
const pendingCount = () => t.hub.store.approvals.countPending(user.tenantId, null, t.clock.now());

it.each(Object.entries(requests))('over %s get the first approval once', async (_, request) => {
  await request('First');
  const last = await request('Last');
  expect(await request('Last')).toMatchObject({ ...last, status: 'pending' });
  await expect(request('Last')).rejects.toMatchObject(limited);
  expect((await request('First')).status).toBe('pending');
  await expect(request('Other')).rejects.toMatchObject(limited);
  expect(await pendingCount()).toBe(2);
});

it.each(Object.entries(requests))('over %s are none after 10 s', async (_, request) => {
  await request('First');
  await request('Last');
  t.clock.advance(10_000);
  await expect(request('Last')).rejects.toMatchObject({ code: 'rate_limited' });
});

it('are none once the agent has read the first approval, or a person has decided it', async () => {
  const { console: request } = requests as { console: Request };
  const [read, decided] = [await request('Read'), await request('Decided')];
  await t.call('getApproval', { params: { approval_id: read.id } }, key);
  const decision = { params: { approval_id: decided.id }, body: { approved: true } };
  await t.call('decideApproval', decision, user);
  for (const message of ['Read', 'Decided']) await expect(request(message)).rejects.toMatchObject(limited);
});

it('are recognized by their Idempotency-Key as often as they come, and in every state', async () => {
  const { console: request } = requests as { console: Request };
  await request('First', 'one');
  const last = await request('Last', 'two');
  for (let i = 0; i < 3; i++) expect(await request('Last', 'two')).toEqual(last);
  for (const [message, idempotencyKey] of [['Last', 'three'], ['Other', 'two'], ['Last']] as const)
    await expect(request(message, idempotencyKey)).rejects.toMatchObject(limited);
  const decision = { params: { approval_id: last.id }, body: { approved: true } };
  await t.call('decideApproval', decision, user);
  expect(await request('Last', 'two')).toMatchObject({ id: last.id, status: 'approved' });
  t.clock.advance(59_999);
  const { id } = await request('First', 'one');
  t.clock.advance(1);
  expect(await request('First', 'one')).toMatchObject({ id, status: 'timeout' });
});

it('of other agents and keys are none', async () => {
  await requests.console?.('First');
  await requests.console?.('Last');
  const bySameAgent = { ...key, keyId: 'other' };
  const call = t.call('createApproval', { body: bodyOf('Last') }, bySameAgent);
  await expect(call).rejects.toMatchObject(limited);
  const byOther = (await t.call('createApproval', { body: bodyOf('Last') }, { ...key, agentId: 'b' })).body;
  expect(byOther).toMatchObject({ agent_id: 'b', status: 'pending' });
});
