// Signing in through an identity provider on one node, and what the provider ends, as another node sees it.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../../bench/suite/free-port.ts';
import { SseClient } from '../e2e/sse.ts';
import { Browser, client, SignInProvider } from '../sign-in-provider.ts';
import { Nodes } from './nodes.ts';

const provider = new SignInProvider();
let nodes: Nodes;
let browser: Browser;

beforeAll(async () => {
  await provider.start();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  await provider.serve(url);
  nodes = new Nodes({
    count: 2,
    env: {
      BASE_URL: url,
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: client.id,
      OIDC_CLIENT_SECRET: client.secret,
      OIDC_ROLE_MAP: '{"ops": "operator@staging"}',
    },
  });
  nodes.at(0).port = port;
  await nodes.start();
  await nodes.at(0).admin();
});
afterAll(async () => {
  provider.close();
  await nodes?.remove();
});

/** Signs in at the first node; the cookies of the hub. */
async function signIn(sub: string): Promise<string> {
  provider.accounts.set(sub, { sub, email: `${sub}@acme.example`, email_verified: true, org_role: 'ops' });
  provider.signsIn = sub;
  browser = new Browser();
  const { url } = nodes.at(0);
  await browser.follow(`${url}/auth/oidc`, (next) => next.startsWith(`${url}/dashboard/`));
  return browser.cookies(url);
}

async function signOutAtProvider(): Promise<void> {
  const page = await (await browser.get(`${provider.issuer}/session/end`)).text();
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
  await fetch(`${provider.issuer}/session/end/confirm`, {
    method: 'POST',
    redirect: 'manual',
    headers: { Cookie: browser.cookies(provider.issuer) },
    body: new URLSearchParams({ xsrf, logout: 'yes' }),
  });
}

it('a log-out at the provider reaches one node, and ends sessions and streams on the other within a second', async () => {
  const cookie = await signIn('ann');
  expect((await nodes.at(1).call('GET', '/api/v1/auth/me', { cookie })).body).toMatchObject({
    email: 'ann@acme.example',
    roles: [{ role: 'operator', env: 'staging' }],
  });
  const stream = await SseClient.open(`${nodes.at(1).url}/api/v1/stream/dashboard`, { Cookie: cookie });
  expect(stream.status).toBe(200);
  await signOutAtProvider();
  await stream.end(1_000);
  for (const node of [0, 1])
    expect((await nodes.at(node).call('GET', '/api/v1/auth/me', { cookie })).status).toBe(401);
});
