// Assignees of an approval, and searches of approvals by a query.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type KeyCaller, makeHub, type TestHub, type UserCaller } from '../harness.ts';

const minute = 60_000;
let t: TestHub;
let user: UserCaller;
let key: KeyCaller;
let tenants = 0;
beforeAll(async () => {
  t = await makeHub({ approvalsPerMinute: 1_000 });
});
afterAll(() => t.close());
beforeEach(async () => {
  user = await t.tenant(`a${++tenants}@example.com`);
  key = t.key(user);
  t.newFrames();
});

const body = { tool_name: 'refund', message: 'May I?', timeout: 3_600 };
const ask = async (more: object = {}, caller = key) =>
  (await t.call('createApproval', { body: { ...body, ...more } }, caller)).body;
const assign = async (id: string, user_id: string | null, as = user) =>
  (await t.call('assignApproval', { params: { approval_id: id }, body: { user_id } }, as)).body;
const get = async (id: string, as: UserCaller | KeyCaller = user) =>
  (await t.call('getApproval', { params: { approval_id: id } }, as)).body;

it('a person takes an approval and gives it back; dashboards that ask for it receive both, agents nothing', async () => {
  const { id } = await ask();
  expect((await get(id)).assignee).toBeNull();
  t.newFrames();
  const since = new Date(t.clock.now()).toISOString();
  const assignee = { id: user.userId, name: user.email, since };
  expect((await assign(id, user.userId)).assignee).toEqual(assignee);
  expect((await get(id)).assignee).toEqual(assignee);
  expect(await get(id, key)).not.toHaveProperty('assignee');
  expect((await t.call('listApprovals', {}, user)).body).toMatchObject([{ id, assignee }]);
  expect((await assign(id, null)).assignee).toBeNull();
  const frames = t.newFrames();
  expect(frames.map(({ audience, part, envs }) => [audience, part, envs])).toEqual(
    [1, 2].map(() => [`dashboards:${user.tenantId}`, 'assignments', ['production']]),
  );
  expect(frames.map(({ data }) => data)).toEqual([
    { type: 'approval_assigned', approval_id: id, assignee },
    { type: 'approval_assigned', approval_id: id, assignee: null },
  ]);
});

it('it ends after 30 minutes, with the decision, and when the person signs out', async () => {
  const { id } = await ask();
  await assign(id, user.userId);
  await t.clock.advance(29 * minute);
  expect((await get(id)).assignee).not.toBeNull();
  await t.clock.advance(minute);
  expect((await get(id)).assignee).toBeNull();
  const { id: second } = await ask({ call_id: 'second' });
  await assign(second, user.userId);
  await t.hub.store.approvals.release(user.tenantId, user.userId);
  expect((await get(second)).assignee).toBeNull();
  await assign(second, user.userId);
  const params = { approval_id: second };
  const { body: decided } = await t.call('decideApproval', { params, body: { approved: true } }, user);
  expect(decided).toMatchObject({ status: 'approved', assignee: null });
  await expect(assign(second, user.userId)).rejects.toMatchObject({ code: 'conflict' });
});

it('sign-out gives back what the person has taken', async () => {
  const email = `out${tenants}@example.com`;
  const person = await t.tenant(email);
  const { id } = await ask({}, t.key(person));
  await assign(id, person.userId, person);
  const signedIn = await t.call('login', { body: { email, password: 'correct horse battery' } });
  const cookie = signedIn.cookies[0]?.split(';')[0] ?? '';
  t.newFrames();
  await t.hub.app.logins.signOut(cookie.slice(cookie.indexOf('=') + 1));
  expect(t.newFrames().map(({ data }) => data)).toContainEqual({
    type: 'approval_assigned',
    approval_id: id,
    assignee: null,
  });
  expect((await get(id, person)).assignee).toBeNull();
});

it('the end of sessions gives back what the person has taken, unless the person stays signed in', async () => {
  const email = `gone${tenants}@example.com`;
  const body = { email, password: 'correct horse battery', is_admin: false };
  const { user_id } = (await t.call('addUser', { body }, user)).body;
  const person: UserCaller = { ...user, userId: user_id, email };
  const signIn = async (): Promise<UserCaller> => {
    const { cookies } = await t.call('login', { body });
    const token = cookies[0]?.split(';')[0]?.split('=')[1] ?? '';
    return { ...person, tokenHash: t.hub.secrets.sha256(token) };
  };
  const { id } = await ask({ call_id: 'of a person who goes' });
  const takenAfter = async (end: () => Promise<unknown>) => {
    await assign(id, user_id, person);
    await end();
    return (await get(id)).assignee !== null;
  };
  const endSession = async (as: UserCaller, isCurrent: boolean) => {
    const { body: sessions } = await t.call('listOwnSessions', {}, as);
    const login_id = sessions.find(({ current }) => current === isCurrent)?.id ?? '';
    return t.call('endOwnSession', { params: { login_id } }, as);
  };
  const first = await signIn();
  const second = await signIn();
  expect(await takenAfter(() => endSession(first, false))).toBe(true);
  expect(await takenAfter(() => endSession(first, true))).toBe(false);
  await signIn();
  expect(await takenAfter(() => endSession(second, false))).toBe(false);
  const params = { user_id };
  expect(await takenAfter(() => t.call('inviteUser', { params }, user))).toBe(false);
  expect(await takenAfter(() => t.call('removeUser', { params }, user))).toBe(false);
});

it('nobody is given to another person; programs and people without the role there take nothing', async () => {
  const { id } = await ask();
  const refused = (as: UserCaller, user_id = as.userId) => expect(assign(id, user_id, as)).rejects;
  await refused(user, '00000000-0000-4000-8000-000000000000').toMatchObject({ code: 'validation_failed' });
  await refused({ ...user, service: 'token' as never }).toMatchObject({ code: 'person_required' });
  await refused({ ...user, roles: [{ role: 'viewer', env: '*' }] }).toMatchObject({ code: 'forbidden' });
  await refused({ ...user, roles: [{ role: 'approver', env: 'staging' }] }).toMatchObject({
    code: 'not_found',
  });
  await refused(await t.tenant('elsewhere@example.com')).toMatchObject({ code: 'not_found' });
  // Others may decide all the same.
  await assign(id, user.userId);
  const other = { ...user, userId: '00000000-0000-4000-8000-000000000001', email: 'bo@example.com' };
  const params = { approval_id: id };
  const { body: decided } = await t.call('decideApproval', { params, body: { approved: false } }, other);
  expect(decided).toMatchObject({ status: 'denied', decided_by: 'bo@example.com' });
});

it('a query finds approvals by state, names, reasons and arguments, also by those that are kept apart', async () => {
  const long = 'x'.repeat(5_000);
  const refund = await ask({ tool_args: { amount: 900, order: { id: 'o-7' }, note: `${long} damaged` } });
  const small = await ask({ tool_args: { amount: 20 }, contract_name: 'ask-all', call_id: 'c2' });
  const mail = await ask({ tool_name: 'send_mail', message: 'to the customer' }, t.key(user, 'staging'));
  await assign(small.id, user.userId);
  await t.call(
    'decideApproval',
    { params: { approval_id: mail.id }, body: { approved: true, reason: 'fine' } },
    user,
  );
  const find = async (q: string) =>
    (await t.call('listApprovals', { query: { q } }, user)).body.map(({ id }) => id);
  expect(await find('is:pending')).toEqual(expect.arrayContaining([refund.id, small.id]));
  expect(await find('is:pending args.amount:>500')).toEqual([refund.id]);
  expect(await find('args.order.id:o-* DAMAGED')).toEqual([refund.id]);
  expect(await find('is:mine')).toEqual([small.id]);
  expect(await find('is:taken -contract:ask-all')).toEqual([]);
  expect(await find('tool:send_* env:staging is:decided')).toEqual([mail.id]);
  expect(await find('reason:fine by:a*')).toEqual([mail.id]);
  expect(await find('customer')).toEqual([mail.id]);
  const wrong = t.call('listApprovals', { query: { q: 'is:pending nonsense:1' } }, user);
  await expect(wrong).rejects.toMatchObject({
    code: 'validation_failed',
    detail: { fields: [{ field: ['q', 11] }] },
  });
});

it('pages of a query follow one another without gap or repeat', async () => {
  const ids: string[] = [];
  for (let i = 0; i < 7; i++)
    ids.unshift((await ask({ tool_name: i % 2 ? 'odd' : 'even', call_id: `${i}` })).id);
  const pages: string[][] = [];
  for (let cursor: string | undefined; pages.length < 10; ) {
    const query = { q: 'tool:even', limit: '2', ...(cursor ? { cursor } : {}) };
    const { body: page, headers } = await t.call('listApprovals', { query }, user);
    pages.push(page.map(({ id }) => id));
    cursor = headers['X-Next-Cursor'];
    if (!cursor) break;
  }
  expect(pages.flat()).toEqual(ids.filter((_, i) => i % 2 === 0));
  expect(Math.max(...pages.map(({ length }) => length))).toBe(2);
});
