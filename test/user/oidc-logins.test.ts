// Signing in and linking an account through an identity provider of which a test chooses the claims.
import { afterEach, describe, expect, it } from 'vitest';
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
afterEach(() => t.close());

/** A hub with the admin ann, whose tenant's workspace is acme; the workspace elsewhere is another tenant's. */
async function hub(rolesFrom: OidcSettings['rolesFrom']): Promise<void> {
  const signInProvider = {
    begin: async () => `${issuer}/authorize`,
    finish: async () => claims,
  };
  t = await makeHub({ oidc: { ...oidc, rolesFrom }, signInProvider, loginAttempts: 3 });
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
