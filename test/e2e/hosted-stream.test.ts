// The hosted API's stream for agents, against the real process: what an agent of that vocabulary hears, beside one of the console's.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { HubProcess } from './process.ts';
import { SseClient } from './sse.ts';

const hub = new HubProcess({ LOG_LEVEL: 'warn' });
let cookie = '';
let key = '';
let token = '';

beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
  ({ key } = await hub.key(cookie));
  const given = await hub.call('POST', '/api/v1/auth/operator-token', { cookie });
  token = given.body.token;
});
afterAll(() => hub.remove());

const ruleset = (name: string, message = 'no') => `apiVersion: service/v1
kind: Ruleset
metadata: {name: ${name}}
rules:
  - {id: a, type: pre, tool: send_mail, when: {args.to: {contains: "@evil.com"}}, then: {action: block, message: "${message}"}}
`;

async function put(name: string, yaml: string): Promise<{ version: number; revision_hash: string }> {
  const response = await fetch(`${hub.url}/v1/rulesets/${name}`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/x-yaml' },
    body: yaml,
  });
  const body = await response.json();
  expect({ status: response.status, body }).toMatchObject({ status: 201 });
  return body as { version: number; revision_hash: string };
}

const open = (query: string, agent: string) =>
  SseClient.open(`${hub.url}/v1/stream?${query}`, {
    Authorization: `Bearer ${key}`,
    'X-Service-Agent-Id': agent,
  });

it('tells of a deployed ruleset without its text, and sends the document to a stream that names it', async () => {
  const named = await open('env=production&bundle_name=mail', 'named');
  const bare = await open('', 'bare');
  const console_ = await SseClient.open(`${hub.url}/api/v1/stream?env=production&bundle_name=mail`, {
    Authorization: `Bearer ${key}`,
    'X-Service-Agent-Id': 'console',
  });
  expect([named.status, bare.status, console_.status]).toEqual([200, 200, 200]);
  const made = await put('mail', ruleset('mail'));
  const told = (await named.next('ruleset_updated')).data;
  expect(told).toMatchObject({
    type: 'ruleset_updated',
    name: 'mail',
    version: made.version,
    revision_hash: made.revision_hash,
    env: 'production',
  });
  expect(JSON.stringify(told)).not.toContain('yaml');
  expect(told.signature).toMatch(/^[A-Za-z0-9+/]{86}==$/);
  expect(told.key_id).toMatch(/^[0-9a-f]{16}$/);
  const update = (await named.next('contract_update')).data;
  expect(Buffer.from(update.yaml_bytes, 'base64').toString()).toBe(ruleset('mail'));
  expect(update.signature).toBe(told.signature);
  await bare.next('ruleset_updated');
  // The console's stream has its own words and its own signature.
  expect((await console_.next('contract_update')).data.signature).toMatch(/^[0-9a-f]{128}$/);
  expect(console_.frames.map(({ event }) => event)).not.toContain('ruleset_updated');
  // A document that nobody named never reaches a stream that follows none.
  expect(bare.frames.map(({ event }) => event)).not.toContain('contract_update');
  for (const client of [named, bare, console_]) client.close();
});

it('says at once what an agent missed, and nothing to one that runs it', async () => {
  const made = await put('late', ruleset('late'));
  const behind = await open(`env=production&bundle_name=late&policy_version=${'0'.repeat(64)}`, 'behind');
  expect((await behind.next('ruleset_updated')).data.revision_hash).toBe(made.revision_hash);
  const current = await open(
    `env=production&bundle_name=late&policy_version=${made.revision_hash}`,
    'current',
  );
  const next = await put('late', ruleset('late', 'still no'));
  expect((await current.next('ruleset_updated')).data.version).toBe(next.version);
  expect(current.frames.filter(({ event }) => event === 'ruleset_updated')).toHaveLength(1);
  behind.close();
  current.close();
});

it('follows what the agent is assigned', async () => {
  const client = await open('env=production', 'moved');
  await put('own', ruleset('own'));
  const assigned = await hub.call('PATCH', '/api/v1/agent-registrations/moved', {
    cookie,
    body: { bundle_name: 'own' },
  });
  expect(assigned.status).toBe(200);
  expect((await client.next('assignment_changed')).data).toMatchObject({ bundle_name: 'own' });
  expect((await client.next('contract_update')).data.bundle_name).toBe('own');
  client.close();
});

it('says plainly that a position is unknown, and refuses another environment as a problem document', async () => {
  const client = await SseClient.open(`${hub.url}/v1/stream?bundle_name=mail`, {
    Authorization: `Bearer ${key}`,
    'X-Service-Agent-Id': 'back',
    'Last-Event-ID': 'nonsense',
  });
  await client.next('ruleset_updated');
  expect(client.comments.some((comment) => comment.startsWith(':gap'))).toBe(true);
  client.close();
  const wrong = await fetch(`${hub.url}/v1/stream?env=staging`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  expect(wrong.status).toBe(403);
  expect(wrong.headers.get('content-type')).toContain('application/problem+json');
  expect(await wrong.json()).toMatchObject({ code: 'env_mismatch' });
  const none = await fetch(`${hub.url}/v1/stream`);
  expect(none.status).toBe(401);
});
