// Tokens of an identity provider: a certified one in process, and one that lies, changes its keys and goes away.
import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createJwts } from '../../adapters/jose/jwts.ts';
import { systemClock } from '../../adapters/node/clock.ts';
import { createOutbound } from '../../adapters/node/outbound/outbound.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import { type OidcSettings, usualRoleClaims, usualWorkspaceClaims } from '../../src/user/rules/oidc.ts';
import { createIdentityProvider } from '../../src/user/use-cases/identity-provider.ts';
import { ManualClock } from '../clock.ts';
import { silentLog } from '../log.ts';
import { certifiedProvider, tokenOf } from '../oidc-provider.ts';

let server: Server;
let issuer: string;
let listener: RequestListener;
let requests: string[];
beforeEach(async () => {
  requests = [];
  server = createServer((request, response) => {
    requests.push(request.url ?? '');
    listener(request, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

const audience = 'https://hub.example/v1';
const linked = { workspaceId: 'acme', tenantId: 'tenant-1' };

const provider = (clock: Clock, changed: Partial<OidcSettings> = {}) =>
  createIdentityProvider({
    settings: {
      issuer,
      audiences: [audience],
      login: null,
      rolesFrom: 'claims',
      jwksUrl: null,
      workspaceClaims: usualWorkspaceClaims,
      roleClaims: usualRoleClaims,
      roleMap: {},
      defaultRole: null,
      autoProvision: false,
      ...changed,
    },
    outbound: createOutbound({ clock: systemClock, allowPrivate: true, allow: [] }),
    workspaces: {
      getTenantId: async (workspace) =>
        workspace.issuer === issuer && workspace.workspaceId === linked.workspaceId ? linked.tenantId : null,
    },
    provision: async ({ workspaceId }) => `made for ${workspaceId}`,
    jwts: createJwts(),
    clock,
    log: silentLog,
  });

describe('a certified provider', () => {
  it('is asked where its keys are, and its tokens are taken', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    listener = await certifiedProvider(issuer, audience, [{ kid: 'rsa-1', privateKey }]);
    const token = await tokenOf(issuer, audience);
    expect(await provider(systemClock).identify(token)).toMatchObject({
      tenantId: 'tenant-1',
      issuer,
      roles: [{ role: 'operator', env: '*' }],
    });
    expect(requests).toContain('/.well-known/openid-configuration');
  });
});

describe('a provider', () => {
  let clock: ManualClock;
  let keys: { readonly kid: string; readonly privateKey: KeyObject; readonly publicKey: KeyObject }[];
  let isAway: boolean;
  const newKey = (kid: string) => ({ kid, ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) });
  beforeEach(() => {
    clock = new ManualClock();
    keys = [newKey('k1')];
    isAway = false;
    listener = async (request, response) => {
      if (isAway) return void response.writeHead(500).end();
      response.setHeader('content-type', 'application/json');
      if (request.url === '/.well-known/openid-configuration') {
        return void response.end(JSON.stringify({ issuer, jwks_uri: `${issuer}/keys` }));
      }
      const set = keys.map(async ({ kid, publicKey }) => ({
        ...(await exportJWK(publicKey)),
        kid,
        use: 'sig',
        alg: 'ES256',
      }));
      response.end(JSON.stringify({ keys: await Promise.all(set) }));
    };
  });

  const seconds = () => Math.floor(clock.now() / 1000);
  const claimsOf = (over: object = {}) => ({
    iss: issuer,
    aud: audience,
    sub: 'ann',
    email: 'ann@example.com',
    workspace_id: 'acme',
    role: 'admin',
    iat: seconds(),
    exp: seconds() + 600,
    ...over,
  });
  const sign = (over: object = {}, key = keys[0], header: object = {}) => {
    if (!key) throw new Error('no key');
    return new SignJWT(claimsOf(over))
      .setProtectedHeader({ alg: 'ES256', kid: key.kid, ...header })
      .sign(key.privateKey);
  };

  it('tells who somebody is, from whichever of the usual claims it has', async () => {
    const one = provider(clock);
    expect(await one.identify(await sign())).toEqual({
      tenantId: 'tenant-1',
      issuer,
      subject: 'ann',
      display: 'ann@example.com',
      loginHash: null,
      roles: [{ role: 'admin', env: '*' }],
      expiresAt: (seconds() + 600) * 1000,
    });
    const nested = {
      workspace_id: undefined,
      role: undefined,
      email_verified: false,
      name: 'Ann',
      o: { id: 'acme', rol: 'viewer' },
    };
    expect(await one.identify(await sign(nested))).toMatchObject({
      roles: [{ role: 'viewer', env: '*' }],
      display: 'Ann',
    });
    expect(
      await one.identify(await sign({ role: undefined, roles: ['x', 'viewer', 'operator'] })),
    ).toMatchObject({ roles: [{ role: 'operator', env: '*' }] });
    expect(await one.identify(await sign({ aud: undefined, azp: audience }))).toMatchObject({
      roles: [{ role: 'admin', env: '*' }],
    });
    // All of that with one look for the keys.
    expect(requests).toEqual(['/.well-known/openid-configuration', '/keys']);
  });

  it.each([
    ['for another audience', { aud: 'https://other.example' }, undefined],
    ['of another issuer', { iss: 'https://other.example' }, undefined],
    ['that expired', { exp: -600 }, 'token_expired'],
    ['that is not good yet', { nbf: 600 }, undefined],
    ['of the future', { iat: 600, exp: 1200 }, undefined],
    ['for longer than a day', { exp: 25 * 3600 }, undefined],
    ['of nobody', { sub: '' }, undefined],
  ])('has its tokens refused %s', async (_what, over, reason) => {
    const times = Object.fromEntries(
      Object.entries(over).map(([claim, value]) => [
        claim,
        typeof value === 'number' ? seconds() + value : value,
      ]),
    );
    await expect(provider(clock).identify(await sign(times))).rejects.toMatchObject({
      code: 'unauthenticated',
      detail: reason === undefined ? {} : { reason },
    });
  });

  it('has forged tokens refused: no algorithm, HMAC with its public key, a key of their own', async () => {
    const one = provider(clock);
    const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const refused = (token: string) =>
      expect(one.identify(token)).rejects.toMatchObject({ code: 'unauthenticated' });
    await refused(`${encoded({ alg: 'none' })}.${encoded(claimsOf())}.`);
    const pem = keys[0]?.publicKey.export({ format: 'pem', type: 'spki' }) ?? '';
    const body = `${encoded({ alg: 'HS256', kid: 'k1' })}.${encoded(claimsOf())}`;
    await refused(`${body}.${createHmac('sha256', pem).update(body).digest('base64url')}`);
    await refused(await sign({}, { ...newKey('k1') }));
    await refused(await sign({}, keys[0], { typ: 'logout+jwt' }));
  });

  it('gives no rights in workspaces that nobody linked, nor without a role', async () => {
    const one = provider(clock);
    const reason = (name: string) => ({ code: 'forbidden', detail: { reason: name } });
    await expect(one.identify(await sign({ workspace_id: 'foreign' }))).rejects.toMatchObject(
      reason('workspace_required'),
    );
    await expect(one.identify(await sign({ workspace_id: undefined }))).rejects.toMatchObject(
      reason('workspace_required'),
    );
    for (const role of [undefined, 'owner', 7, '__proto__']) {
      await expect(one.identify(await sign({ role }))).rejects.toMatchObject(reason('role_required'));
    }
    const mapped = provider(clock, {
      roleMap: { owner: [{ role: 'admin', env: '*' }] },
      defaultRole: 'viewer',
    });
    expect(await mapped.identify(await sign({ role: 'owner' }))).toMatchObject({
      roles: [{ role: 'admin', env: '*' }],
    });
    expect(await mapped.identify(await sign({ role: 'guest' }))).toMatchObject({
      roles: [{ role: 'viewer', env: '*' }],
    });
  });

  it('has a tenant made for a workspace that nobody linked, by an admin alone and only with AUTO_PROVISION', async () => {
    const one = provider(clock, { autoProvision: true });
    const reason = { code: 'forbidden', detail: { reason: 'workspace_required' } };
    for (const role of ['viewer', 'operator', undefined]) {
      await expect(one.identify(await sign({ workspace_id: 'new', role }))).rejects.toMatchObject(reason);
    }
    await expect(one.identify(await sign({ workspace_id: undefined }))).rejects.toMatchObject(reason);
    expect(await one.identify(await sign({ workspace_id: 'new' }))).toMatchObject({
      tenantId: 'made for new',
    });
    expect(await one.identify(await sign())).toMatchObject({ tenantId: 'tenant-1' });
    await expect(provider(clock).identify(await sign({ workspace_id: 'new' }))).rejects.toMatchObject(reason);
  });

  it('may change its keys: new ones are looked for once in 30 seconds, and old ones forgotten', async () => {
    const one = provider(clock);
    const old = await sign();
    await one.identify(old);
    clock.advance(31_000);
    keys = [newKey('k2')];
    expect(await one.identify(await sign())).toMatchObject({ roles: [{ role: 'admin', env: '*' }] });
    await expect(one.identify(old)).rejects.toMatchObject({ code: 'unauthenticated' });
    const looked = requests.length;
    for (let i = 0; i < 5; i++) {
      await expect(one.identify(await sign({}, newKey(`unknown-${i}`)))).rejects.toMatchObject({
        code: 'unauthenticated',
      });
    }
    expect(requests).toHaveLength(looked);
  });

  it('may go away for a day: what is known stays good, and then no longer', async () => {
    const one = provider(clock);
    await one.identify(await sign());
    isAway = true;
    clock.advance(23 * 3_600_000);
    expect(await one.identify(await sign())).toMatchObject({ roles: [{ role: 'admin', env: '*' }] });
    const looked = requests.length;
    await one.identify(await sign());
    expect(requests).toHaveLength(looked);
    clock.advance(2 * 3_600_000);
    await expect(one.identify(await sign())).rejects.toMatchObject({ code: 'unavailable' });
    isAway = false;
    clock.advance(31_000);
    expect(await one.identify(await sign())).toMatchObject({ roles: [{ role: 'admin', env: '*' }] });
  });

  it('that was never reached is unavailable, whatever it answers', async () => {
    for (const body of [
      '',
      '{}',
      '[]',
      '{"issuer":"https://other.example","jwks_uri":"http://127.0.0.1:1/"}',
      'x'.repeat(300_000),
    ]) {
      listener = (_request, response) => void response.end(body);
      await expect(provider(clock).identify(await sign())).rejects.toMatchObject({ code: 'unavailable' });
    }
  });
});
