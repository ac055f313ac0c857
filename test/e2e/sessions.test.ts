// Sessions and invitations against the real process: what is shown, what ends, and how soon streams and tokens follow.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SharedHub } from './shared-hub.ts';
import { SseClient } from './sse.ts';

const hub = new SharedHub();
const password = 'correct horse battery';
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
let admin: string;

beforeAll(async () => {
  await hub.start();
  admin = await hub.admin();
});
afterAll(() => hub.remove());

const cookieOf = (answer: { headers: Headers }): string =>
  (answer.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';

async function signIn(email: string, userAgent = firefox): Promise<string> {
  const headers = { 'User-Agent': userAgent };
  return cookieOf(await hub.call('POST', '/api/v1/auth/login', { body: { email, password }, headers }));
}

async function person(email: string): Promise<string> {
  const added = await hub.call('POST', '/api/v1/users', { cookie: admin, body: { email, password } });
  expect(added.status).toBe(201);
  return added.body.user_id;
}

const sessionsOf = async (cookie: string) =>
  (await hub.call('GET', '/api/v1/auth/sessions', { cookie })).body as {
    id: string;
    network: string;
    browser: string | null;
    method: string;
    current: boolean;
    created_at: string;
    last_seen_at: string;
  }[];
const isSignedIn = async (cookie: string) =>
  (await hub.call('GET', '/api/v1/auth/me', { cookie })).status === 200;

describe('sessions', () => {
  it('tell where somebody is signed in, and never by which token or address', async () => {
    await person(hub.emailOf('ann'));
    const first = await signIn(hub.emailOf('ann'));
    const second = await signIn(hub.emailOf('ann'), 'curl/8.5.0');
    const list = await sessionsOf(second);
    expect(
      list.map(({ browser, method, network, current }) => ({ browser, method, network, current })),
    ).toEqual([
      { browser: 'curl', method: 'password', network: '127.0.0.0/24', current: true },
      { browser: 'Firefox on Linux', method: 'password', network: '127.0.0.0/24', current: false },
    ]);
    const text = JSON.stringify(list);
    for (const cookie of [first, second]) expect(text).not.toContain(cookie.split('=')[1]);
    expect(text).not.toContain('127.0.0.1');
  });

  it('end one by one: their streams and tokens end, and the others go on', async () => {
    await person(hub.emailOf('bob'));
    const [ending, staying] = [await signIn(hub.emailOf('bob')), await signIn(hub.emailOf('bob'))];
    const { token } = (await hub.call('POST', '/api/v1/auth/operator-token', { cookie: ending })).body;
    const asOperator = () => hub.call('GET', '/v1/events', { headers: { Authorization: `Bearer ${token}` } });
    expect((await asOperator()).status).toBe(200);
    const stream = await SseClient.open(`${hub.url}/api/v1/stream/dashboard`, { Cookie: ending });
    const kept = await SseClient.open(`${hub.url}/api/v1/stream/dashboard`, { Cookie: staying });
    const other = (await sessionsOf(staying)).find(({ current }) => !current);
    const path = `/api/v1/auth/sessions/${other?.id}`;
    expect((await hub.call('DELETE', path, { cookie: admin })).status).toBe(404);
    expect((await hub.call('DELETE', path, { cookie: staying })).status).toBe(204);
    await stream.end(1_000);
    expect(await isSignedIn(ending)).toBe(false);
    expect((await asOperator()).status).toBe(401);
    expect([await isSignedIn(staying), kept.ended]).toEqual([true, false]);
    expect((await hub.call('DELETE', path, { cookie: staying })).status).toBe(404);
    kept.close();
  });

  it('end all but the one that asks', async () => {
    await person(hub.emailOf('cal'));
    const cookies = [await signIn(hub.emailOf('cal')), await signIn(hub.emailOf('cal'))];
    const own = await signIn(hub.emailOf('cal'));
    expect((await hub.call('DELETE', '/api/v1/auth/sessions', { cookie: own })).status).toBe(204);
    expect(await Promise.all([...cookies, own].map(isSignedIn))).toEqual([false, false, true]);
    expect(await sessionsOf(own)).toHaveLength(1);
  });

  it('are seen and ended by admins, and by nobody else', async () => {
    const id = await person(hub.emailOf('dan'));
    const cookie = await signIn(hub.emailOf('dan'));
    const path = `/api/v1/users/${id}/sessions`;
    expect((await hub.call('GET', path, { cookie })).status).toBe(403);
    expect((await hub.call('GET', path, { cookie: admin })).body).toMatchObject([{ current: false }]);
    expect((await hub.call('DELETE', path, { cookie: admin })).status).toBe(204);
    expect(await isSignedIn(cookie)).toBe(false);
    expect(await isSignedIn(admin)).toBe(true);
    const absent = '/api/v1/users/00000000-0000-4000-8000-000000000000/sessions';
    expect((await hub.call('GET', absent, { cookie: admin })).status).toBe(404);
  });
});

describe('an invitation', () => {
  const invited = async (email: string) => {
    const answer = await hub.call('POST', '/api/v1/users', {
      cookie: admin,
      body: { email, roles: [{ role: 'viewer', env: 'staging' }] },
    });
    expect(answer.status).toBe(201);
    const url = new URL(answer.body.invite_url);
    expect([url.pathname, url.hash.slice(0, 8)]).toEqual(['/dashboard/', '#invite=']);
    return { id: answer.body.user_id as string, token: url.hash.slice('#invite='.length) };
  };
  const accept = (token: string, chosen = 'a password of my own') =>
    hub.call('POST', '/api/v1/auth/invite', { body: { token, password: chosen } });

  it('sets a password once, and signs in', async () => {
    const { token } = await invited(hub.emailOf('eve'));
    const users = (await hub.call('GET', '/api/v1/users', { cookie: admin })).body as {
      email: string;
      invite_expires_at: string | null;
    }[];
    const expires = users.find(({ email }) => email === hub.emailOf('eve'))?.invite_expires_at ?? '';
    expect(Date.parse(expires) - Date.now()).toBeGreaterThan(6.9 * 24 * 3_600_000);
    expect(JSON.stringify(users)).not.toContain(token);
    expect(
      (await hub.call('POST', '/api/v1/auth/login', { body: { email: hub.emailOf('eve'), password: '' } }))
        .status,
    ).toBe(422);
    expect((await accept(token, 'short')).status).toBe(422);
    const accepted = await accept(token);
    expect(accepted.status).toBe(200);
    const me = await hub.call('GET', '/api/v1/auth/me', { cookie: cookieOf(accepted) });
    expect(me.body).toMatchObject({ email: hub.emailOf('eve'), roles: [{ role: 'viewer', env: 'staging' }] });
    expect((await sessionsOf(cookieOf(accepted)))[0]).toMatchObject({ method: 'invite' });
    const again = await accept(token, 'another password here');
    expect(again).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
    const login = { email: hub.emailOf('eve'), password: 'a password of my own' };
    expect((await hub.call('POST', '/api/v1/auth/login', { body: login })).status).toBe(200);
  });

  it('that is wrong, used or replaced has one answer', async () => {
    const { id, token } = await invited(hub.emailOf('fay'));
    const wrong = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`;
    const unusable = (await accept(wrong)).body;
    expect(unusable.code).toBe('unauthenticated');
    expect((await accept('nonsense')).body).toEqual(unusable);
    const renewed = await hub.call('POST', `/api/v1/users/${id}/invite`, { cookie: admin });
    expect(renewed.status).toBe(201);
    expect((await accept(token)).body).toEqual(unusable);
    const next = new URL(renewed.body.invite_url).hash.slice('#invite='.length);
    const answers = await Promise.all([
      accept(next, 'the first password'),
      accept(next, 'the second password'),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401]);
  });

  it('for a forgotten password ends the logins and the old password', async () => {
    const id = await person(hub.emailOf('gil'));
    const cookie = await signIn(hub.emailOf('gil'));
    expect((await hub.call('POST', `/api/v1/users/${id}/invite`, { cookie })).status).toBe(403);
    const renewed = await hub.call('POST', `/api/v1/users/${id}/invite`, { cookie: admin });
    expect(await isSignedIn(cookie)).toBe(false);
    const login = { email: hub.emailOf('gil'), password };
    expect((await hub.call('POST', '/api/v1/auth/login', { body: login })).status).toBe(401);
    const token = new URL(renewed.body.invite_url).hash.slice('#invite='.length);
    expect((await accept(token)).status).toBe(200);
  });
});
