// Keys of the hosted API: of the whole workspace unless they are bound, shown once, listed on both APIs.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Caller } from '../../src/http/contract/call.ts';
import { renderMicros } from '../../src/shared/instant.ts';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
let operator: Extract<Caller, { kind: 'hostedOperator' }>;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant('ann@example.com');
  operator = t.operator(user);
});
afterEach(() => t.close());

const create = async (body: object = {}, as = operator) =>
  (await t.call('hostedCreateKey', { body: { name: 'fleet', ...body } }, as)).body;

it('are made for every environment, in a form that names none, and kept as a hash', async () => {
  const newKey = await create({ name: '  fleet ' });
  expect(newKey.key).toMatch(/^svk_[0-9A-Za-z]{43}$/);
  expect(newKey).toMatchObject({
    name: 'fleet',
    env: null,
    prefix: newKey.key.slice(0, 12),
    created_by: operator.display,
  });
  expect(await t.hub.store.keys.getByHash(t.hub.secrets.sha256(newKey.key))).toMatchObject({
    tenantId: user.tenantId,
    env: null,
  });
  expect((await create()).key).not.toBe(newKey.key);
});

it('may be bound to an environment, to agents and to a time', async () => {
  const expires_at = renderMicros(t.clock.now() + 60_000);
  const newKey = await create({ env: 'staging', agent_pattern: 'a-*', expires_at });
  expect(newKey.key).toMatch(/^svk_staging_/);
  expect(newKey).toMatchObject({ env: 'staging', agent_pattern: 'a-*', expires_at });
});

it('are listed here and on the console API, until either revokes them', async () => {
  const { id, key: _, ...shown } = await create();
  const bound = (await t.call('createKey', { body: { env: 'production' } }, user)).body;
  const { keys } = (await t.call('hostedListKeys', {}, operator)).body;
  expect(keys).toContainEqual({ id, ...shown, last_used_at: null });
  expect(keys.map((key) => key.id).sort()).toEqual([id, bound.id].sort());
  expect((await t.call('listKeys', {}, user)).body.find((key) => key.id === id)).toMatchObject({ env: null });
  await t.call('revokeKey', { params: { key_id: id } }, user);
  await t.call('hostedRevokeKey', { params: { key_id: bound.id } }, operator);
  expect((await t.call('hostedListKeys', {}, operator)).body.keys).toEqual([]);
  const ended = t.controls.filter(({ kind }) => kind === 'key_revoked');
  expect(ended).toHaveLength(2);
  await expect(t.call('hostedRevokeKey', { params: { key_id: id } }, operator)).rejects.toMatchObject({
    code: 'not_found',
  });
});

it('of another workspace are neither listed nor revoked', async () => {
  const { id } = await create();
  const other = t.operator(await t.tenant());
  expect((await t.call('hostedListKeys', {}, other)).body.keys).toEqual([]);
  await expect(t.call('hostedRevokeKey', { params: { key_id: id } }, other)).rejects.toMatchObject({
    code: 'not_found',
  });
});

it('number a hundred at most', async () => {
  for (let i = 0; i < 100; i++) await create();
  await expect(create()).rejects.toMatchObject({ code: 'quota_exceeded' });
});

it('that expired are not listed here, and leave their places', async () => {
  const { id } = await create();
  const expires_at = renderMicros(t.clock.now() + 60_000);
  for (let i = 1; i < 100; i++) await create({ expires_at });
  await expect(create()).rejects.toMatchObject({ code: 'quota_exceeded' });
  t.clock.advance(60_000);
  const { body } = await t.call('hostedListKeys', {}, operator);
  expect(body).toMatchObject({ keys: [{ id }], has_more: false });
  await create();
});

it.each([
  [{ name: '' }],
  [{ name: '   ' }],
  [{ name: 'x'.repeat(101) }],
  [{ name: 'a\nb' }],
  [{ name: 7 }],
  [{ env: 'test' }],
  [{ agent_pattern: '' }],
  [{ expires_at: '2001-01-01T00:00:00Z' }],
])('are refused with %o', async (body) => {
  await expect(create(body)).rejects.toMatchObject({ code: 'validation_failed' });
});

it('of one Idempotency-Key are made once, also when the first answer was lost with its node', async () => {
  const headers = { 'idempotency-key': 'k' };
  const make = (name = 'fleet') => t.call('hostedCreateKey', { body: { name } }, operator, { headers });
  const { idempotency } = t.hub.store;
  const lost = vi.spyOn(idempotency, 'answered').mockResolvedValueOnce();
  const { id } = (await make()).body;
  lost.mockRestore();
  await expect(make()).rejects.toMatchObject({ detail: { reason: 'idempotency_in_progress' } });
  t.clock.advance(10_000);
  await expect(make()).rejects.toMatchObject({ detail: { reason: 'idempotency_replay_refused' } });
  await expect(make('other')).rejects.toMatchObject({ detail: { reason: 'idempotency_key_reused' } });
  const { keys } = (await t.call('hostedListKeys', {}, operator)).body;
  expect(keys.map((key) => key.id)).toEqual([id]);
});
