// The log of two nodes through the outages of both stores, a takeover and a drain: what happened is there once, with
// the node, the tenant, the environment and the agent, and nothing fills it. Per commit, hub-outage.test.ts counts the
// lines of shorter outages.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HubProcess } from '../e2e/process.ts';
import { SseClient } from '../e2e/sse.ts';
import { isNightly } from '../runs.ts';
import { type Services, startServices } from '../services/start.ts';
import { eventually, type Nodes, startNodes } from './nodes.ts';

interface Line {
  readonly level: number | string;
  readonly msg: string;
  readonly node?: string;
  readonly [field: string]: unknown;
}

/** Most lines of one message on one node, through two outages that fail 60 calls each. */
const mostLines = 4;

describe.runIf(isNightly)('the log of two nodes', () => {
  let services: Services;
  let nodes: Nodes;
  let cookie = '';
  let key = '';
  let tenantId = '';
  let callNumber = 0;
  let isSending = true;
  let refusals = 0;
  let senders: Promise<unknown> = Promise.resolve();

  const linesOf = (i: number): readonly Line[] =>
    nodes
      .at(i)
      .printed.split('\n')
      .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Line] : []));
  const logged = (i: number, message: string) => linesOf(i).filter(({ msg }) => msg === message);
  const ready = async (node: HubProcess) => (await node.call('GET', '/api/v1/health/ready')).status;
  const allBecome = (status: number) =>
    eventually(
      `all nodes answer ${status}`,
      async () => {
        const answers = await Promise.all(nodes.alive.map((i) => ready(nodes.at(i))));
        return answers.every((one) => one === status) || undefined;
      },
      40_000,
    );

  /** Events, approvals and reads without end: an outage fails all of them. */
  async function sendFrom(i: number): Promise<void> {
    while (isSending) {
      const event = {
        call_id: `call-${++callNumber}`,
        agent_id: 'agent-1',
        tool_name: 't',
        verdict: 'call_allowed',
        mode: 'enforce',
        timestamp: new Date().toISOString(),
      };
      const node = nodes.at(i);
      const approval = { tool_name: 't', message: 'may I?', timeout: 5 };
      const calls = [
        node.call('POST', '/api/v1/events', { key, body: { events: [event] } }),
        node.call('POST', '/api/v1/approvals', { key, agent: 'agent-1', body: approval }),
        node.call('GET', '/api/v1/events?limit=1', { cookie }),
      ];
      const answers = await Promise.all(calls).catch(() => []);
      refusals += answers.filter(({ status }) => status === 503).length;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  beforeAll(async () => {
    services = await startServices({ own: true });
    nodes = await startNodes({
      count: 2,
      mongoUrl: services.mongoUrl,
      redisUrl: services.redisUrl,
      env: { LOG_LEVEL: 'info' },
    });
    cookie = await nodes.at(0).admin();
    ({ key } = await nodes.at(0).key(cookie));
    tenantId = (await nodes.at(0).call('GET', '/api/v1/auth/me', { cookie })).body.tenant_id;
    await allBecome(200);
    senders = Promise.all([sendFrom(0), sendFrom(1)]);
  }, 90_000);
  afterAll(async () => {
    isSending = false;
    await senders;
    await nodes?.remove();
    await services?.stop();
  });

  /** Resolves when this outage has failed so many calls. */
  async function refuse(count: number): Promise<void> {
    const before = refusals;
    await eventually('calls fail', () => refusals - before >= count || undefined, 40_000);
  }

  it('names the outage of each store and its end once on each node', async () => {
    await services.redis.kill9();
    await allBecome(503);
    await refuse(60);
    await services.redis.start();
    await allBecome(200);
    await services.mongo.kill9();
    await allBecome(503);
    await refuse(60);
    await services.mongo.start();
    await allBecome(200);
    for (const i of [0, 1]) {
      // A server that worked before has ended: nothing about TLS.
      const [loss] = logged(i, 'cannot use redis');
      expect(loss?.cause).toMatch(/Check that it runs/);
      for (const message of ['cannot use redis', 'redis is back', 'the store is back'])
        expect([i, message, logged(i, message).length]).toEqual([i, message, 1]);
    }
  }, 150_000);

  it('names the streams that a drain ended, and the takeover of the shards, once', async () => {
    const stream = (agent: string, env: string) =>
      SseClient.open(`${nodes.at(1).url}/api/v1/stream?env=${env}`, {
        Authorization: `Bearer ${key}`,
        'X-Service-Agent-Id': agent,
      });
    const streams = [await stream('agent-1', 'production')];
    const takeovers = logged(0, 'took over shards').length;
    expect(await nodes.stop(1)).toBe(0);
    for (const one of streams) one.close();
    await eventually('the takeover', () => logged(0, 'took over shards').length > takeovers || undefined);
    // The connections that the node closes are no outage.
    expect(logged(1, 'cannot use redis')).toHaveLength(1);
    const ends = linesOf(1).filter(({ msg }) => msg === 'a stream ended');
    expect(ends).toEqual([
      expect.objectContaining({
        ...{ tenant_id: tenantId, env: 'production', agent_id: 'agent-1', reason: expect.any(String) },
        node: expect.any(String),
      }),
    ]);
  }, 60_000);

  it('has the node in every line, and one message a few times at most', async () => {
    isSending = false;
    await senders;
    for (const i of [0, 1]) {
      const lines = linesOf(i);
      expect(lines.filter(({ node }) => node === undefined)).toEqual([]);
      const counts = new Map<string, number>();
      // One line for each request is the access log, at level info.
      // At the start, two nodes can build the indexes of one collection each.
      for (const { msg, collection } of lines.filter((line) => line.msg !== 'request')) {
        const message = collection === undefined ? msg : `${msg}: ${String(collection)}`;
        counts.set(message, (counts.get(message) ?? 0) + 1);
      }
      expect([...counts].filter(([, count]) => count > mostLines)).toEqual([]);
    }
  });
});
