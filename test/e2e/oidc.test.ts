// People of an identity provider at the real process: a certified provider issues their tokens, the hub asks it for its
// keys once, and nobody else's tokens, nor a login's cookie, open what they open.
import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RouteDeclaration } from '../../src/http/contract/route.ts';
import { hostedApi } from '../../src/hub/api/hosted-routes.ts';
import { certifiedProvider, tokenOf } from '../oidc-provider.ts';
import { HubProcess } from './process.ts';

const operatorToken = 'operator-token-of-at-least-32-characters';
const audience = 'https://hub.example/v1';
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const retiring = generateKeyPairSync('rsa', { modulusLength: 2048 });
let server: Server;
let issuer: string;
let hub: HubProcess;
let cookie: string;
let token: string;

beforeAll(async () => {
  server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const keys = [
    { kid: 'new', privateKey },
    { kid: 'retiring', privateKey: retiring.privateKey },
  ];
  server.on('request', await certifiedProvider(issuer, audience, keys));
  hub = new HubProcess({
    OIDC_ISSUER: issuer,
    OIDC_AUDIENCE: audience,
    OPERATOR_TOKEN: operatorToken,
    RATE_LIMIT_MAX_ATTEMPTS: '100000',
    LOG_LEVEL: 'error',
  });
  await hub.start();
  cookie = await hub.admin();
  const { body } = await hub.call('GET', '/api/v1/auth/me', { cookie });
  const linked = await hub.call('PUT', `/api/v1/operator/tenants/${body.tenant_id}/workspaces`, {
    headers: { Authorization: `Bearer ${operatorToken}` },
    body: { issuer, workspace_id: 'acme' },
  });
  expect(linked.status).toBe(200);
  token = await tokenOf(issuer, audience);
});
afterAll(async () => {
  server.close();
  await hub.remove();
});

const ask = async (bearer: string, path = '/v1/runs') => {
  const { status, body } = await hub.call('GET', path, { headers: { Authorization: `Bearer ${bearer}` } });
  return { status, code: body.code };
};
const now = Math.floor(Date.now() / 1000);
const claims = { aud: audience, sub: 'ann', org_id: 'acme', org_role: 'admin' };
const sign = (over: object = {}, key: KeyObject = privateKey, kid = 'new') =>
  new SignJWT({ ...claims, iss: issuer, iat: now, exp: now + 600, ...over })
    .setProtectedHeader({ alg: 'RS256', kid })
    .sign(key);
const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('a hub with an identity provider', () => {
  it("takes its tokens, by role, and its keys' successors", async () => {
    expect(await ask(token)).toMatchObject({ status: 200 });
    expect(await ask(token, '/v1/keys')).toEqual({ status: 403, code: 'role_required' });
    expect(await ask(await sign(), '/v1/keys')).toMatchObject({ status: 200 });
    expect(await ask(await sign({}, retiring.privateKey, 'retiring'))).toMatchObject({ status: 200 });
  });

  it('takes no other tokens', async () => {
    const refused = [
      await sign({ aud: 'https://other.example' }),
      await sign({ nbf: now + 600 }),
      await sign({ iss: 'https://other.example' }),
      await sign({}, generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey),
      `${encoded({ alg: 'none' })}.${encoded({ ...claims, iss: issuer, exp: now + 600, iat: now })}.`,
    ];
    const head = `${encoded({ alg: 'HS256', kid: 'new' })}.${encoded({ ...claims, iss: issuer, exp: now + 600, iat: now })}`;
    const pem = publicKey.export({ format: 'pem', type: 'spki' });
    refused.push(`${head}.${createHmac('sha256', pem).update(head).digest('base64url')}`);
    for (const one of refused) expect(await ask(one)).toEqual({ status: 401, code: 'unauthenticated' });
    expect(await ask(await sign({ exp: now - 600, iat: now - 900 }))).toEqual({
      status: 401,
      code: 'token_expired',
    });
    expect(await ask(await sign({ org_id: 'foreign' }))).toEqual({ status: 403, code: 'workspace_required' });
    expect(await ask(await sign({ org_role: 'guest' }))).toEqual({ status: 403, code: 'role_required' });
  });

  it('goes on with the keys that it has while the provider is away', async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
    expect(await ask(await sign())).toMatchObject({ status: 200 });
    expect(await ask(await sign({}, privateKey, 'unknown'))).toEqual({
      status: 401,
      code: 'unauthenticated',
    });
  });

  it("takes a login's cookie on the stream of events alone", async () => {
    const routes = Object.values(hostedApi as { readonly [name: string]: RouteDeclaration });
    for (const { method, path, auth } of routes) {
      if (auth.length === 0) continue;
      const filled = path.replaceAll(/\{\w+\}/g, 'a');
      const controller = new AbortController();
      const answer = await fetch(hub.url + filled, {
        method,
        headers: { Cookie: cookie, 'Content-Type': 'application/json' },
        signal: controller.signal,
        ...(method === 'GET' ? {} : { body: '{}' }),
      });
      const expected = path === '/v1/events/stream' ? 200 : 401;
      expect([path, method, answer.status]).toEqual([path, method, expected]);
      controller.abort();
    }
  });
});
