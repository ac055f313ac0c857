// Approvals against the real process: the deadline through a crash, many deciders at once, the deadline itself as a
// rival, the rate limit.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HubProcess } from './process.ts';
import { SseClient } from './sse.ts';

const hub = new HubProcess({ LOG_LEVEL: 'warn' });
let cookie = '';
let key = '';
let agents = 0;

beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
  key = (await hub.key(cookie)).key;
});
afterAll(async () => {
  await hub.remove();
});

/** Asks as an agent of its own, so that no limit is in the way. */
async function ask(timeout: number) {
  const agent = `agent-${++agents}`;
  const asked = await hub.call('POST', '/api/v1/approvals', {
    key,
    agent,
    body: { agent_id: agent, tool_name: 't', message: 'm', timeout, timeout_effect: 'allow' },
  });
  expect(asked.status).toBe(201);
  return { id: asked.body.id as string, agent, deadline: Date.parse(asked.body.created_at) + timeout * 1000 };
}
const read = async (id: string) => (await hub.call('GET', `/api/v1/approvals/${id}`, { key })).body;
const decide = (id: string, approved: boolean) =>
  hub.call('PUT', `/api/v1/approvals/${id}`, { cookie, body: { approved } });
const dashboard = () => SseClient.open(`${hub.url}/api/v1/stream/dashboard`, { Cookie: cookie });
/** A dashboard's message about an approval's end. */
const ends = (client: SseClient, id: string) =>
  client.frames.filter(
    ({ event, data }) =>
      data.approval_id === id && (event === 'approval_decided' || event === 'approval_timeout'),
  );
async function heard(client: SseClient, id: string, count = 1): Promise<void> {
  while (ends(client, id).length < count) await client.more();
}

describe('a crash', () => {
  it('before the deadline: it comes at its time, never early, at most 2 s late, and is told once', async () => {
    // Long enough for a start on a busy machine.
    const approval = await ask(5);
    await hub.kill();
    await hub.start();
    const started = Date.now();
    const client = await dashboard();
    // Nobody wakes the environment's actor: the sweep does.
    await heard(client, approval.id);
    const now = Date.now();
    expect(now).toBeGreaterThanOrEqual(approval.deadline);
    expect(now - Math.max(approval.deadline, started)).toBeLessThan(2000);
    expect(await read(approval.id)).toMatchObject({
      status: 'timeout',
      timeout_effect: 'allow',
      decided_via: 'system',
      decided_by: null,
      decided_at: null,
    });
    expect((await decide(approval.id, true)).status).toBe(409);
    expect(ends(client, approval.id).map(({ event }) => event)).toEqual(['approval_timeout']);
    client.close();
  });

  it('over the deadline: it reads as timed out from the first moment and cannot be decided', async () => {
    const approval = await ask(1);
    await hub.kill();
    while (Date.now() < approval.deadline) await new Promise((resolve) => setTimeout(resolve, 50));
    await hub.start();
    const [reading, refused, client] = await Promise.all([
      read(approval.id),
      decide(approval.id, true),
      dashboard(),
    ]);
    expect(reading.status).toBe('timeout');
    expect(refused.status).toBe(409);
    const listed = await hub.call('GET', '/api/v1/approvals?status=timeout', { cookie });
    expect(listed.body.map(({ id }: { id: string }) => id)).toContain(approval.id);
    expect((await hub.call('GET', '/api/v1/approvals?status=pending', { cookie })).body).toEqual([]);
    expect((await hub.call('GET', '/api/v1/stats/overview', { cookie })).body.pending_approvals).toBe(0);
    client.close();
  });

  it('after a decision: the decision stands', async () => {
    const approval = await ask(60);
    expect((await decide(approval.id, false)).status).toBe(200);
    await hub.kill();
    await hub.start();
    expect(await read(approval.id)).toMatchObject({ status: 'denied', decided_by: 'admin@example.com' });
    expect((await decide(approval.id, true)).status).toBe(409);
  });
});

describe('many at once', () => {
  it('of 50 parallel decisions one wins; agent, dashboards and store agree', async () => {
    const approval = await ask(60);
    const client = await dashboard();
    const agent = await SseClient.open(`${hub.url}/api/v1/stream?env=production`, {
      Authorization: `Bearer ${key}`,
      'X-Service-Agent-Id': approval.agent,
    });
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => decide(approval.id, i % 2 === 0)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(49).fill(409)]);
    const won = answers.find(({ status }) => status === 200)?.body;
    expect((await agent.next('approval_decided')).data.status).toBe(won.status);
    await heard(client, approval.id);
    expect(ends(client, approval.id).map(({ data }) => data.status)).toEqual([won.status]);
    // Whom it is assigned to concerns people alone.
    const { assignee, ...forAgents } = won;
    expect(assignee).toBeNull();
    expect(await read(approval.id)).toEqual(forAgents);
    agent.close();
    client.close();
  });

  it('decisions around the deadline: one terminal state, told once, the same everywhere', async () => {
    const client = await dashboard();
    const approvals = await Promise.all(Array.from({ length: 20 }, () => ask(1)));
    const outcomes = await Promise.all(
      approvals.map(async ({ id, deadline }, i) => {
        // From 10 ms before to 9 ms after.
        const at = deadline - 10 + i;
        while (Date.now() < at)
          await new Promise((resolve) => setTimeout(resolve, Math.max(0, at - Date.now())));
        return { id, answer: await decide(id, true) };
      }),
    );
    for (const { id, answer } of outcomes) {
      await heard(client, id);
      const { status } = await read(id);
      expect(status).toBe(answer.status === 200 ? 'approved' : 'timeout');
      expect(ends(client, id).map(({ event }) => event)).toEqual([
        answer.status === 200 ? 'approval_decided' : 'approval_timeout',
      ]);
    }
    client.close();
  });
});

it('the 11th request of an agent in 60 s is refused with Retry-After; other agents are not', async () => {
  const body = { agent_id: 'ignored', tool_name: 't', message: 'm' };
  const statuses = [];
  for (let i = 0; i < 10; i++)
    statuses.push((await hub.call('POST', '/api/v1/approvals', { key, agent: 'eager', body })).status);
  expect(statuses).toEqual(Array(10).fill(201));
  const refused = await hub.call('POST', '/api/v1/approvals', { key, agent: 'eager', body });
  expect(refused).toMatchObject({
    status: 429,
    body: { detail: 'Too many approval requests. Please slow down.', code: 'rate_limited' },
  });
  const wait = Number(refused.headers.get('retry-after'));
  expect(wait).toBeGreaterThan(0);
  expect(wait).toBeLessThanOrEqual(60);
  expect((await hub.call('POST', '/api/v1/approvals', { key, agent: 'calm', body })).status).toBe(201);
});
