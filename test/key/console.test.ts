// API keys: shown once, listed without their secret, revoked for good.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant('ann@example.com');
  t.newFrames();
});
afterEach(() => t.close());

const create = async (body: object = {}) =>
  (await t.call('createKey', { body: { env: 'staging', label: 'ci', ...body } }, user)).body;
const list = async (as = user) => (await t.call('listKeys', {}, as)).body;
const revoke = (key_id: string, as = user) => t.call('revokeKey', { params: { key_id } }, as);

it('are of their form, and are kept as a hash that no list shows', async () => {
  const newKey = await create();
  expect(newKey.key).toMatch(/^svk_staging_[\w-]{43}$/);
  expect(newKey).toMatchObject({
    prefix: newKey.key.slice(0, 'svk_staging_'.length + 8),
    env: 'staging',
    label: 'ci',
  });
  const [listed] = await list();
  const { key, ...shown } = newKey;
  expect(listed).toEqual({ ...shown, last_used_at: null, streams: 0 });
  expect(JSON.stringify(listed)).not.toContain(key.slice(-30));
  const stored = await t.hub.store.keys.getByHash(t.hub.secrets.sha256(key));
  expect(stored).toMatchObject({
    id: newKey.id,
    tenantId: user.tenantId,
    env: 'staging',
    createdBy: 'ann@example.com',
  });
  expect(JSON.stringify(stored)).not.toContain(key);
});

it('have ids whose case does not count', async () => {
  const { id } = await create();
  await expect(revoke('11111111-1111-1111-1111-111111111111')).rejects.toMatchObject({ code: 'not_found' });
  await revoke(id.toUpperCase());
  expect(await list()).toEqual([]);
});

it('are listed newest first, without the revoked ones, each tenant its own', async () => {
  const first = await create();
  t.clock.advance(1000);
  const second = await create({ label: undefined });
  expect((await list()).map(({ id, label }) => [id, label])).toEqual([
    [second.id, null],
    [first.id, 'ci'],
  ]);
  await revoke(first.id);
  expect((await list()).map(({ id }) => id)).toEqual([second.id]);
  expect(await list(await t.tenant())).toEqual([]);
});

it('fill the pages of a person of one environment with its keys', async () => {
  const own = [await create(), await create()].map(({ id }) => id).reverse();
  for (let n = 0; n < 3; n += 1) await create({ env: 'production' });
  const { keys } = t.hub.app;
  const envRoles = [{ role: 'viewer', env: 'staging' }];
  const person = { tenantId: user.tenantId, env: null, envRoles } as unknown as Parameters<
    typeof keys.list
  >[0];
  const page = async (offset: number) => {
    const { items, more } = await keys.list(person, { limit: 1, offset });
    return { ids: items.map(({ id }) => id), more };
  };
  expect(await page(0)).toEqual({ ids: own.slice(0, 1), more: true });
  expect(await page(1)).toEqual({ ids: own.slice(1), more: false });
});

it('are announced to dashboards, without the key', async () => {
  const { id, key } = await create();
  await revoke(id);
  const frames = t.newFrames();
  expect(frames.map(({ audience, data }) => [audience, data])).toEqual([
    [`dashboards:${user.tenantId}`, { type: 'api_key_created', key_id: id, env: 'staging', label: 'ci' }],
    [`dashboards:${user.tenantId}`, { type: 'api_key_revoked', key_id: id }],
  ]);
  expect(JSON.stringify(frames)).not.toContain(key);
});

it('revoked once, every node hears of it; a second time, or by another tenant, there is none', async () => {
  const { id, key } = await create();
  const absent = { code: 'not_found', message: 'API key not found or already revoked.' };
  await expect(revoke(id, await t.tenant())).rejects.toMatchObject(absent);
  expect(await revoke(id)).toMatchObject({ status: 204, body: null });
  expect(t.controls).toEqual([
    { kind: 'key_revoked', tenantId: user.tenantId, keyId: id, keyHash: t.hub.secrets.sha256(key) },
  ]);
  await expect(revoke(id)).rejects.toMatchObject(absent);
});

it('are bound to an agent, or to those that a pattern matches, and expire', async () => {
  const expires_at = new Date(t.clock.now() + 3_600_000).toISOString();
  const newKey = await create({ agent_pattern: 'team-a.*', expires_at });
  expect(newKey).toMatchObject({ agent_pattern: 'team-a.*', expires_at });
  expect(await create()).toMatchObject({ agent_pattern: null, expires_at: null });
  const listed = (await list()).find(({ id }) => id === newKey.id);
  expect(listed).toMatchObject({ agent_pattern: 'team-a.*', expires_at, last_used_at: null });
  expect(await t.hub.store.keys.getByHash(t.hub.secrets.sha256(newKey.key))).toMatchObject({
    agentPattern: 'team-a.*',
    expiresAt: t.clock.now() + 3_600_000,
  });
});

it.each([
  [{ env: 'test' }],
  [{ agent_pattern: '' }],
  [{ agent_pattern: 'a\nb' }],
  [{ agent_pattern: 'x'.repeat(256) }],
  [{ expires_at: '2001-01-01T00:00:00Z' }],
  [{ expires_at: 'tomorrow' }],
  [{ env: null }],
  [{ label: '<b>x</b>' }],
  [{ label: 'javascript:alert(1)' }],
  [{ label: 'x onload = y' }],
  [{ label: 'x'.repeat(256) }],
])('are refused with %o', async (body) => {
  await expect(create(body)).rejects.toMatchObject({ code: 'validation_failed' });
  expect(await list()).toEqual([]);
});

it.each(['team=contract=4', 'a < b', 'version = 2'])('may be labelled %o', async (label) => {
  expect((await create({ label })).label).toBe(label);
});
