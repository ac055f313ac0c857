// Service accounts against the real process: what their tokens may do on both APIs, and how soon they end.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleYaml } from '../contract/library.ts';
import { SharedHub } from './shared-hub.ts';
import { SseClient } from './sse.ts';

const hub = new SharedHub();
let admin: string;
let made = 0;

beforeAll(async () => {
  await hub.start();
  admin = await hub.admin();
});
afterAll(() => hub.remove());

const asAdmin = (method: string, path: string, body?: unknown) =>
  hub.call(method, path, { cookie: admin, ...(body === undefined ? {} : { body }) });
const accounts = '/api/v1/service-accounts';

async function account(roles: object[] = [{ role: 'operator', env: 'staging' }]) {
  const created = await asAdmin('POST', accounts, { name: `ci-${++made}`, roles });
  expect(created).toMatchObject({ status: 201, body: { roles } });
  const path = `${accounts}/${created.body.id}`;
  const given = await asAdmin('POST', `${path}/tokens`, { label: 'pipeline' });
  expect(given.status).toBe(201);
  return {
    id: created.body.id as string,
    path,
    tokenId: given.body.id as string,
    token: given.body.token as string,
  };
}

/** With the token alone: no cookie, and no header that a page would need. */
const call = (token: string, method: string, path: string, body?: unknown) =>
  hub.call(method, path, { key: token, ...(body === undefined ? {} : { body }) });

describe('a service account', () => {
  it('does on both APIs what its roles allow, and is named in records', async () => {
    const { token } = await account();
    expect(token).toMatch(/^svt_[\w-]{43}$/);
    const uploaded = await call(token, 'POST', '/api/v1/bundles', { yaml_content: bundleYaml('by-ci') });
    expect(uploaded).toMatchObject({ status: 201, body: { uploaded_by: `service:ci-${made}` } });
    const deploy = (env: string) => call(token, 'POST', '/api/v1/bundles/by-ci/1/deploy', { env });
    expect((await deploy('staging')).status).toBe(201);
    expect(await deploy('production')).toMatchObject({ status: 403, body: { code: 'role_required' } });
    expect((await call(token, 'GET', '/v1/rulesets/by-ci/current?env=staging')).status).toBe(200);
    expect((await call(token, 'GET', '/v1/keys')).body).toMatchObject({ code: 'role_required' });
    expect((await call(token, 'POST', '/api/v1/events', { events: [] })).status).toBe(401);
  });

  it('never does what people alone may do', async () => {
    const { token, path } = await account([{ role: 'admin', env: '*' }]);
    const attempts = [
      ['GET', '/api/v1/auth/me'],
      ['GET', '/api/v1/auth/sessions'],
      ['POST', '/api/v1/auth/password', { old_password: 'x', new_password: 'a long enough password' }],
      ['POST', '/api/v1/auth/operator-token'],
      ['POST', '/api/v1/operator-tokens', { role: 'viewer', ttl_seconds: 60 }],
      ['GET', '/api/v1/users'],
      ['GET', accounts],
      ['POST', `${path}/tokens`, { label: 'more' }],
    ] as const;
    for (const [method, to, body] of attempts) {
      expect([to, await call(token, method, to, body)]).toMatchObject([
        to,
        { status: 403, body: { code: 'person_required' } },
      ]);
    }
    const key = await call(token, 'POST', '/api/v1/keys', { env: 'staging', label: 'by a service' });
    expect(key.status).toBe(201);
  });

  it('is not read from a URL', async () => {
    const { token } = await account([{ role: 'admin', env: '*' }]);
    for (const path of ['/api/v1/contracts', '/api/v1/stream/dashboard', '/v1/events', '/v1/events/stream'])
      for (const name of ['access_token', 'token'])
        expect([path, (await hub.call('GET', `${path}?${name}=${token}`)).status]).toEqual([path, 401]);
  });

  it('has tokens that are listed without the token, with their last use', async () => {
    const { token, path, tokenId } = await account();
    expect((await call(token, 'GET', '/api/v1/contracts')).status).toBe(200);
    const [listed] = (await asAdmin('GET', `${path}/tokens`)).body;
    expect(listed).toMatchObject({ id: tokenId, label: 'pipeline', created_by: hub.emailOf('admin') });
    expect(Date.parse(listed.expires_at) - Date.parse(listed.created_at)).toBe(90 * 24 * 3_600_000);
    await expect
      .poll(async () => (await asAdmin('GET', `${path}/tokens`)).body[0].last_used_at, { timeout: 5_000 })
      .not.toBeNull();
    expect(JSON.stringify(listed)).not.toContain(token.slice(4));
    for (const expires_in_days of [0, 367, 1.5])
      expect((await asAdmin('POST', `${path}/tokens`, { label: 'x', expires_in_days })).status).toBe(422);
  });

  it.each(['revocation of the token', 'deletion of the account'])(
    'ends within a second of a %s',
    async (what) => {
      const { token, path, tokenId } = await account([{ role: 'viewer', env: '*' }]);
      const headers = { Authorization: `Bearer ${token}` };
      const streams = [
        await SseClient.open(`${hub.url}/api/v1/stream/dashboard`, headers),
        await SseClient.open(`${hub.url}/v1/events/stream`, headers),
      ];
      expect(streams.map(({ status }) => status)).toEqual([200, 200]);
      const ended = await asAdmin('DELETE', what.startsWith('rev') ? `${path}/tokens/${tokenId}` : path);
      expect(ended.status).toBe(204);
      for (const stream of streams) await stream.end(1_000);
      await expect
        .poll(async () => (await call(token, 'GET', '/api/v1/contracts')).status, {
          timeout: 1_000,
          interval: 50,
        })
        .toBe(401);
      expect((await call(token, 'GET', '/v1/events')).status).toBe(401);
    },
  );

  it('gets new roles at once', async () => {
    const { token, path } = await account();
    expect((await call(token, 'GET', '/api/v1/events?env=production')).status).toBe(403);
    await asAdmin('PATCH', path, { roles: [{ role: 'viewer', env: 'production' }] });
    await expect
      .poll(async () => (await call(token, 'GET', '/api/v1/events?env=production')).status, {
        timeout: 1_000,
        interval: 50,
      })
      .toBe(200);
    expect((await call(token, 'GET', '/api/v1/events?env=staging')).status).toBe(403);
  });

  it('is refused with a taken name, and with roles that there are not', async () => {
    const { path } = await account();
    const second = await asAdmin('POST', accounts, {
      name: `ci-${made}`,
      roles: [{ role: 'viewer', env: '*' }],
    });
    expect(second).toMatchObject({ status: 409, body: { code: 'conflict' } });
    const wrong = await asAdmin('PATCH', path, { roles: [{ role: 'admin', env: 'staging' }] });
    expect(wrong.body.detail[0].loc.slice(0, 2)).toEqual(['body', 'roles']);
  });
});
