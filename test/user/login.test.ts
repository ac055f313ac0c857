// Signing in and out.
import { afterEach, describe, expect, it } from 'vitest';
import type { SqliteStore } from '../../adapters/sqlite/sync.ts';
import type { Settings } from '../../src/http/contract/handler.ts';
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
  const elsewhere = await t.call('login', { body: { email, password } }, undefined, { network: '10.0.0.9' });
  expect(elsewhere.status).toBe(200);
});

it('neither takes nor counts what pages of other origins send, unless CORS_ORIGINS names them', async () => {
  await hubWithUser({ loginAttempts: 5 });
  const signIn = (headers: { [name: string]: string }, secret = password) =>
    t.call('login', { body: { email, password: secret } }, undefined, { headers }).then(
      ({ status }) => status,
      ({ code }) => code,
    );
  const evil = { origin: 'https://evil.example' };
  for (const site of ['cross-site', 'same-site', 'cross-site', 'same-site', 'cross-site', 'same-site'])
    expect(await signIn({ 'sec-fetch-site': site, ...evil }, 'wrong')).toBe('origin_refused');
  // The console, a program, an address that a person typed, and a page that CORS_ORIGINS names.
  const own = { 'sec-fetch-site': 'same-origin', origin: 'http://localhost:8000' };
  const allowed = { 'sec-fetch-site': 'same-site', origin: 'http://localhost:3000' };
  for (const headers of [own, {}, { 'sec-fetch-site': 'none' }, allowed])
    expect(await signIn(headers)).toBe(200);
  expect(await signIn(own, 'wrong')).toBe('unauthenticated');
  expect(await signIn(own)).toBe('rate_limited');
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
  expect(body).toEqual({
    user_id: user.userId,
    tenant_id: user.tenantId,
    email,
    is_admin: true,
    roles: [{ role: 'admin', env: '*' }],
  });
});

describe('guesses at the password of one e-mail, each from another address', () => {
  let addresses = 0;
  const network = () => `2001:db8:0:${(++addresses).toString(16)}::/64`;
  const attempt = (at: string, body: object = { email, password: 'wrong' }, headers = {}) =>
    t.call('login', { body }, undefined, { network: at, headers }).then(
      ({ status, cookies }) => ({ status, cookies, error: null }),
      ({ code, message, detail }) => ({ status: null, cookies: [], error: { code, message, detail } }),
    );
  const guess = async (who: string, times: number) => {
    const errors = [];
    for (let i = 0; i < times; i++) {
      errors.push((await attempt(network(), { email: who, password: 'wrong' })).error);
    }
    return errors;
  };
  const right = { email, password };

  it('are refused after 20 in 15 minutes, the right one as well, and an unknown e-mail answers the same', async () => {
    await hubWithUser();
    const known = await guess(email, 23);
    expect(known.map((error) => error?.code)).toEqual([
      ...Array(20).fill('unauthenticated'),
      ...Array(3).fill('rate_limited'),
    ]);
    expect(known.at(-1)).toEqual({
      code: 'rate_limited',
      message: 'Too many login attempts. Please try again later.',
      detail: { max: 20, retryAfter: 900 },
    });
    expect((await attempt(network(), right)).error?.code).toBe('rate_limited');
    expect(await guess('nobody@example.com', 23)).toEqual(known);
    t.clock.advance(15 * 60_000);
    expect((await attempt(network(), right)).status).toBe(200);
  });

  it('count each other when they come at the same moment', async () => {
    await hubWithUser();
    const answers = await Promise.all(Array.from({ length: 60 }, () => attempt(network())));
    expect(answers.filter(({ error }) => error?.code === 'unauthenticated')).toHaveLength(20);
  });

  it('do not lock out an address that signed in within 30 days', async () => {
    await hubWithUser();
    const [home, office] = [network(), network()];
    await attempt(home, right);
    t.clock.advance(10 * 24 * 3_600_000);
    await attempt(office, right);
    t.clock.advance(20 * 24 * 3_600_000 + 1);
    await guess(email, 20);
    expect((await attempt(office, right)).status).toBe(200);
    expect((await attempt(home, right)).error?.code).toBe('rate_limited');
    const other = await attempt(office, { email: 'nobody@example.com', password });
    expect(other.error?.code).toBe('unauthenticated');
  });

  it("do not lock out a browser that brings the account's device cookie, which may try 20 times as well", async () => {
    await hubWithUser({ baseUrl: 'https://hub.example.com/reeve' });
    await t.tenant('other@example.com');
    const cookieOf = async (body: object) => {
      const [, set = ''] = (await attempt(network(), body)).cookies;
      expect(set).toMatch(
        /^service_session_device=[\w-]+; Path=\/reeve\/api\/v1\/auth\/login; HttpOnly; SameSite=Lax; Max-Age=7776000; Secure$/,
      );
      return { cookie: `a=b; ${set.split(';')[0]}` };
    };
    const own = await cookieOf(right);
    const others = await cookieOf({ email: 'other@example.com', password });
    await guess(email, 20);
    expect((await attempt(network(), right, others)).error?.code).toBe('rate_limited');
    const forged = { cookie: `${own.cookie.slice(0, -3)}AAA` };
    expect((await attempt(network(), right, forged)).error?.code).toBe('rate_limited');
    expect((await attempt(network(), right, own)).status).toBe(200);
    const codes = [];
    for (let i = 0; i < 20; i++) codes.push((await attempt(network(), undefined, own)).error?.code);
    expect(codes).toEqual([...Array(19).fill('unauthenticated'), 'rate_limited']);
    t.clock.advance(90 * 24 * 3_600_000);
    await guess(email, 20);
    expect((await attempt(network(), right, own)).error?.code).toBe('rate_limited');
  });

  it('are forgiven where the password was right', async () => {
    await hubWithUser();
    for (let i = 0; i < 30; i++) expect((await attempt(network(), right)).status).toBe(200);
    expect((await guess(email, 20)).at(-1)?.code).toBe('unauthenticated');
  });
});

describe('a sign-in link', () => {
  const token = 'a-token-of-a-link';
  const own = { headers: { origin: 'http://localhost:8000', host: 'localhost:8000' } };
  const link = (change: Partial<{ email: string | null; expiresAt: number }> = {}): void =>
    void t.loginLinks.set(t.hub.secrets.sha256(token), {
      email: null,
      expiresAt: t.clock.now() + 1000,
      ...change,
    });
  const go = (request: object = own) => t.call('loginByLink', { body: { token } }, undefined, request);

  it('signs the first admin in, once', async () => {
    const user = await hubWithUser();
    link();
    const { cookies } = await go();
    const session = /^service_session=([\w-]{43});/.exec(cookies[0] ?? '')?.[1] ?? '';
    const login = await t.hub.store.logins.get(t.hub.secrets.sha256(session), t.clock.now());
    expect(login).toMatchObject({ userId: user.userId });
    await expect(go()).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  it('does nothing when it is late, names nobody, or is not the page of the hub', async () => {
    await hubWithUser();
    link({ expiresAt: t.clock.now() });
    await expect(go()).rejects.toMatchObject({ code: 'unauthenticated' });
    link({ email: 'nobody@example.com' });
    await expect(go()).rejects.toMatchObject({ code: 'unauthenticated' });
    link();
    const others = [{}, { headers: { origin: 'https://evil.example', host: 'localhost:8000' } }];
    for (const request of others) await expect(go(request)).rejects.toMatchObject({ code: 'origin_refused' });
    expect(t.loginLinks.size).toBe(1);
  });

  it('sealed for a person works once: in another spelling, and after a restart, no more', async () => {
    await hubWithUser();
    const { url } = await t.hub.app.logins.createLink(email);
    const sealed = url.split('#login=')[1] ?? '';
    const use = (token: string, hub = t) => hub.call('loginByLink', { body: { token } }, undefined, own);
    expect((await use(sealed)).status).toBe(200);
    const store = t.hub.store as SqliteStore;
    const restarted = await makeHub({}, undefined, undefined, { store, now: t.clock.now() });
    const { url: fresh } = await t.hub.app.logins.createLink(email);
    const freshToken = fresh.split('#login=')[1] ?? '';
    for (const token of [sealed, `${sealed}=`, sealed.replaceAll('-', '+').replaceAll('_', '/')])
      for (const hub of [t, restarted])
        await expect(use(token, hub)).rejects.toMatchObject({ code: 'unauthenticated' });
    expect((await use(freshToken, restarted)).status).toBe(200);
  });
});
