// Signing in to the console through an identity provider: the real hub, a certified provider, and a browser's cookies.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../bench/suite/free-port.ts';
import { Browser, client, SignInProvider } from '../sign-in-provider.ts';
import { HubProcess } from './process.ts';
import { SseClient } from './sse.ts';

const provider = new SignInProvider();
const operatorToken = 'an-operator-token-of-the-installation';
let settings: { [name: string]: string };
let hub: HubProcess;
let admin: string;

beforeAll(async () => {
  await provider.start();
  settings = {
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: client.id,
    OIDC_CLIENT_SECRET: client.secret,
    OIDC_NAME: 'Acme',
    OIDC_ROLE_MAP: '{"ops": ["operator@staging", "viewer"], "boss": "admin"}',
    RATE_LIMIT_MAX_ATTEMPTS: '1000',
    LOG_LEVEL: 'error',
    OPERATOR_TOKEN: operatorToken,
  };
  hub = new HubProcess(settings);
  hub.port = await freePort();
  settings.BASE_URL = hub.url;
  await provider.serve(hub.url);
  await hub.start();
  admin = await hub.admin();
});
afterAll(async () => {
  provider.close();
  await hub.remove();
});

const person = (sub: string, over: object = {}) => {
  provider.accounts.set(sub, {
    sub,
    email: `${sub}@acme.example`,
    email_verified: true,
    org_role: 'ops',
    ...over,
  });
  provider.signsIn = sub;
};

/** Signs in; the page or address at which the browser ends, and its cookies for the hub. */
async function signIn(sub: string, path = '/auth/oidc', browser = new Browser()) {
  provider.signsIn = sub;
  const { url, answer } = await browser.follow(hub.url + path, (next) =>
    next.startsWith(`${hub.url}/dashboard/`),
  );
  return { url, answer, browser, cookie: browser.cookies(hub.url) };
}

const me = async (cookie: string) => (await hub.call('GET', '/api/v1/auth/me', { cookie })).body;

describe('through the provider', () => {
  it('a new person is made in the only tenant, with the roles of the claims, and returns to the page', async () => {
    person('ann');
    const { url, cookie } = await signIn('ann', '/auth/oidc?return_to=/dashboard/events');
    expect(url).toBe(`${hub.url}/dashboard/events`);
    const roles = [
      { role: 'operator', env: 'staging' },
      { role: 'viewer', env: '*' },
    ];
    expect(await me(cookie)).toMatchObject({ email: 'ann@acme.example', is_admin: false, roles });
    const { body: sessions } = await hub.call('GET', '/api/v1/auth/sessions', { cookie });
    expect(sessions).toMatchObject([{ method: 'oidc', current: true }]);
    expect((await hub.call('GET', '/api/v1/auth/methods')).body).toEqual({
      password: true,
      oidc: { name: 'Acme' },
    });
  });

  it('roles follow the claims at the next sign-in, also of open sessions, and are not edited here', async () => {
    person('bob');
    const first = await signIn('bob');
    const { user_id: id } = await me(first.cookie);
    person('bob', { org_role: 'boss' });
    await signIn('bob');
    expect(await me(first.cookie)).toMatchObject({ is_admin: true });
    const changed = await hub.call('PATCH', `/api/v1/users/${id}`, {
      cookie: admin,
      body: { is_admin: false },
    });
    expect(changed).toMatchObject({ status: 409, body: { code: 'managed_by_idp' } });
    person('bob', { org_role: 'nothing' });
    const refused = await signIn('bob');
    expect(refused.answer.status).toBe(403);
    expect(await refused.answer.text()).toContain('no role on this hub');
  });

  it('an e-mail that is taken links nobody; an invitation does, or the person who is signed in', async () => {
    const password = 'correct horse battery';
    const added = await hub.call('POST', '/api/v1/users', {
      cookie: admin,
      body: { email: 'cyd@acme.example', password, is_admin: false },
    });
    expect(added.status).toBe(201);
    person('cyd');
    const refused = await signIn('cyd');
    expect(refused.answer.status).toBe(409);
    expect(await refused.answer.text()).toContain('Link account');

    const own = await hub.login('cyd@acme.example', password);
    const browser = new Browser({ 'Sec-Fetch-Site': 'same-origin' });
    browser.set(hub.url, own);
    const linked = await signIn('cyd', '/auth/oidc?link=1', browser);
    expect(linked.url).toBe(`${hub.url}/dashboard/`);
    expect((await me((await signIn('cyd')).cookie)).user_id).toBe(added.body.user_id);

    const invited = await hub.call('POST', '/api/v1/users', {
      cookie: admin,
      body: { email: 'dan@acme.example', roles: [{ role: 'viewer', env: '*' }] },
    });
    person('dan', { email_verified: false });
    expect((await signIn('dan')).answer.status).toBe(403);
    person('dan');
    expect((await me((await signIn('dan')).cookie)).user_id).toBe(invited.body.user_id);
    const token = String(invited.body.invite_url).split('#invite=')[1];
    const late = await hub.call('POST', '/api/v1/auth/invite', { body: { token, password } });
    expect(late.status).toBe(401);
  });

  it('an account is linked only from a page of the hub, because any page can send a browser there', async () => {
    const statusWith = async (headers: { [name: string]: string }) => {
      const browser = new Browser(headers);
      browser.set(hub.url, admin);
      return (await browser.get(`${hub.url}/auth/oidc?link=1`)).status;
    };
    const settingsPage = `${hub.url}/dashboard/me/security`;
    expect(await statusWith({ 'Sec-Fetch-Site': 'same-origin' })).toBe(302);
    // Of browsers that name no site.
    expect(await statusWith({ Referer: settingsPage })).toBe(302);
    expect(await statusWith({ Origin: hub.url })).toBe(302);
    for (const site of ['cross-site', 'same-site', 'none'])
      expect(await statusWith({ 'Sec-Fetch-Site': site, Referer: settingsPage })).toBe(403);
    for (const page of ['https://evil.example/', `https://evil.example/?${settingsPage}`, 'no page'])
      expect(await statusWith({ Referer: page })).toBe(403);
    expect(await statusWith({ Origin: 'null', Referer: settingsPage })).toBe(403);
    expect(await statusWith({})).toBe(403);
  });

  it('needs the state that it gave: none, another one, or the same again is one 401 page', async () => {
    person('eve');
    const browser = new Browser();
    provider.signsIn = 'eve';
    const { url: back } = await browser.follow(`${hub.url}/auth/oidc`, (next) =>
      next.includes('/auth/oidc/callback'),
    );
    const refused = async (with_: Browser, url: string) => {
      const answer = await with_.get(url);
      expect(answer.headers.get('content-type')).toContain('text/html');
      return [answer.status, (await answer.text()).includes('could not be confirmed')];
    };
    expect(await refused(new Browser(), back)).toEqual([401, true]);
    const other = new Browser();
    await other.get(`${hub.url}/auth/oidc`);
    expect(await refused(other, back)).toEqual([401, true]);
    const copy = new Browser();
    copy.set(hub.url, browser.cookies(hub.url));
    expect((await browser.get(back)).status).toBe(302);
    expect(await refused(copy, back)).toEqual([401, true]);
    expect(await refused(browser, `${hub.url}/auth/oidc/callback?code=made-up&state=made-up`)).toEqual([
      401,
      true,
    ]);
    expect((await new Browser().get(`${hub.url}/auth/oidc?return_to=//evil.example/`)).status).toBe(422);
    expect((await new Browser().get(`${hub.url}/auth/oidc?return_to=/dashboard/../api`)).status).toBe(422);
  });

  it('goes on with a new key of the provider, and signed-in people while it is away', async () => {
    person('flo');
    const first = await signIn('flo');
    await provider.newKey();
    expect(await me((await signIn('flo')).cookie)).toMatchObject({ email: 'flo@acme.example' });
    provider.isAway = true;
    expect(await me(first.cookie)).toMatchObject({ email: 'flo@acme.example' });
    expect((await new Browser().get(`${hub.url}/auth/oidc`)).status).toBeGreaterThanOrEqual(302);
    provider.isAway = false;
  });

  it('ends the sessions that the provider ends, with their streams', async () => {
    person('gus');
    const { browser, cookie } = await signIn('gus');
    const stream = await SseClient.open(`${hub.url}/api/v1/stream/dashboard`, { Cookie: cookie });
    expect(stream.status).toBe(200);
    const page = await (await browser.get(`${provider.issuer}/session/end`)).text();
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
    await fetch(`${provider.issuer}/session/end/confirm`, {
      method: 'POST',
      redirect: 'manual',
      headers: { Cookie: browser.cookies(provider.issuer) },
      body: new URLSearchParams({ xsrf, logout: 'yes' }),
    });
    await stream.end(1_000);
    expect((await hub.call('GET', '/api/v1/auth/me', { cookie })).status).toBe(401);
    const body = 'logout_token=made.up.token';
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    expect((await hub.call('POST', '/auth/oidc/backchannel-logout', { body, headers })).status).toBe(401);
  });
});

describe('claims that name a workspace', () => {
  const link = async (workspaceId: string) => {
    const headers = { Authorization: `Bearer ${operatorToken}` };
    const { body } = await hub.call('GET', '/api/v1/operator/tenants', { headers });
    const [tenant] = body.tenants as { readonly id: string }[];
    return hub.call('PUT', `/api/v1/operator/tenants/${tenant?.id}/workspaces`, {
      headers,
      body: { issuer: provider.issuer, workspace_id: workspaceId },
    });
  };

  it('lead to the only tenant while no workspace is linked, and then to the linked one alone', async () => {
    person('hal', { org_id: 'acme' });
    const first = await signIn('hal');
    expect(await me(first.cookie)).toMatchObject({ is_admin: false });
    expect((await link('acme')).status).toBeLessThan(300);

    person('hal', { org_id: 'elsewhere', org_role: 'boss' });
    const refused = await signIn('hal');
    expect(refused.answer.status).toBe(403);
    expect(await refused.answer.text()).toContain('no workspace that this hub knows');
    expect(await me(first.cookie)).toMatchObject({ is_admin: false });

    person('ida', { org_id: 'elsewhere', org_role: 'boss' });
    expect((await signIn('ida')).answer.status).toBe(403);
    person('ida', { org_id: 'acme' });
    expect(await me((await signIn('ida')).cookie)).toMatchObject({ email: 'ida@acme.example' });
  });

  it('keep an invitation and the account apart while the claims give no role', async () => {
    const invited = await hub.call('POST', '/api/v1/users', {
      cookie: admin,
      body: { email: 'joy@acme.example', roles: [{ role: 'viewer', env: '*' }] },
    });
    person('joy', { org_role: 'nothing' });
    expect((await signIn('joy')).answer.status).toBe(403);
    const token = String(invited.body.invite_url).split('#invite=')[1];
    const body = { token, password: 'correct horse battery' };
    expect((await hub.call('POST', '/api/v1/auth/invite', { body })).status).toBeLessThan(300);
  });
});

describe('with AUTO_PROVISION', () => {
  it('a person who is here makes no tenant by signing in from another workspace', async () => {
    await hub.stop();
    settings.AUTO_PROVISION = 'true';
    await hub.start();
    person('hal', { org_id: 'third', org_role: 'boss' });
    expect((await signIn('hal')).answer.status).toBe(403);
    const headers = { Authorization: `Bearer ${operatorToken}` };
    expect((await hub.call('GET', '/api/v1/operator/tenants', { headers })).body.tenants).toHaveLength(1);
  });
});

describe('with PASSWORD_LOGIN=off', () => {
  it('passwords open nothing, and a link of the operator does', async () => {
    await hub.stop();
    settings.PASSWORD_LOGIN = 'off';
    await hub.start();
    const refused = { status: 403, body: { code: 'password_login_off' } };
    const body = { email: 'cyd@acme.example', password: 'correct horse battery' };
    expect(await hub.call('POST', '/api/v1/auth/login', { body })).toMatchObject(refused);
    const made = await hub.call('POST', '/api/v1/operator/login-links', {
      headers: { Authorization: `Bearer ${operatorToken}` },
      body: { email: 'cyd@acme.example' },
    });
    expect(made.status).toBe(201);
    const token = made.body.url.split('#login=')[1];
    const use = () =>
      hub.call('POST', '/api/v1/auth/link', { body: { token }, headers: { Origin: hub.url } });
    expect((await use()).status).toBe(200);
    expect((await use()).status).toBe(401);
  });
});
