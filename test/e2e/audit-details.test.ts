// Details in entries of the audit chain about a change, against the real process: who, by which request and from where,
// and what was there before and after.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bundleYaml, definition } from '../contract/library.ts';
import { SharedHub } from './shared-hub.ts';
import { SseClient } from './sse.ts';

const hub = new SharedHub();
let admin: string;

beforeAll(async () => {
  await hub.start();
  admin = await hub.admin();
});
afterAll(() => hub.remove());

const act = (method: string, path: string, body?: unknown) =>
  hub.call(method, path, { cookie: admin, ...(body === undefined ? {} : { body }) });

interface Entry {
  readonly action_type: string;
  readonly actor: { readonly type: string; readonly id: string; readonly display: string };
  readonly details: { readonly [name: string]: unknown };
}

/** The newest entry of an action. */
async function entryOf(action: string): Promise<Entry> {
  const token = (await act('POST', '/api/v1/auth/operator-token')).body.token as string;
  const { body } = await hub.call('GET', `/v1/audit?scope=all&action_type=${action}`, { key: token });
  expect(body.entries[0]).toBeDefined();
  return body.entries[0];
}

it('a change of a contract names the request, the network and the changed fields, long ones by their digest', async () => {
  const contract = {
    contract_id: 'limit',
    name: 'Limit',
    type: 'pre',
    definition: definition(),
    tags: ['a'],
  };
  expect((await act('POST', '/api/v1/contracts', contract)).status).toBe(201);
  const long = { ...definition(), message: 'x'.repeat(600) };
  const changed = await act('PUT', '/api/v1/contracts/limit', { name: 'Other', definition: long });
  expect(changed.status).toBe(200);
  const entry = await entryOf('contract.updated');
  expect(Object.keys(entry.actor).sort()).toEqual(['display', 'id', 'type']);
  expect(entry.details).toEqual({
    request_id: changed.headers.get('x-request-id'),
    network: '127.0.0.1',
    before: { name: 'Limit', definition: definition() },
    after: {
      name: 'Other',
      definition: { bytes: expect.any(Number), sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
    },
  });
  await act('DELETE', '/api/v1/contracts/limit');
  expect((await entryOf('contract.deleted')).details).toMatchObject({
    before: { name: 'Other' },
    after: null,
  });
});

it('a deployment and an assignment name the request, through the actors that carry them out', async () => {
  const kept = { contract_id: 'kept', name: 'Kept', type: 'pre', definition: definition() };
  await act('POST', '/api/v1/contracts', kept);
  await act('POST', '/api/v1/bundles', { yaml_content: bundleYaml('base') });
  const deployed = await act('POST', '/api/v1/bundles/base/1/deploy', { env: 'staging' });
  expect(deployed.status).toBe(201);
  expect((await entryOf('ruleset.deployed')).details).toMatchObject({
    env: 'staging',
    request_id: deployed.headers.get('x-request-id'),
  });
  await act('POST', '/api/v1/compositions', {
    name: 'composed',
    contracts: [{ contract_id: 'kept', position: 1 }],
  });
  const composed = await act('POST', '/api/v1/compositions/composed/deploy', { env: 'staging' });
  expect(composed.status).toBe(201);
  for (const action of ['bundle.uploaded', 'ruleset.deployed']) {
    expect((await entryOf(action)).details).toMatchObject({
      version: 1,
      request_id: composed.headers.get('x-request-id'),
    });
  }
  const { key } = (await act('POST', '/api/v1/keys', { env: 'staging', label: 'agents' })).body;
  const stream = await SseClient.open(`${hub.url}/api/v1/stream?env=staging`, {
    Authorization: `Bearer ${key}`,
    'X-Service-Agent-Id': 'mail-1',
  });
  const registration = '/api/v1/agent-registrations/mail-1';
  await expect.poll(async () => (await act('GET', registration)).status).toBe(200);
  const assigned = await act('PATCH', registration, { bundle_name: 'base' });
  expect(assigned.status).toBe(200);
  expect(await entryOf('agent.assigned')).toMatchObject({
    agent_id: 'mail-1',
    summary: 'The agent mail-1 is assigned the bundle base.',
    details: {
      request_id: assigned.headers.get('x-request-id'),
      before: { bundle_name: null },
      after: { bundle_name: 'base' },
    },
  });
  stream.close();
});

it('a change of a secret does not show it', async () => {
  const secret = 'sk-a-very-secret-key-of-somebody';
  const settings = { provider: 'hosted_a', api_key: secret, model: 'm' };
  const put = await act('PUT', '/api/v1/settings/ai', settings);
  expect(put.status).toBe(200);
  const entry = await entryOf('setting.updated');
  expect(entry.details).toMatchObject({ key_changed: true, before: null, after: { model: 'm' } });
  expect(JSON.stringify(entry)).not.toContain(secret.slice(3, 12));
});
