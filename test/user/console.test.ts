// People: added, made admins, removed, and their passwords.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { adminRoles, memberRoles } from '../../src/shared/env-roles.ts';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let admin: UserCaller;
beforeEach(async () => {
  t = await makeHub();
  admin = await t.tenant('ann@example.com');
});
afterEach(() => t.close());

const password = 'correct horse battery';
const better = 'another horse battery';

const add = async (body: object = {}, as = admin) =>
  (await t.call('addUser', { body: { email: 'bob@example.com', password, ...body } }, as)).body;
const list = async (as = admin) => (await t.call('listUsers', {}, as)).body;
const update = (user_id: string, is_admin: boolean, as = admin) =>
  t.call('updateUser', { params: { user_id }, body: { is_admin } }, as);
const remove = (user_id: string, as = admin) => t.call('removeUser', { params: { user_id } }, as);
const login = (email: string, secret = password) =>
  t.call('login', { body: { email, password: secret } }, undefined, { network: '203.0.113.1' });
const memberOf = (user_id: string): UserCaller => ({ ...admin, userId: user_id, roles: memberRoles });
const tokenHashIn = (cookie = '') => t.hub.secrets.sha256(/=([^;]+)/.exec(cookie)?.[1] ?? '');

it('are added, sign in, and are listed by e-mail without their password', async () => {
  const newUser = await add({ email: 'Bob@Example.com' });
  expect(newUser).toMatchObject({ email: 'bob@example.com', is_admin: false });
  await add({ email: 'aaron@example.com', is_admin: true });
  const listed = await list();
  expect(listed.map(({ email, is_admin }) => [email, is_admin])).toEqual([
    ['aaron@example.com', true],
    ['ann@example.com', true],
    ['bob@example.com', false],
  ]);
  expect(JSON.stringify(listed)).not.toMatch(/scrypt|password/);
  expect((await login('bob@example.com')).status).toBe(200);
  expect(await list(await t.tenant())).toHaveLength(1);
});

it('have an e-mail that nobody else has', async () => {
  await add();
  await expect(add()).rejects.toMatchObject({ code: 'conflict' });
  await expect(add({}, await t.tenant())).rejects.toMatchObject({ code: 'conflict' });
});

it('are the business of admins', async () => {
  const { user_id } = await add();
  const member = memberOf(user_id);
  const refused = { code: 'forbidden' };
  await expect(list(member)).rejects.toMatchObject(refused);
  await expect(add({ email: 'c@example.com' }, member)).rejects.toMatchObject(refused);
  await expect(update(user_id, true, member)).rejects.toMatchObject(refused);
  await expect(remove(admin.userId, member)).rejects.toMatchObject(refused);
});

it('become admins; one who is no admin any more is an operator, and signed in as before', async () => {
  const { user_id } = await add();
  expect((await update(user_id, true)).body).toMatchObject({ user_id, is_admin: true });
  const changed = { kind: 'user_roles_changed', userId: user_id };
  expect(t.controls).toEqual([changed]);
  expect((await update(user_id, false)).body).toMatchObject({
    is_admin: false,
    roles: [{ role: 'operator', env: '*' }],
  });
  expect(t.controls).toEqual([changed, changed]);
});

it('are removed and signed out; their login and password are worth nothing', async () => {
  const { user_id } = await add();
  const [cookie] = (await login('bob@example.com')).cookies;
  expect(await remove(user_id)).toMatchObject({ status: 204, body: null });
  expect(t.controls).toEqual([{ kind: 'user_logins_ended', userId: user_id }]);
  expect(await t.hub.store.logins.get(tokenHashIn(cookie), t.clock.now())).toBeNull();
  await expect(login('bob@example.com')).rejects.toMatchObject({ code: 'unauthenticated' });
  await expect(remove(user_id)).rejects.toMatchObject({ code: 'not_found' });
});

it('always keep one admin', async () => {
  const last = { code: 'conflict', message: expect.stringContaining('last admin') };
  await expect(update(admin.userId, false)).rejects.toMatchObject(last);
  await expect(remove(admin.userId)).rejects.toMatchObject(last);
  expect(t.controls).toEqual([]);
  const { user_id } = await add({ is_admin: true });
  await remove(admin.userId, { ...memberOf(user_id), roles: adminRoles });
});

it("of another tenant are not there, whoever's id is used", async () => {
  const { user_id } = await add({ is_admin: true });
  const stranger = await t.tenant();
  await expect(update(user_id, false, stranger)).rejects.toMatchObject({ code: 'not_found' });
  await expect(remove(user_id, stranger)).rejects.toMatchObject({ code: 'not_found' });
  expect(await list()).toHaveLength(2);
});

const change = (old_password: string, tokenHash: string, new_password = better) =>
  t.call('changePassword', { body: { old_password, new_password } }, { ...admin, tokenHash });

it('change their password, which ends their other logins and not the one that asks', async () => {
  const cookies = [];
  for (let i = 0; i < 2; i++) cookies.push((await login('ann@example.com')).cookies[0]);
  const [own = '', other = ''] = cookies.map(tokenHashIn);
  await change(password, own);
  const at = t.clock.now();
  expect(await t.hub.store.logins.get(own, at)).not.toBeNull();
  expect(await t.hub.store.logins.get(other, at)).toBeNull();
  expect(t.controls).toEqual([{ kind: 'user_logins_ended', userId: admin.userId, except: own }]);
  await expect(login('ann@example.com')).rejects.toMatchObject({ code: 'unauthenticated' });
  expect((await login('ann@example.com', better)).status).toBe(200);
});

it('need the old password, of which 20 wrong ones in 15 minutes are tried', async () => {
  for (let i = 0; i < 20; i++) {
    await expect(change('wrong', 'x')).rejects.toMatchObject({
      code: 'forbidden',
      message: 'The old password is wrong. Enter it again.',
    });
  }
  await expect(change(password, 'x')).rejects.toMatchObject({ code: 'rate_limited' });
  t.clock.advance(15 * 60_000);
  expect((await change(password, 'x')).status).toBe(200);
});

it('that change their password twice at once change it once', async () => {
  const answers = await Promise.allSettled([
    change(password, 'x'),
    change(password, 'x', 'a third horse battery'),
  ]);
  expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
});

it('who sign in with a password that is being changed get no login', async () => {
  const { checkPassword } = t.hub.secrets;
  const hub = t.hub as { secrets: { checkPassword: typeof checkPassword } };
  hub.secrets.checkPassword = async (given, hash) => {
    const right = await checkPassword(given, hash);
    hub.secrets.checkPassword = checkPassword;
    await change(password, 'x');
    return right;
  };
  await expect(login('ann@example.com')).rejects.toMatchObject({ code: 'unauthenticated' });
});

it('leave a record of who changed what, and none of what changed nothing', async () => {
  const { user_id } = await add();
  await update(user_id, false);
  await update(user_id, true);
  await expect(add()).rejects.toMatchObject({ code: 'conflict' });
  await change(password, 'x');
  await remove(user_id);
  await expect(remove(admin.userId)).rejects.toMatchObject({ code: 'conflict' });
  const filter = { from: null, to: null, actor: null, actions: null, subjects: ['user'] as const };
  const entries = await t.hub.store.audit.list(admin.tenantId, filter, null, 20);
  expect(entries.map(({ entry }) => entry.action_type)).toEqual([
    'user.removed',
    'user.given_a_new_password',
    'user.made_admin',
    'user.created',
    // The tenant's first admin.
    'user.created',
  ]);
  expect(JSON.stringify(entries)).not.toMatch(/scrypt|horse/);
});

it.each([
  [{ email: 'nobody' }],
  [{ email: `${'x'.repeat(250)}@example.com` }],
  [{ password: 'short' }],
  [{ password: 'x'.repeat(1025) }],
  [{ password: 'with a \u0000 in it' }],
  [{ is_admin: 'yes' }],
])('are refused with %o', async (body) => {
  await expect(add(body)).rejects.toMatchObject({ code: 'validation_failed' });
  expect(await list()).toHaveLength(1);
});
