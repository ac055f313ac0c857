// Tenants as the operator of an installation sees them, against the real process: listed, suspended, and removed so
// that no byte of them is left in the folder.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bundleYaml } from '../contract/library.ts';
import { HubProcess } from './process.ts';
import { SseClient } from './sse.ts';

const operatorToken = 'an-operator-token-of-the-installation';
const hub = new HubProcess({
  RATE_LIMIT_MAX_ATTEMPTS: '1000',
  LOG_LEVEL: 'warn',
  OPERATOR_TOKEN: operatorToken,
});
const password = 'correct horse battery';

beforeAll(async () => {
  await hub.start();
  await hub.admin();
});
afterAll(() => hub.remove());

const operate = (method: string, path = '', body?: unknown) =>
  hub.call(method, `/api/v1/operator/tenants${path}`, {
    headers: { Authorization: `Bearer ${operatorToken}` },
    ...(body === undefined ? {} : { body }),
  });

interface Company {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly cookie: string;
  readonly key: string;
}

const signIn = (email: string) => hub.call('POST', '/api/v1/auth/login', { body: { email, password } });
const cookieOf = ({ headers }: { headers: Headers }): string =>
  headers.get('set-cookie')?.split(';')[0] ?? '';

/** A tenant with a bundle, a key, an event and an agent's stream. */
async function company(name: string): Promise<Company> {
  const email = `admin@${name}.example`;
  const made = await operate('POST', '', { name, email, password });
  expect(made.status).toBe(201);
  const cookie = cookieOf(await signIn(email));
  const act = (path: string, body: unknown) => hub.call('POST', path, { cookie, body });
  const key = (await act('/api/v1/keys', { env: 'production', label: `key-of-${name}` })).body.key as string;
  await act('/api/v1/bundles', { yaml_content: bundleYaml(`bundle-of-${name}`) });
  await act(`/api/v1/bundles/bundle-of-${name}/1/deploy`, { env: 'production' });
  const event = {
    call_id: `call-of-${name}`,
    agent_id: `agent-of-${name}`,
    tool_name: 'read_mail',
    verdict: 'allowed',
    mode: 'enforce',
    timestamp: new Date().toISOString(),
    payload: { note: `text-of-${name}` },
  };
  expect((await hub.call('POST', '/api/v1/events', { key, body: { events: [event] } })).status).toBe(200);
  const value = { value: `value-of-${name}` };
  await hub.call('PUT', `/api/v1/sessions/session-of-${name}`, { key, body: value });
  return { id: made.body.tenant_id, name, email, cookie, key };
}

const streamOf = ({ key, name }: Company) =>
  SseClient.open(`${hub.url}/api/v1/stream?env=production`, {
    Authorization: `Bearer ${key}`,
    'X-Service-Agent-Id': `agent-of-${name}`,
  });

it('are listed with what they hold, a page at a time', async () => {
  const acme = await company('acme');
  const first = (await operate('GET', '?limit=1')).body;
  expect(first.tenants).toHaveLength(1);
  const second = (await operate('GET', `?limit=1&cursor=${first.next_cursor}`)).body;
  expect(second).toMatchObject({
    tenants: [{ id: acme.id, name: 'acme', state: 'active' }],
    next_cursor: null,
  });
  await expect
    .poll(async () => (await operate('GET', `/${acme.id}`)).body)
    .toMatchObject({ agents: 1, events: 1 });
  expect((await operate('GET', `/${acme.id}`)).body.bytes).toBeGreaterThan(50);
  expect((await operate('GET', '?cursor=made-up')).status).toBe(400);
  expect((await hub.call('GET', '/api/v1/operator/tenants', { cookie: acme.cookie })).status).toBe(401);
});

it('beside another one: the state of the nodes is the business of the installation', async () => {
  const { cookie } = await company('neighbour');
  for (const part of ['metrics', 'series', 'cluster']) {
    const path = `/api/v1/health/${part}`;
    expect([path, (await hub.call('GET', path, { cookie })).status]).toEqual([path, 403]);
    const headers = { Authorization: `Bearer ${operatorToken}` };
    expect([path, (await hub.call('GET', path, { headers })).status]).toEqual([path, 200]);
  }
});

it('suspended: streams end and nobody gets in, until they are resumed with all they had', async () => {
  const tenant = await company('pause');
  const stream = await streamOf(tenant);
  expect((await operate('PATCH', `/${tenant.id}`, { suspended: true })).body.state).toBe('suspended');
  await stream.end(1_000);
  const refused = { status: 403, body: { code: 'tenant_suspended' } };
  expect(await hub.call('GET', '/api/v1/contracts', { cookie: tenant.cookie })).toMatchObject(refused);
  expect(await hub.call('POST', '/api/v1/events', { key: tenant.key, body: { events: [] } })).toMatchObject(
    refused,
  );
  expect(await signIn(tenant.email)).toMatchObject(refused);
  expect(
    (await hub.call('POST', '/api/v1/auth/login', { body: { email: tenant.email, password: 'no' } })).status,
  ).toBe(401);
  expect((await operate('PATCH', `/${tenant.id}`, { suspended: false, name: 'again' })).body).toMatchObject({
    state: 'active',
    name: 'again',
    events: 1,
  });
  expect((await hub.call('GET', '/api/v1/contracts', { cookie: tenant.cookie })).status).toBe(200);
});

it('removed: refused at once, gone after a kill too, and no byte of them is in the folder', async () => {
  const gone = await company('vanishing');
  const stays = await company('staying');
  const stream = await streamOf(gone);
  expect((await operate('DELETE', `/${gone.id}?name=staying`)).status).toBe(422);
  const removed = await operate('DELETE', `/${gone.id}?name=vanishing`);
  expect(removed).toMatchObject({ status: 202, body: { id: gone.id, state: 'removing' } });
  await stream.end(1_000);
  expect((await hub.call('GET', '/api/v1/contracts', { cookie: gone.cookie })).status).toBe(403);
  expect((await operate('PATCH', `/${gone.id}`, { suspended: false })).status).toBe(409);
  await hub.kill();
  await hub.start();
  await expect
    .poll(async () => (await operate('GET', `/${gone.id}`)).status, { timeout: 90_000, interval: 500 })
    .toBe(404);
  expect((await hub.call('GET', '/api/v1/contracts', { cookie: gone.cookie })).status).toBe(401);
  expect((await hub.call('GET', '/api/v1/bundles', { cookie: stays.cookie })).body).toHaveLength(1);
  const files = readdirSync(hub.dataDir).filter((name) => name.startsWith('reeve.db'));
  const found = files.filter((name) => {
    const bytes = readFileSync(join(hub.dataDir, name)).toString('latin1');
    return bytes.includes(gone.id) || bytes.includes('vanishing');
  });
  expect(files).not.toEqual([]);
  expect(found).toEqual([]);
}, 120_000);
