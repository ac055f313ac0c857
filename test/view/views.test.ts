// Saved views: one's own, shared ones, and who may change which.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let ada: UserCaller;
let bo: UserCaller;
let tenants = 0;
beforeAll(async () => {
  t = await makeHub();
});
afterAll(() => t.close());
beforeEach(async () => {
  ada = await t.tenant(`v${++tenants}@example.com`);
  const userId = '00000000-0000-4000-8000-000000000001';
  bo = { ...ada, userId, email: 'bo@example.com', roles: [{ role: 'viewer', env: '*' }] };
});

const view = { page: 'explore', name: 'Denied', query: 'verdict:denied' };
const create = async (as: UserCaller, more = {}) =>
  (await t.call('createView', { body: { ...view, ...more } }, as)).body;
const list = async (as: UserCaller) => (await t.call('listViews', {}, as)).body;
const update = async (as: UserCaller, view_id: string, body: object) =>
  (await t.call('updateView', { params: { view_id }, body }, as)).body;
const remove = (as: UserCaller, view_id: string) => t.call('deleteView', { params: { view_id } }, as);
it('own ones are seen by their person alone, and changed and deleted by nobody else', async () => {
  const own = await create(ada);
  expect(own).toEqual({ ...view, id: own.id, shared: false, by: ada.email, own: true });
  expect(await list(ada)).toEqual([own]);
  expect(await list(bo)).toEqual([]);
  for (const change of [update(bo, own.id, { name: 'x' }), remove(bo, own.id)])
    await expect(change).rejects.toMatchObject({ code: 'not_found' });
  expect(await update(ada, own.id, { name: 'Refused' })).toMatchObject({ ...own, name: 'Refused' });
  await remove(ada, own.id);
  await expect(remove(ada, own.id)).rejects.toMatchObject({ code: 'not_found' });
});

it('sharing needs the role operator, and so does a change to the shared one of another person', async () => {
  await expect(create(bo, { shared: true })).rejects.toMatchObject({ code: 'forbidden' });
  const own = await create(bo);
  await expect(update(bo, own.id, { shared: true })).rejects.toMatchObject({ code: 'forbidden' });
  const shared = await create(ada, { shared: true, name: 'For all' });
  expect(await list(bo)).toEqual([own, { ...shared, own: false }]);
  await expect(update(bo, shared.id, { name: 'mine' })).rejects.toMatchObject({ code: 'forbidden' });
  await expect(remove(bo, shared.id)).rejects.toMatchObject({ code: 'forbidden' });
  const operator: UserCaller = { ...bo, roles: [{ role: 'operator', env: '*' }] };
  expect(await update(operator, shared.id, { query: 'verdict:asked' })).toMatchObject({ by: ada.email });
  await remove(operator, shared.id);
  expect(await list(await t.tenant(`other${tenants}@example.com`))).toEqual([]);
});

it('shared ones have entries in the audit chain, own ones none', async () => {
  const operator = t.operator(ada);
  const actions = async () =>
    (await t.call('hostedListAudit', { query: { scope: 'all' } }, operator)).body.entries
      .map(({ action_type }) => action_type)
      .filter((action) => action.startsWith('view.'));
  const own = await create(ada);
  await update(ada, own.id, { name: 'x' });
  await remove(ada, own.id);
  expect(await actions()).toEqual([]);
  const shared = await create(ada, { shared: true });
  await update(ada, shared.id, { shared: false });
  expect((await actions()).sort()).toEqual(['view.created', 'view.updated']);
});

it('a person has 100 at most; programs have none but read shared ones', async () => {
  for (let i = 0; i < 100; i++) await create(bo, { name: `v${i}` });
  await expect(create(bo)).rejects.toMatchObject({ code: 'quota_exceeded' });
  await create(ada, { shared: true });
  const program = { ...ada, userId: 'service', service: { tokenId: 't', expiresAt: 0 } };
  expect(await list(program)).toMatchObject([{ shared: true, own: false }]);
  await expect(create(program)).rejects.toMatchObject({ code: 'person_required' });
});

it.each([{ name: '' }, { name: 'x'.repeat(81) }, { query: 'x'.repeat(1_001) }, { page: 'No/page' }])(
  'refuses %j',
  async (more) => {
    await expect(create(ada, more)).rejects.toMatchObject({ code: 'validation_failed' });
  },
);
