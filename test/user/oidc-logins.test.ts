// Signing in and linking an account through an identity provider of which a test chooses the claims.
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { adminRoles, memberRoles } from '../../src/shared/env-roles.ts';
import type { Claims } from '../../src/shared/ports/jwt.ts';
import type { OidcSettings } from '../../src/user/rules/oidc.ts';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';

const issuer = 'https://issuer.example';
const password = 'correct horse battery';
const oidc: OidcSettings = {
  issuer,
  audiences: [],
  jwksUrl: null,
  workspaceClaims: ['org_id'],
  roleClaims: ['role'],
  roleMap: {},
  defaultRole: null,
  autoProvision: false,
  login: { clientId: 'console', clientSecret: 'a secret of the client', name: 'Acme' },
  rolesFrom: 'claims',
};

let t: TestHub;
let ann: UserCaller;
/** Of whoever comes back from the provider next. */
let claims: Claims;
/** As `claims`, for several who come back at the same moment, and the answer of the provider for which they wait. */
let claimsOfMany: Claims[] = [];
let answer: Promise<void> | null = null;
afterEach(() => t.close());

/** A hub with the admin ann, whose tenant's workspace is acme; the workspace elsewhere is another tenant's. */
async function hub(rolesFrom: OidcSettings['rolesFrom'], jwksUrl: string | null = null): Promise<void> {
  const signInProvider = {
    begin: async () => `${issuer}/authorize`,
    finish: async () => {
      await answer;
      return claimsOfMany.shift() ?? claims;
    },
  };
  t = await makeHub({ oidc: { ...oidc, rolesFrom, jwksUrl }, signInProvider, loginAttempts: 3 });
  ann = await t.tenant('ann@example.com');
  const { tenantId } = await t.tenant('other@example.com');
  const { workspaces } = t.hub.store;
  await workspaces.create({ issuer, workspaceId: 'acme' }, ann.tenantId);
  await workspaces.create({ issuer, workspaceId: 'elsewhere' }, tenantId);
}

/** @param sub of the account; its e-mail is that of a person with this name */
const account = (sub: string, org_id: string, role = 'operator'): Claims => ({
  sub,
  org_id,
  role,
  email: `${sub}@example.com`,
  email_verified: true,
});

/** The cookie of a person who signs in with the password, without counting as one of this network. */
async function cookieOf(name: string): Promise<string> {
  const body = { email: `${name}@example.com`, password };
  const { cookies } = await t.call('login', { body }, undefined, { network: '198.51.100.7' });
  return cookies[0]?.split(';')[0] ?? '';
}

/** Goes to the provider and comes back. @param login cookie of a person who links the account */
async function comeBack(login: string | null = null) {
  const own = login === null ? {} : { link: '1' };
  const headers = { cookie: login ?? '', 'sec-fetch-site': 'same-origin' };
  const { cookies } = await t.call('oidcSignIn', { query: own }, undefined, { headers });
  const cookie = `${cookies[0]?.split(';')[0]}; ${login}`;
  const back = await t.call('oidcCallback', { query: { code: 'c' } }, undefined, { headers: { cookie } });
  return { status: back.status, page: String(back.body), cookies: back.cookies };
}

const rolesOf = async (id: string) => (await t.hub.store.tenants.getUser(id))?.roles;
const accountOf = async (id: string) => (await t.hub.store.identities.getOfUser(id))?.subject ?? null;
const add = async (body: object) => (await t.call('addUser', { body }, ann)).body;
const notHere = 'You signed in to another workspace at the identity provider.';

describe('with OIDC_ROLES=here', () => {
  it('a linked account signs in from the workspace of its tenant, and from no other', async () => {
    await hub('here');
    claims = account('bob', 'acme');
    expect((await comeBack()).status).toBe(302);
    claims = account('bob', 'elsewhere');
    const refused = await comeBack();
    expect([refused.status, refused.page]).toEqual([403, expect.stringContaining(notHere)]);
    expect(refused.cookies).toEqual([expect.stringMatching(/^reeve_oidc=;/)]);
    claims = account('bob', 'nowhere');
    expect((await comeBack()).page).toContain('no workspace that this hub knows');
    claims = account('bob', 'acme');
    expect((await comeBack()).status).toBe(302);
  });

  it('an open invitation is refused to another workspace, and stays open', async () => {
    await hub('here');
    const { user_id: id } = await add({ email: 'cyd@example.com', is_admin: false });
    claims = account('cyd', 'elsewhere');
    const refused = await comeBack();
    expect([refused.status, refused.page]).toEqual([403, expect.stringContaining(notHere)]);
    expect(await accountOf(id)).toBeNull();
    claims = account('cyd', 'acme');
    expect((await comeBack()).status).toBe(302);
    expect([await accountOf(id), await rolesOf(id)]).toEqual(['cyd', memberRoles]);
  });

  it('an account is not linked from another workspace', async () => {
    await hub('here');
    const cookie = await cookieOf('ann');
    claims = account('ann', 'elsewhere');
    const refused = await comeBack(cookie);
    expect([refused.status, refused.page]).toEqual([403, expect.stringContaining(notHere)]);
    expect(await accountOf(ann.userId)).toBeNull();
    claims = account('ann', 'acme');
    expect((await comeBack(cookie)).status).toBe(302);
    expect([await accountOf(ann.userId), await rolesOf(ann.userId)]).toEqual(['ann', adminRoles]);
  });
});

describe('with roles from claims', () => {
  it('the last admin links no account without the role, and reads why', async () => {
    await hub('claims');
    const cookie = await cookieOf('ann');
    claims = account('ann', 'acme');
    const refused = await comeBack(cookie);
    expect(refused.status).toBe(409);
    expect(refused.page).toContain('<h1>Account not linked</h1>');
    expect(refused.page).toContain('You are the last admin here');
    expect(refused.page).toContain('Back to the console');
    expect(refused.cookies).toEqual([expect.stringMatching(/^reeve_oidc=;/)]);
    expect([await accountOf(ann.userId), await rolesOf(ann.userId)]).toEqual([null, adminRoles]);
    // An admin who is invited and has not come is no other admin.
    await add({ email: 'cyd@example.com', is_admin: true });
    expect((await comeBack(cookie)).status).toBe(409);
    await add({ email: 'bob@example.com', password, is_admin: true });
    expect((await comeBack(cookie)).status).toBe(302);
    expect([await accountOf(ann.userId), await rolesOf(ann.userId)]).toEqual(['ann', memberRoles]);
  });

  it('an account that cannot be linked changes no roles', async () => {
    await hub('claims');
    const { user_id: id } = await add({ email: 'bob@example.com', password, is_admin: true });
    claims = account('bob', 'acme', 'admin');
    expect((await comeBack(await cookieOf('bob'))).status).toBe(302);
    // Bob's account, of which the provider changed the role.
    claims = account('bob', 'acme', 'viewer');
    const foreign = await comeBack(await cookieOf('ann'));
    expect([foreign.status, foreign.page]).toEqual([409, expect.stringContaining('belongs to another')]);
    claims = account('bob-2', 'acme', 'viewer');
    expect((await comeBack(await cookieOf('bob'))).status).toBe(409);
    expect([await rolesOf(ann.userId), await rolesOf(id)]).toEqual([adminRoles, adminRoles]);
    expect([await accountOf(ann.userId), await accountOf(id)]).toEqual([null, 'bob']);
  });

  it('a sign-in takes the role of the last admin as well, because the provider decides', async () => {
    await hub('claims');
    claims = account('ann', 'acme', 'admin');
    expect((await comeBack(await cookieOf('ann'))).status).toBe(302);
    claims = account('ann', 'acme', 'operator');
    expect((await comeBack()).status).toBe(302);
    expect(await rolesOf(ann.userId)).toEqual(memberRoles);
  });
});

describe('sign-ins of a network', () => {
  const signIn = () => t.call('login', { body: { email: 'ann@example.com', password } });

  it('are not used up by pages that send browsers back without the state', async () => {
    await hub('claims');
    for (let i = 0; i < 5; i++) {
      const { status, body } = await t.call('oidcCallback', { query: { code: 'c', state: 's' } });
      expect([status, body]).toEqual([401, expect.stringContaining('could not be confirmed')]);
    }
    const headers = { cookie: 'reeve_oidc=made-up' };
    for (let i = 0; i < 3; i++)
      expect((await t.call('oidcCallback', { query: {} }, undefined, { headers })).status).toBe(401);
    await expect(signIn()).rejects.toMatchObject({ code: 'rate_limited' });
  });

  it('are not used up by people for whom the provider has not answered yet', async () => {
    await hub('claims');
    const names = ['a', 'b', 'c', 'd', 'e'];
    claimsOfMany = names.map((name) => account(name, 'acme'));
    answer = new Promise((resolve) => setTimeout(resolve, 50));
    const signIns = await Promise.all(names.map(() => comeBack()));
    answer = null;
    expect(signIns.map(({ status }) => status)).toEqual([302, 302, 302, 302, 302]);
  });

  it('are not used up by pages that post log-outs of the provider', async () => {
    await hub('claims');
    const body = Buffer.from('no_token=');
    const refusedWith = async (headers: { [name: string]: string }) =>
      t.call('oidcLogout', { body }, undefined, { headers }).catch(({ code }) => code);
    for (const site of ['cross-site', 'same-site', 'cross-site', 'same-site'])
      expect(await refusedWith({ 'sec-fetch-site': site })).toBe('origin_refused');
    expect((await signIn()).status).toBe(200);
    // A provider is no page, and names no site.
    for (let i = 0; i < 2; i++) expect(await refusedWith({})).toBe('unauthenticated');
    await expect(signIn()).rejects.toMatchObject({ code: 'rate_limited' });
  });
});

describe('log-outs of the provider', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  let isAway = false;
  const server = createServer(async (_request, response) => {
    if (isAway) return void response.writeHead(500).end();
    const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256' };
    response.end(JSON.stringify({ keys: [jwk] }));
  });
  let jwksUrl: string;
  beforeAll(async () => {
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    jwksUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
  });
  afterAll(() => new Promise((done) => server.close(done)));

  const logoutToken = (sub: string) => {
    const now = Math.floor(t.clock.now() / 1000);
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
    return new SignJWT({ sub, events, jti: sub })
      .setProtectedHeader({ alg: 'ES256', kid: 'k1', typ: 'logout+jwt' })
      .setIssuer(issuer)
      .setAudience('console')
      .setIssuedAt(now)
      .setExpirationTime(now + 60)
      .sign(privateKey);
  };
  const post = (token: string) =>
    t.call('oidcLogout', { body: Buffer.from(`logout_token=${token}`) }).then(
      ({ status }) => status,
      ({ code }) => code,
    );
  const sessionsOf = async (id: string) =>
    (await t.hub.store.logins.listOfUser(id, t.clock.now(), 10)).length;

  it('are taken at once and after wrong ones, of which only a few are answered', async () => {
    await hub('claims', jwksUrl);
    const people = ['a', 'b', 'c', 'd', 'e'];
    for (const name of people) {
      claims = account(name, 'acme');
      expect((await comeBack()).status).toBe(302);
    }
    const userOf = async (name: string) =>
      (await t.hub.store.tenants.getUserByEmail(`${name}@example.com`))?.id ?? '';
    const tokens = await Promise.all(people.map(logoutToken));
    expect(await Promise.all(tokens.slice(0, 4).map(post))).toEqual([200, 200, 200, 200]);
    for (const name of people.slice(0, 4)) expect(await sessionsOf(await userOf(name))).toBe(0);
    for (let i = 0; i < 3; i++) expect(await post('made.up.token')).toBe('unauthenticated');
    expect(await post('made.up.token')).toBe('rate_limited');
    expect(await sessionsOf(await userOf('e'))).toBe(1);
    expect(await post(tokens[4] ?? '')).toBe(200);
    expect(await sessionsOf(await userOf('e'))).toBe(0);
  });

  it('are no guesses while the keys of the provider are away', async () => {
    await hub('claims', jwksUrl);
    isAway = true;
    const token = await logoutToken('a');
    for (let i = 0; i < 4; i++) expect(await post(token)).toBe('unavailable');
    isAway = false;
    await t.clock.advance(60_000);
    expect(await post(await logoutToken('a'))).toBe(200);
  });

  it('give back the approvals that the person has taken', async () => {
    await hub('claims', jwksUrl);
    claims = account('bob', 'acme', 'approver');
    expect((await comeBack()).status).toBe(302);
    const userId = (await t.hub.store.tenants.getUserByEmail('bob@example.com'))?.id ?? '';
    const bob: UserCaller = { ...ann, userId, email: 'bob@example.com' };
    const request = await t.call('createApproval', { body: { tool_name: 'x', message: 'm' } }, t.key(ann));
    const params = { approval_id: request.body.id };
    await t.call('assignApproval', { params, body: { user_id: userId } }, bob);
    expect(await post(await logoutToken('bob'))).toBe(200);
    expect((await t.call('getApproval', { params }, ann)).body).toMatchObject({ assignee: null });
  });
});
