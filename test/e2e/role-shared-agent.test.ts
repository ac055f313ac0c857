// What a person with a role in one environment reads about an agent of two environments, and about things that belong
// to all environments: nothing from the other one. Against the real process. Keeps promise P62.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bundleYaml } from '../contract/library.ts';
import { SharedHub } from './shared-hub.ts';

const hub = new SharedHub();
const agent = 'agent-of-both';
let admin: string;
let person: string;

const read = async (path: string, cookie = person) => hub.call('GET', `/api/v1/${path}`, { cookie });

async function change(path: string, body: unknown) {
  const answer = await hub.call('POST', `/api/v1/${path}`, { cookie: admin, body });
  expect([path, answer.status]).toEqual([path, 201]);
  return answer.body;
}

async function report(key: string, callId: string, agentId = agent) {
  const event = {
    call_id: callId,
    agent_id: agentId,
    tool_name: 'transfer',
    verdict: 'call_allowed',
    mode: 'enforce',
    timestamp: new Date().toISOString(),
  };
  const answer = await hub.call('POST', '/api/v1/events', { key, agent: agentId, body: { events: [event] } });
  expect(answer.body).toMatchObject({ accepted: 1 });
}

beforeAll(async () => {
  await hub.start();
  admin = await hub.admin();
  const email = hub.emailOf('staging');
  await change('users', {
    email,
    password: 'correct horse battery',
    roles: [{ role: 'operator', env: 'staging' }],
  });
  person = await hub.login(email);
  await change('bundles', { yaml_content: bundleYaml('shared') });
  await change('bundles/shared/1/deploy', { env: 'staging' });
  const [production, staging] = [
    (await hub.key(admin, 'production')).key,
    (await hub.key(admin, 'staging')).key,
  ];
  // The first and the newest event are from production.
  await report(production, 'first');
  await report(staging, 'second');
  await report(production, 'third');
  await report(production, 'hidden', 'agent-of-production');
  await change('assignment-rules', {
    priority: 1,
    pattern: 'agent-*',
    bundle_name: 'production-only',
    env: 'production',
  });
  await change('assignment-rules', {
    priority: 2,
    pattern: 'agent-of-both',
    bundle_name: 'shared',
    env: 'staging',
  });
  const assigned = await hub.call('PATCH', '/api/v1/agent-registrations/agent-of-production', {
    cookie: admin,
    body: { bundle_name: 'assigned-in-production' },
  });
  expect(assigned.status).toBe(200);
  await change('notifications/channels', {
    name: 'all',
    channel_type: 'webhook',
    config: { url: 'http://127.0.0.1:9/hook' },
  });
  for (const key of [production, staging]) {
    const asked = await hub.call('POST', '/api/v1/approvals', {
      key,
      agent,
      body: { agent_id: agent, tool_name: 'transfer', message: 'm', timeout: 3600 },
    });
    expect(asked.status).toBe(201);
  }
}, 60_000);
afterAll(() => hub.remove());

it('has a history in the own environment, although its newest event is from another', async () => {
  const { status, body } = await read(`agents/${agent}/history`);
  expect([status, body.environment]).toEqual([200, 'staging']);
  const firstSeen = body.events.find(({ type }: { type: string }) => type === 'first_seen');
  expect(firstSeen).toMatchObject({ environment: 'staging' });
  expect((await read(`agents/${agent}/history`, admin)).body.environment).toBe('production');
});

it('resolves by the rules of the own environment, and agents of other environments as unknown ones', async () => {
  const resolved = async (id: string, cookie = person) =>
    (await read(`assignment-rules/resolve/${id}`, cookie)).body;
  expect(await resolved(agent)).toMatchObject({ bundle_name: 'shared', rule_pattern: 'agent-of-both' });
  expect(await resolved('agent-of-production')).toEqual(await resolved('absent'));
  expect(await resolved('agent-of-production')).toMatchObject({ bundle_name: null, source: 'none' });
  expect(await resolved(agent, admin)).toMatchObject({ bundle_name: 'production-only' });
  expect(await resolved('agent-of-production', admin)).toMatchObject({ source: 'explicit' });
});

it("counts the own environment's approvals and runs in the health of an agent", async () => {
  const health = async (cookie: string) => {
    const { body } = await hub.call('POST', '/api/v1/auth/operator-token', { cookie });
    const headers = { Authorization: `Bearer ${body.token}` };
    return (await hub.call('GET', `/v1/agents/${agent}`, { headers })).body.health;
  };
  expect(await health(admin)).toMatchObject({ pending_approvals: 2 });
  expect(await health(person)).toMatchObject({ pending_approvals: 1 });
});

it("is in a channel's deliveries with the own environment's approvals alone", async () => {
  const [channel] = (await read('notifications/channels')).body;
  const path = `notifications/channels/${channel.id}/deliveries`;
  await expect.poll(async () => (await read(path, admin)).body.length, { timeout: 10_000 }).toBe(2);
  const [approval] = (await read('approvals')).body;
  const deliveries = (await read(path)).body as { approval_id: string }[];
  expect(deliveries.map(({ approval_id }) => approval_id)).toEqual([approval.id]);
  // Its pages count what is visible: the other environment's delivery has no place in them.
  const first = await read(`${path}?limit=1`);
  expect([first.body.length, first.headers.get('link') ?? '']).toEqual([
    1,
    expect.not.stringContaining('next'),
  ]);
  expect((await read(`${path}?limit=1&offset=1`)).body).toEqual([]);
});
