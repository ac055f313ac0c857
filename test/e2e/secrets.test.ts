// The main job and every way to fail at signing in, against the real process: then no secret of it stands in what the
// process printed.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bundleYaml } from '../contract/library.ts';
import { HubProcess } from './process.ts';
import { SseClient } from './sse.ts';

const setupToken = 'setup-token-never-to-be-printed';
const operatorToken = 'operator-token-never-to-be-printed';
const password = 'a password never to be printed';
const hub = new HubProcess({
  SETUP_TOKEN: setupToken,
  OPERATOR_TOKEN: operatorToken,
  TRUSTED_PROXIES: '127.0.0.1',
  RATE_LIMIT_MAX_ATTEMPTS: '3',
  LOG_LEVEL: 'debug',
});
const email = 'ann@example.com';
const secrets = new Map([
  ['setup token', setupToken],
  ['operator token', operatorToken],
  ['password', password],
]);
const from = (address: string) => ({ 'X-Forwarded-For': address });
const login = (address: string, body: object = { email, password }) =>
  hub.call('POST', '/api/v1/auth/login', { body, headers: from(address) });

beforeAll(() => hub.start());
afterAll(() => hub.remove());

it('of 50 setups at once over HTTP exactly one wins, and the others hear 409', async () => {
  const wrong = await hub.call('POST', '/api/v1/setup', {
    body: { email, password, setup_token: 'wrong-setup-token' },
  });
  expect(wrong).toMatchObject({ status: 403, body: { code: 'forbidden' } });
  const answers = await Promise.all(
    Array.from({ length: 50 }, () =>
      hub.call('POST', '/api/v1/setup', {
        body: { email, password },
        headers: { 'X-Setup-Token': setupToken },
      }),
    ),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(49).fill(409)]);
});

it('logins are limited per real client address, behind a trusted proxy', async () => {
  const statuses = async (address: string) => {
    const found = [];
    for (let i = 0; i < 4; i++)
      found.push(await login(address, { email, password: `guess ${i} never printed` }));
    return found;
  };
  const [, , , fourth] = await statuses('203.0.113.1');
  expect(fourth).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
  expect(Number(fourth?.headers.get('retry-after'))).toBeGreaterThan(0);
  // A client's text in front of the proxy's word changes nothing.
  expect((await login('198.51.100.7, 203.0.113.1')).status).toBe(429);
  expect((await login('203.0.113.2')).status).toBe(200);
});

it('a wrong e-mail and a wrong password answer alike', async () => {
  const [a, b] = [
    await login('203.0.113.3', { email: 'nobody@example.com', password }),
    await login('203.0.113.4', { email, password: 'another guess' }),
  ];
  expect(a.status).toBe(401);
  expect({ status: a.status, body: a.body }).toEqual({ status: b.status, body: b.body });
});

it('nothing that was secret in the main job and in failures of it is printed', async () => {
  const signedIn = await login('203.0.113.5');
  const cookie = (signedIn.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
  const { key, id } = await hub.key(cookie);
  secrets.set('cookie', cookie.split('=')[1] ?? '').set('key', key);
  secrets.set('master secret', readFileSync(join(hub.dataDir, 'secret.key'), 'utf8').trim());
  const stream = await SseClient.open(`${hub.url}/api/v1/stream?env=production`, {
    Authorization: `Bearer ${key}`,
  });
  const yaml_content = bundleYaml('team');
  expect((await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content } })).status).toBe(201);
  await hub.call('POST', '/api/v1/bundles/team/1/deploy', { cookie, body: { env: 'production' } });
  await stream.next('contract_update');
  const tool_args = { api_key: 'argument-never-to-be-printed' };
  secrets.set('tool argument', tool_args.api_key);
  await hub.call('POST', '/api/v1/approvals', {
    key,
    body: { agent_id: 'a', tool_name: 't', message: 'm', tool_args },
  });

  const wrongKey = `${key.slice(0, -4)}AAAA`;
  secrets.set('wrong key', wrongKey).set('wrong cookie', 'wrong-cookie-value').set('guess', 'never printed');
  const failures: [string, string, object, number][] = [
    ['GET', '/api/v1/events', { key: wrongKey }, 401],
    ['GET', `/api/v1/stream?env=production&access_token=${wrongKey}`, { key: wrongKey }, 401],
    ['GET', '/api/v1/stream?env=staging', { key }, 403],
    ['GET', '/api/v1/auth/me', { cookie: 'service_session=wrong-cookie-value' }, 401],
    ['POST', '/api/v1/keys', { cookie, body: `{"env":"${key}` }, 400],
    ['POST', '/api/v1/keys', { cookie, body: { env: key } }, 422],
    ['GET', `/api/v1/approvals/${key}`, { key }, 422],
    ['GET', `/api/v1/nothing/${key}`, { key }, 404],
    ['POST', '/api/v1/operator/users', { body: {}, headers: { Authorization: `Bearer ${wrongKey}` } }, 401],
    [
      'POST',
      '/api/v1/operator/users',
      { body: { password }, headers: { Authorization: `Bearer ${operatorToken}` } },
      422,
    ],
    ['POST', '/api/v1/setup', { body: { email, password, setup_token: setupToken } }, 409],
    ['DELETE', `/api/v1/keys/${id}`, { cookie }, 204],
    ['GET', '/api/v1/events', { key }, 401],
    ['POST', '/api/v1/auth/logout', { cookie, body: {} }, 200],
  ];
  for (const [method, path, options, status] of failures) {
    expect({ method, path, status: (await hub.call(method, path, options)).status }).toEqual({
      method,
      path,
      status,
    });
  }
  await stream.end();
  expect(await hub.stop()).toBe(0);
  expect(hub.printed).toContain('"status":401');
  for (const [what, secret] of secrets)
    expect({ what, printed: hub.printed.includes(secret) }).toEqual({ what, printed: false });
});
