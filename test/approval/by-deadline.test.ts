// The list of pending approvals by deadline: its order, its pages, with filters and with a query.
import { afterEach, beforeEach, expect, it } from 'vitest';
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

const ask = async (timeout: number, by = key, tool_args: object = {}) => {
  const body = { tool_name: 'refund', message: 'ok?', timeout, tool_args };
  return (await t.call('createApproval', { body }, by)).body.id;
};
const page = async (query: object, as = user) => {
  const { body, headers } = await t.call('listApprovals', { query: { sort: 'expires_at', ...query } }, as);
  return { ids: body.map(({ id }) => id), cursor: headers['X-Next-Cursor'] };
};

it('begins with the call that expires next, and leaves out what ended', async () => {
  const [late, first, decided] = [await ask(900), await ask(60), await ask(80)];
  await ask(1);
  const staging = await ask(300, t.key(user, 'staging'));
  await t.clock.advance(1_000);
  const params = { approval_id: decided };
  await t.call('decideApproval', { params, body: { approved: true } }, user);
  expect(await page({})).toEqual({ ids: [first, staging, late], cursor: undefined });
  expect((await page({ status: 'pending', env: 'production' })).ids).toEqual([first, late]);
  expect((await page({ limit: 1, offset: 1 })).ids).toEqual([staging]);
  const stranger: UserCaller = { ...user, roles: [{ role: 'viewer', env: 'staging' }] };
  expect((await page({}, stranger)).ids).toEqual([staging]);
});

it('goes on behind the last call, though a newer one expires before it', async () => {
  const ids = [];
  for (let i = 0; i < 7; i++)
    ids.push(await ask(600 - i * 10, key, { amount: i, large: 'x'.repeat(i * 900) }));
  const byDeadline = ids.reverse();
  for (const query of [{}, { q: 'args.amount:>=0' }]) {
    const first = await page({ ...query, limit: 3 });
    expect(first.ids).toEqual(byDeadline.slice(0, 3));
    const early = await ask(20);
    const params = { approval_id: early };
    const second = await page({ ...query, limit: 3, cursor: first.cursor });
    expect(second.ids).toEqual(byDeadline.slice(3, 6));
    expect(await page({ ...query, limit: 3, cursor: second.cursor })).toEqual({
      ids: byDeadline.slice(6),
      cursor: undefined,
    });
    await t.call('decideApproval', { params, body: { approved: false } }, user);
  }
  expect((await page({ q: 'args.amount:>4' })).ids).toEqual(byDeadline.slice(0, 2));
  expect((await page({ q: 'is:mine' })).ids).toEqual([]);
});

it('refuses another status, and the cursor of another order', async () => {
  for (const timeout of [60, 70]) await ask(timeout);
  await expect(page({ status: 'approved' })).rejects.toMatchObject({ code: 'validation_failed' });
  const byDeadline = (await page({ limit: 1 })).cursor;
  const newest = (await page({ limit: 1, sort: 'created_at' })).cursor;
  expect([byDeadline, newest]).not.toContain(undefined);
  await expect(page({ cursor: newest })).rejects.toMatchObject({ code: 'bad_request' });
  await expect(page({ sort: 'created_at', cursor: byDeadline })).rejects.toMatchObject({
    code: 'bad_request',
  });
  await expect(page({ sort: 'amount' })).rejects.toMatchObject({ code: 'validation_failed' });
});
