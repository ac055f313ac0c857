// Nodes on machines whose clocks are wrong are one hub all the same: one time holds on all of them.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SseClient } from '../e2e/sse.ts';
import { rowsOfRun } from '../runs.ts';
import { eventually, type Nodes, startNodes } from './nodes.ts';

const minuteMs = 60_000;
/** The tolerance between answers of nodes: requests under way, and how well Redis's time is known. */
const slackMs = 3_000;

const errors = [
  ['an hour', 60 * minuteMs],
  ['minutes', 2 * minuteMs],
] as const;

describe.each(rowsOfRun(errors, 1))('nodes whose clocks are %s ahead and behind', (_, error) => {
  let nodes: Nodes;
  let cookie = '';
  const keys: string[] = [];
  const envs = ['production', 'staging', 'development'];

  beforeAll(async () => {
    nodes = await startNodes({
      count: 3,
      clockErrors: [0, error, -error],
      env: { BASE_URL: 'http://hub.test' },
    });
    cookie = await nodes.at(0).admin();
    for (const env of envs) keys.push((await nodes.at(0).key(cookie, env)).key);
  });
  afterAll(async () => {
    await nodes?.remove();
  });

  it('tell who follows events of all that any node stores', async () => {
    const followers = await Promise.all(
      [0, 1, 2].map((i) =>
        SseClient.open(`${nodes.at(i).url}/v1/stream`, {
          Authorization: `Bearer ${keys[0]}`,
          'X-Service-Agent-Id': 'follower',
        }),
      ),
    );
    const calls = Array.from({ length: 9 }, (_, n) => `call-${n}`);
    for (const [n, call_id] of calls.entries()) {
      const body = { events: [{ call_id, agent_id: 'follower', tool_name: 't', action: 'call_allowed' }] };
      const stored = await nodes.at((n + 1) % 3).call('POST', '/v1/events', { key: keys[0] ?? '', body });
      expect(stored.body).toMatchObject({ accepted: 1 });
      // One after another, so that readers are told of each by itself.
      await Promise.all(
        followers.map((one) =>
          eventually(
            `event ${n} at every follower`,
            () => one.frames.some(({ data }) => data?.call_id === call_id) || undefined,
            6_000,
          ),
        ),
      );
    }
    for (const one of followers) one.close();
  });

  it('keep approvals open until their time, whoever is asked and whoever owns them', async () => {
    const asked: { readonly id: string; readonly at: number }[] = [];
    const timeout = 6;
    for (const [n, key] of keys.entries()) {
      for (const i of [0, 1, 2]) {
        const at = Date.now();
        const body = { agent_id: `a${i}`, tool_name: 'delete_file', message: `May I ${n} ${i}?`, timeout };
        const answer = await nodes.at(i).call('POST', '/api/v1/approvals', { key, agent: `a${i}`, body });
        expect(answer.status, JSON.stringify(answer.body)).toBe(201);
        expect(Math.abs(Date.parse(answer.body.created_at) - at)).toBeLessThan(slackMs);
        asked.push({ id: answer.body.id, at });
      }
    }
    const [first, ...others] = asked;
    const body = { approved: true };
    expect((await nodes.at(2).call('PUT', `/api/v1/approvals/${first?.id}`, { cookie, body })).status).toBe(
      200,
    );
    const lifetimes = await Promise.all(
      others.map(async ({ id, at }, n) => {
        const timedOut = async () => {
          const found = await nodes.at(n % 3).call('GET', `/api/v1/approvals/${id}`, { cookie });
          return found.body.status === 'timeout' || undefined;
        };
        await eventually('the end of an approval', timedOut, timeout * 1000 + 2 * slackMs);
        return Date.now() - at;
      }),
    );
    console.log(
      `clocks wrong by ${error / 1000} s: asked for ${timeout} s, timed out after ${lifetimes.join(', ')} ms`,
    );
    expect(Math.min(...lifetimes)).toBeGreaterThan(timeout * 1000 - slackMs);
    expect(Math.max(...lifetimes)).toBeLessThan(timeout * 1000 + slackMs);
  });

  it('take the tokens that another node gave', async () => {
    for (const i of [0, 1, 2]) {
      const given = await nodes.at(i).call('POST', '/api/v1/auth/operator-token', { cookie });
      expect(given.status, JSON.stringify(given.body)).toBeLessThan(300);
      for (const node of nodes.nodes) {
        const { status, body } = await node.call('GET', '/v1/approvals', {
          headers: { Authorization: `Bearer ${given.body.token}` },
        });
        expect(status, JSON.stringify(body)).toBe(200);
      }
    }
  });

  it('record in the audit chain when things were done', async () => {
    for (const i of [0, 1, 2]) {
      const since = Date.now();
      const made = await nodes
        .at(i)
        .call('POST', '/api/v1/keys', { cookie, body: { env: 'staging', label: `k${i}` } });
      expect(made.status).toBe(201);
      const { body } = await nodes.at(0).call('GET', '/v1/audit?limit=1', {
        headers: { Authorization: `Bearer ${(await token()).token}` },
      });
      expect(Math.abs(Date.parse(body.entries[0].occurred_at) - since)).toBeLessThan(slackMs);
    }
  });

  const token = async () => (await nodes.at(0).call('POST', '/api/v1/auth/operator-token', { cookie })).body;
});
