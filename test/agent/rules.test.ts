// Assignment rules: their life, their bounds, and what they resolve to.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
});
afterEach(() => t.close());

const rule = { priority: 10, pattern: 'web-*', bundle_name: 'base', env: 'production' };
const create = async (more: object = {}) =>
  (await t.call('createRule', { body: { ...rule, ...more } }, user)).body;
const resolve = async (agent_id: string, query = {}) =>
  (await t.call('resolveRule', { params: { agent_id }, query }, user)).body;
const change = (rule_id: string, body: object) => t.call('updateRule', { params: { rule_id }, body }, user);

it('are created, listed by priority, changed and removed', async () => {
  const second = await create({ tag_match: { team: 'a' } });
  const first = await create({ priority: 5 });
  expect(second).toMatchObject({ ...rule, tag_match: { team: 'a' } });
  expect((await t.call('listRules', {}, user)).body).toEqual([first, second]);
  const changed = await change(second.id, { priority: 1, tag_match: null });
  expect(changed.body).toEqual({ ...second, priority: 1, tag_match: null, hash: changed.body.hash });
  expect(changed.body.hash).not.toBe(second.hash);
  const params = { rule_id: first.id };
  expect(await t.call('deleteRule', { params }, user)).toMatchObject({ status: 204, body: null });
  await expect(t.call('deleteRule', { params }, user)).rejects.toMatchObject({ code: 'not_found' });
  await expect(change(first.id, { priority: 2 })).rejects.toMatchObject({ code: 'not_found' });
});

it('are at most 200 in a tenant', async () => {
  for (let priority = 0; priority < 200; priority++) await create({ priority });
  await expect(create({ priority: 200 })).rejects.toMatchObject({
    code: 'unprocessable',
    message: expect.stringContaining('200 assignment rules'),
  });
  const other = await t.tenant();
  expect((await t.call('createRule', { body: rule }, other)).status).toBe(201);
  const list = (query: object) => t.call('listRules', { query: { ...query } }, user);
  const { body } = await list({ limit: '150' });
  expect(body.map(({ priority }) => priority)).toEqual(Array.from({ length: 150 }, (_, i) => i));
  const rest = await list({ limit: '150', offset: '150' });
  expect(rest.body.map(({ priority }) => priority).at(-1)).toBe(199);
  const params = { rule_id: body[0]?.id ?? '' };
  await t.call('deleteRule', { params }, user);
  expect((await create({ priority: 200 })).priority).toBe(200);
});

it('have tags that fit into a list', async () => {
  const tag_match = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`tag-${i}`, 'é'.repeat(100)]));
  await expect(create({ tag_match })).rejects.toMatchObject({ code: 'validation_failed' });
});

it('tell the dashboards of every change', async () => {
  t.newFrames();
  const { id } = await create();
  await change(id, { priority: 11 });
  await t.call('deleteRule', { params: { rule_id: id } }, user);
  const told = t.newFrames().filter(({ audience }) => audience === `dashboards:${user.tenantId}`);
  expect(told.map(({ data }) => data)).toEqual(
    ['created', 'updated', 'deleted'].map((action) => ({ type: 'assignment_changed', rule_id: id, action })),
  );
});

it('have a priority of their own, over all environments', async () => {
  await create();
  await expect(create({ env: 'staging' })).rejects.toMatchObject({ code: 'conflict' });
  const other = await create({ priority: 11 });
  await expect(change(other.id, { priority: 10 })).rejects.toMatchObject({ code: 'conflict' });
});

it.each(['a/b', 'a\\b', 'a\u0000b', 'ä', 'a\tb'])(
  'refuse the pattern %j with a sentence',
  async (pattern) => {
    await expect(create({ pattern })).rejects.toMatchObject({ code: 'bad_request' });
    const { id } = await create();
    await expect(change(id, { pattern })).rejects.toMatchObject({ code: 'bad_request' });
  },
);

it.each([
  { pattern: '' },
  { pattern: 'x'.repeat(201) },
  { priority: -1 },
  { env: 'test' },
  { bundle_name: '' },
])('refuse %j with a list of problems', async (more) => {
  await expect(create(more)).rejects.toMatchObject({ code: 'validation_failed' });
});

it('resolve by the lowest priority that matches, within the environment asked for', async () => {
  const wide = await create({ priority: 20, pattern: '*', env: 'staging', bundle_name: 'wide' });
  const narrow = await create();
  const by = (r: typeof wide) => ({
    bundle_name: r.bundle_name,
    source: 'rule',
    rule_id: r.id,
    rule_pattern: r.pattern,
  });
  const none = { bundle_name: null, source: 'none', rule_id: null, rule_pattern: null };
  expect(await resolve('web-1')).toEqual(by(narrow));
  expect(await resolve('web-1', { env: 'staging' })).toEqual(by(wide));
  expect(await resolve('db-1', { env: 'production' })).toEqual(none);
  expect(await resolve('web-1', { env: 'elsewhere' })).toEqual(none);
  await expect(resolve('web-1', { env: 'x'.repeat(65) })).rejects.toMatchObject({
    code: 'validation_failed',
  });
});

it('resolve to the explicit assignment first, and by the tags of the registration', async () => {
  const { tenantId } = user;
  await t.hub.store.agents.noteSeen(tenantId, 'web-1', 'production', t.clock.now(), t.hub.secrets.uuid());
  await create({ tag_match: { team: 'a' } });
  expect((await resolve('web-1')).source).toBe('none');
  await t.hub.store.agents.update(tenantId, 'web-1', { tags: { team: 'a', more: 'x' } });
  expect((await resolve('web-1')).source).toBe('rule');
  await t.hub.store.agents.update(tenantId, 'web-1', { bundleName: 'own' });
  expect(await resolve('web-1')).toEqual({
    bundle_name: 'own',
    source: 'explicit',
    rule_id: null,
    rule_pattern: null,
  });
});

it.each(['update', 'delete'] as const)(
  'are safe from the %s of a person without a role in the environment that they move to meanwhile',
  async (action) => {
    const { id } = await create({ env: 'staging' });
    const guest = { ...user, roles: [{ role: 'operator', env: 'staging' }] } as const;
    const ask = t.hub.actors.ask.bind(t.hub.actors);
    const order = vi.spyOn(t.hub.actors, 'ask').mockImplementationOnce(async (...message) => {
      await change(id, { env: 'production' });
      return ask(...message);
    });
    const params = { rule_id: id };
    const work =
      action === 'delete'
        ? t.call('deleteRule', { params }, guest)
        : t.call('updateRule', { params, body: { bundle_name: 'other' } }, guest);
    await expect(work).rejects.toMatchObject({ code: 'conflict' });
    order.mockRestore();
    expect((await t.call('listRules', {}, user)).body).toEqual([expect.objectContaining({ ...rule, id })]);
  },
);
