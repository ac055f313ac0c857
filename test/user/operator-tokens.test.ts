// Tokens that the hub gives itself: who gets one, what it says, and what is refused.
import { createHmac, generateKeyPairSync } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { adminRoles } from '../../src/shared/env-roles.ts';
import { createOperatorTokens, type OwnTokens } from '../../src/user/use-cases/operator-tokens.ts';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
let tokens: OwnTokens;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant('ann@example.com');
  tokens = t.hub.app.operatorTokens;
});
afterEach(() => t.close());

const signIn = () =>
  t.hub.store.logins.create({
    tokenHash: user.tokenHash,
    userId: user.userId,
    tenantId: user.tenantId,
    createdAt: t.clock.now(),
    expiresAt: t.clock.now() + 3_600_000,
    lastSeenAt: t.clock.now(),
    network: null,
    browser: null,
    method: null,
    providerSession: null,
  });
const exchange = async (as = user) => (await t.call('exchangeLogin', {}, as)).body;
const make = async (body: object) => (await t.call('createOperatorToken', { body }, user)).body;
const partsOf = (token: string) =>
  token
    .split('.')
    .slice(0, 2)
    .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()));
const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe("a signed-in person's token", () => {
  it('holds for 15 minutes, and not a moment longer than the login', async () => {
    await signIn();
    const { token, expires_at } = await exchange();
    expect(Date.parse(expires_at) - t.clock.now()).toBeLessThanOrEqual(15 * 60_000);
    expect(await tokens.identify(token)).toMatchObject({
      tenantId: user.tenantId,
      subject: user.userId,
      display: 'ann@example.com',
      roles: adminRoles,
    });
    await t.hub.store.logins.remove(user.tokenHash);
    await expect(tokens.identify(token)).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  it('expires', async () => {
    await signIn();
    const { token } = await exchange();
    t.clock.advance(17 * 60_000);
    await expect(tokens.identify(token)).rejects.toMatchObject({ detail: { reason: 'token_expired' } });
  });

  it('has the roles that its person has when it is used', async () => {
    await signIn();
    const { token } = await exchange();
    expect(await tokens.identify(token)).toMatchObject({ roles: adminRoles });
    const roles = [{ role: 'viewer', env: 'staging' }] as const;
    await t.call(
      'addUser',
      { body: { email: 'second@example.com', password: 'a long password', is_admin: true } },
      user,
    );
    await t.call('updateUser', { params: { user_id: user.userId }, body: { roles } }, user);
    expect(await tokens.identify(token)).toMatchObject({ roles });
  });
});

describe("a token of an admin's making", () => {
  it('has the role and the life that were asked for', async () => {
    const { token, expires_at } = await make({ role: 'viewer', ttl_seconds: 60 });
    expect(Math.abs(Date.parse(expires_at) - t.clock.now() - 60_000)).toBeLessThanOrEqual(1000);
    expect(await tokens.identify(token)).toMatchObject({
      roles: [{ role: 'viewer', env: '*' }],
      display: 'ann@example.com',
    });
  });

  it.each([
    [{ role: 'owner', ttl_seconds: 60 }],
    [{ role: 'viewer', ttl_seconds: 0 }],
    [{ role: 'viewer', ttl_seconds: 86_401 }],
    [{ role: 'viewer' }],
  ])('is refused with %o', async (body) => {
    await expect(make(body)).rejects.toMatchObject({ code: 'validation_failed' });
  });

  it('is not to be had once they are switched off; a signed-in person still gets one', async () => {
    const off = createOperatorTokens({
      ...t.hub,
      settings: { ...t.hub.settings, operatorTokens: false },
      provider: null,
    });
    const principal = {
      tenantId: user.tenantId,
      env: null,
      roles: new Set(['admin'] as const),
      envRoles: null,
      actor: { kind: 'user', id: user.userId, email: user.email } as const,
      agentId: null,
      agentPattern: null,
    };
    await expect(off.create(principal, { role: 'viewer', ttlMs: 1000 })).rejects.toMatchObject({
      code: 'not_found',
    });
    expect((await off.createForLogin(principal, user.tokenHash)).token).toMatch(/^ey/);
  });
});

describe('the key of tokens', () => {
  it('is published, without its private half, and signs what anybody can check', async () => {
    const { keys } = (await t.call('jwks')).body;
    expect(keys).toHaveLength(1);
    expect(keys[0]).toMatchObject({ kty: 'OKP', crv: 'Ed25519', use: 'sig', alg: 'EdDSA' });
    expect(Object.keys(keys[0] ?? {})).not.toContain('d');
    const [header] = partsOf((await make({ role: 'viewer', ttl_seconds: 60 })).token);
    expect(header).toEqual({ alg: 'EdDSA', typ: 'JWT', kid: keys[0]?.kid });
  });

  it('is one for all nodes of a store', async () => {
    const other = createOperatorTokens({ ...t.hub, provider: null });
    const { token } = await make({ role: 'viewer', ttl_seconds: 60 });
    expect(await other.identify(token)).toMatchObject({
      roles: [{ role: 'viewer', env: '*' }],
    });
    expect(await other.keys()).toEqual(await tokens.keys());
  });
});

describe('forged tokens', () => {
  const claims = () => ({
    iss: t.hub.settings.baseUrl,
    aud: t.hub.settings.baseUrl,
    sub: 'eve',
    tenant: user.tenantId,
    role: 'admin',
    iat: Math.floor(t.clock.now() / 1000),
    exp: Math.floor(t.clock.now() / 1000) + 60,
  });
  const refusedToken = (token: string) =>
    expect(tokens.identify(token)).rejects.toMatchObject({ code: 'unauthenticated' });

  it('without an algorithm are refused', async () => {
    await refusedToken(`${encoded({ alg: 'none', typ: 'JWT' })}.${encoded(claims())}.`);
  });

  it('by HMAC with the public key as its secret are refused', async () => {
    const [key] = (await tokens.keys()).keys;
    const signed = `${encoded({ alg: 'HS256', typ: 'JWT', kid: key?.kid })}.${encoded(claims())}`;
    for (const secret of [String(key?.x), Buffer.from(String(key?.x), 'base64url')]) {
      await refusedToken(`${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`);
    }
  });

  it('by a key of their own are refused, whatever key id they name', async () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const [key] = (await tokens.keys()).keys;
    await refusedToken(
      await new SignJWT(claims())
        .setProtectedHeader({ alg: 'EdDSA', kid: String(key?.kid) })
        .sign(privateKey),
    );
  });

  it('that are a real one with other claims are refused', async () => {
    const { token } = await make({ role: 'viewer', ttl_seconds: 60 });
    const [header, payload] = partsOf(token);
    const changed = `${encoded(header)}.${encoded({ ...payload, role: 'admin' })}.${token.split('.')[2]}`;
    await refusedToken(changed);
  });

  it.each(['', 'x', 'a.b.c', 'svk', '..', `${'a'.repeat(9000)}.b.c`])(
    'that are no tokens are refused: %#',
    (text) => refusedToken(text),
  );
});
