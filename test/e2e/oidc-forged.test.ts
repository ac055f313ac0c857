// Sign-in answers that do not fit: a provider under the test's control forges the ID token, the code and the state.
// Each gets the same 401 page, which the login limit counts.
import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { freePort } from '../../bench/suite/free-port.ts';
import { Browser, client } from '../sign-in-provider.ts';
import { HubProcess } from './process.ts';

const attempts = 40;
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const { privateKey: foreignKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

interface Forgery {
  readonly header?: object;
  readonly claims?: { readonly [claim: string]: unknown };
  /** Null: no signature at all. */
  readonly key?: typeof privateKey | null;
}

let hub: HubProcess;
let issuer = '';
/** How the next ID token differs from a good one. */
let forgery: Forgery = {};
let nonce = '';
/** Codes that the token endpoint has seen. */
const usedCodes = new Set<string>();

function idToken(): string {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    iss: issuer,
    aud: client.id,
    sub: 'ann',
    nonce,
    iat: now,
    exp: now + 300,
    email: 'ann@acme.example',
    email_verified: true,
    ...forgery.claims,
  };
  const text = `${base64url({ alg: 'RS256', kid: 'k', ...forgery.header })}.${base64url(claims)}`;
  const { key = privateKey } = forgery;
  return `${text}.${key === null ? '' : sign('sha256', Buffer.from(text), key).toString('base64url')}`;
}

const provider = createServer(async (request, response) => {
  const answer = (status: number, value: object): void => {
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
  };
  if (request.url === '/.well-known/openid-configuration') {
    return answer(200, {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      authorization_response_iss_parameter_supported: true,
    });
  }
  if (request.url === '/jwks') {
    const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'RS256', use: 'sig' };
    return answer(200, { keys: [jwk] });
  }
  let body = '';
  for await (const chunk of request) body += chunk;
  const code = new URLSearchParams(body).get('code') ?? '';
  if (usedCodes.has(code)) return answer(400, { error: 'invalid_grant' });
  usedCodes.add(code);
  answer(200, { access_token: 'a', token_type: 'Bearer', expires_in: 60, id_token: idToken() });
});

beforeAll(async () => {
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  const port = await freePort();
  hub = new HubProcess({
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: client.id,
    OIDC_CLIENT_SECRET: client.secret,
    OIDC_DEFAULT_ROLE: 'viewer',
    BASE_URL: `http://127.0.0.1:${port}`,
    RATE_LIMIT_MAX_ATTEMPTS: String(attempts),
    LOG_LEVEL: 'error',
  });
  hub.port = port;
  await hub.start();
  await hub.admin();
});
afterAll(async () => {
  provider.close();
  provider.closeAllConnections();
  await hub.remove();
});
beforeEach(() => {
  forgery = {};
});

let codes = 0;

/** A browser that was sent to the provider, and the address that the provider sends it back to. */
async function goToProvider(): Promise<{ readonly browser: Browser; readonly back: URL }> {
  const browser = new Browser();
  const location = (await browser.get(`${hub.url}/auth/oidc`)).headers.get('location');
  const { searchParams } = new URL(location ?? '');
  nonce = searchParams.get('nonce') ?? '';
  const back = new URL(searchParams.get('redirect_uri') ?? '');
  back.search = new URLSearchParams({
    code: `code-${++codes}`,
    state: searchParams.get('state') ?? '',
    iss: issuer,
  }).toString();
  return { browser, back };
}

async function pageOf(browser: Browser, back: URL): Promise<string> {
  const answer = await browser.get(back.href);
  const text = await answer.text();
  expect([answer.status, answer.headers.get('content-type')]).toEqual([401, 'text/html; charset=utf-8']);
  expect(browser.cookies(hub.url)).not.toMatch(/session/);
  return text;
}

let page = '';

it('a good answer signs in, and the same code or state does not again', async () => {
  const { browser, back } = await goToProvider();
  const copy = new Browser();
  copy.set(hub.url, browser.cookies(hub.url));
  expect((await browser.get(back.href)).status).toBe(302);
  page = await pageOf(copy, back);
  // A new state with the code from before.
  const second = await goToProvider();
  second.back.searchParams.set('code', back.searchParams.get('code') ?? '');
  expect(await pageOf(second.browser, second.back)).toBe(page);
});

it.each<[string, Forgery]>([
  ['another nonce', { claims: { nonce: 'another' } }],
  ['no nonce', { claims: { nonce: undefined } }],
  ['another issuer', { claims: { iss: 'https://other.example' } }],
  ['another audience', { claims: { aud: 'another client' } }],
  ['several audiences and another party', { claims: { aud: [client.id, 'b'], azp: 'b' } }],
  ['alg none', { header: { alg: 'none' }, key: null }],
  ['alg HS256 with the public key', { header: { alg: 'HS256' } }],
  ['the signature of another key', { key: foreignKey }],
  ['an end in the past', { claims: { exp: 1_000_000_000 } }],
  ['no subject', { claims: { sub: undefined } }],
])('an ID token with %s gets the same page', async (_what, wrong) => {
  const { browser, back } = await goToProvider();
  forgery = wrong;
  expect(await pageOf(browser, back)).toBe(page);
});

it.each([
  ['state', 'another'],
  ['iss', 'https://other.example'],
  ['iss', null],
  ['code', null],
])('an answer whose %s is %s gets the same page', async (name, value) => {
  const { browser, back } = await goToProvider();
  if (value === null) back.searchParams.delete(name);
  else back.searchParams.set(name, value);
  expect(await pageOf(browser, back)).toBe(page);
});

it('the login limit counts each of them, also for passwords', async () => {
  const statusWith = async (cookies: string) => {
    const browser = new Browser();
    browser.set(hub.url, cookies);
    return (await browser.get(`${hub.url}/auth/oidc/callback?code=c&state=s`)).status;
  };
  // Any page can send a browser there without the cookie.
  for (let i = 0; i <= attempts; i++) expect(await statusWith('')).toBe(401);
  for (let i = 0; i < attempts; i++) {
    const status = await statusWith('reeve_oidc=made-up');
    if (status === 429) break;
    expect(status).toBe(401);
  }
  expect(await statusWith('reeve_oidc=made-up')).toBe(429);
  const body = { email: 'admin@example.com', password: 'wrong password' };
  expect((await hub.call('POST', '/api/v1/auth/login', { body })).status).toBe(429);
});
