// Signing in and out.
import { afterEach, expect, it } from 'vitest';
import type { Settings } from '../../src/handlers/hub.ts';
import { makeHub, type TestHub } from '../harness.ts';

let t: TestHub;
afterEach(() => t.close());

const email = 'a@example.com';
const password = 'correct horse battery';

async function hubWithUser(changed: Partial<Settings> = {}) {
  t = await makeHub(changed);
  return t.tenant(email);
}

it('sets a cookie whose token the store knows only as a hash', async () => {
  const user = await hubWithUser();
  const { cookies, body } = await t.call('login', { body: { email: 'A@Example.COM', password } });
  expect(body).toEqual({ message: 'Logged in.' });
  const [, token = ''] =
    /^service_session=([\w-]{43}); Path=\/; HttpOnly; SameSite=Lax; Max-Age=86400$/.exec(cookies[0] ?? '') ??
    [];
  expect(token).not.toBe('');
  const login = await t.hub.store.logins.get(t.hub.secrets.sha256(token), t.clock.now());
  expect(login).toMatchObject({ userId: user.userId, expiresAt: t.clock.now() + 86_400_000 });
});

it('marks the cookie Secure when the base URL is https', async () => {
  await hubWithUser({ baseUrl: 'https://hub.example.com' });
  const { cookies } = await t.call('login', { body: { email, password } });
  expect(cookies[0]).toMatch(/; Secure$/);
});

it('does not tell a wrong password from an unknown e-mail', async () => {
  await hubWithUser();
  const wrong = { code: 'unauthenticated', message: 'Invalid email or password.' };
  await expect(t.call('login', { body: { email, password: 'wrong' } })).rejects.toMatchObject(wrong);
  await expect(t.call('login', { body: { email: 'b@example.com', password } })).rejects.toMatchObject(wrong);
});

it('counts every attempt of an address, right ones too, and says when to come back', async () => {
  await hubWithUser({ loginAttempts: 2, loginWindowMs: 300_000 });
  await t.call('login', { body: { email, password } });
  await t.call('login', { body: { email, password } });
  await expect(t.call('login', { body: { email, password } })).rejects.toMatchObject({
    code: 'rate_limited',
    message: 'Too many login attempts. Please try again later.',
    detail: { retryAfter: 300 },
  });
  const elsewhere = await t.call('login', { body: { email, password } }, undefined, { address: '10.0.0.9' });
  expect(elsewhere.status).toBe(200);
});

it('signs out: the login is gone, every node hears of it, the cookie is cleared', async () => {
  await hubWithUser();
  const [cookie = ''] = (await t.call('login', { body: { email, password } })).cookies;
  const headers = { cookie: `other=1; ${cookie.split(';')[0]}` };
  const { status, cookies } = await t.call('logout', {}, undefined, { headers });
  expect(status).toBe(200);
  expect(cookies[0]).toMatch(/^service_session=; .*Max-Age=0/);
  const [ended] = t.controls;
  if (ended?.kind !== 'login_ended') throw new Error('the end of the login was not announced');
  expect(await t.hub.store.logins.get(ended.tokenHash, t.clock.now())).toBeNull();
});

it('answers a sign-out without a session, and announces nothing', async () => {
  await hubWithUser();
  const headers = { cookie: 'service_session=made-up' };
  expect((await t.call('logout', {}, undefined, { headers })).status).toBe(200);
  expect((await t.call('logout')).status).toBe(200);
  expect(t.controls).toEqual([]);
});

it('says who is signed in', async () => {
  const user = await hubWithUser();
  const { body } = await t.call('me', {}, user);
  expect(body).toEqual({ user_id: user.userId, tenant_id: user.tenantId, email, is_admin: true });
});
