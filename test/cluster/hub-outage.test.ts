// A hub of two nodes that loses Redis, then its store: what stays, what answers 503, what the health tells, what the
// log says once, and how it comes back by itself.
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SseClient } from '../e2e/sse.ts';
import { type Services, startServices } from '../services/start.ts';
import { eventually, type Nodes, startNodes } from './nodes.ts';

const yaml = `apiVersion: service/v1
kind: ContractBundle
metadata:
  name: guard
defaults:
  mode: enforce
contracts:
  - id: no-secrets
    type: pre
    tool: read_file
    when:
      args.path: { contains: ".env" }
    then:
      effect: deny
      message: "no secrets"
`;

/** Calls that an outage fails on each node, beside each other. */
const failures = 30;

describe('two nodes', () => {
  let services: Services;
  let nodes: Nodes;
  let cookie = '';
  let key = '';
  let tenantId = '';
  let stream: SseClient;
  /** A key that is revoked while Redis is away, and a stream that it opened. */
  let lostKey: { readonly id: string; readonly key: string };
  let lostStream: SseClient;

  const deploy = (i: number) =>
    nodes.at(i).call('POST', '/api/v1/bundles/guard/1/deploy', { cookie, body: { env: 'production' } });
  /** Lines of each node's log with this message. The last line may be unfinished. */
  const logged = (message: string): readonly (readonly Record<string, unknown>[])[] =>
    nodes.nodes.map(({ printed }) =>
      printed
        .split('\n')
        .slice(0, -1)
        .flatMap((line) => {
          const entry = line.startsWith('{') ? JSON.parse(line) : null;
          return entry?.msg === message ? [entry] : [];
        }),
    );
  /** An outage and its end stand once in each node's log, however many calls failed. */
  const loggedOnce = (...messages: readonly string[]) =>
    expect
      .poll(() => messages.map((message) => [message, ...logged(message).map(({ length }) => length)]))
      .toEqual(messages.map((message) => [message, 1, 1]));
  const ready = (i: number) => nodes.at(i).call('GET', '/api/v1/health/ready');
  /** Both nodes, as Kubernetes asks: what no node reaches takes none of them out. */
  const bothServe = () =>
    eventually('both nodes ready for their own part', async () => {
      const path = '/api/v1/health/ready?scope=node';
      const answers = await Promise.all([0, 1].map((i) => nodes.at(i).call('GET', path)));
      return answers.every(({ status }) => status === 200) || undefined;
    });
  const bothReady = () =>
    eventually('both nodes ready', async () => {
      const answers = await Promise.all([ready(0), ready(1)]);
      return answers.every(({ status }) => status === 200) || undefined;
    });

  beforeAll(async () => {
    services = await startServices({ own: true });
    const { mongoUrl, redisUrl } = services;
    nodes = await startNodes({ count: 2, mongoUrl, redisUrl, env: { LOG_LEVEL: 'info' } });
    cookie = await nodes.at(0).admin();
    ({ key } = await nodes.at(0).key(cookie));
    tenantId = (await nodes.at(0).call('GET', '/api/v1/auth/me', { cookie })).body.tenant_id;
    await nodes.at(0).call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: yaml } });
    stream = await SseClient.open(`${nodes.at(1).url}/api/v1/stream?env=production`, {
      Authorization: `Bearer ${key}`,
      'X-Service-Agent-Id': 'agent-1',
    });
    await deploy(0);
    await stream.next('contract_update');
    lostKey = await nodes.at(0).key(cookie);
    lostStream = await SseClient.open(`${nodes.at(1).url}/api/v1/stream?env=production`, {
      Authorization: `Bearer ${lostKey.key}`,
      'X-Service-Agent-Id': 'agent-2',
    });
  });
  afterAll(async () => {
    stream?.close();
    lostStream?.close();
    await nodes?.remove();
    await services?.stop();
  });

  it('without Redis keep streams and reads, answer 503 to what needs an actor or is counted, and say that they are not ready', async () => {
    await services.redis.kill9();
    const begun = performance.now();
    const down = await eventually('not ready, with the loops named', async () => {
      const answer = await ready(0);
      if (answer.status !== 503) return undefined;
      const { cache, workers } = answer.body;
      return (
        (!cache.connected && workers.leases === 'crashed' && workers.consumer === 'crashed') || undefined
      );
    });
    console.log(`Redis gone: both loops named after ${Math.round(down.tookMs)} ms`);
    expect(down.tookMs).toBeLessThan(10_000);
    await bothServe();
    for (const i of [0, 1]) {
      const refused = await deploy(i);
      expect(refused.status, JSON.stringify(refused.body)).toBe(503);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await nodes.at(i).call('GET', '/api/v1/bundles', { cookie })).status).toBe(200);
      expect((await nodes.at(i).call('GET', '/api/v1/health/live')).status).toBe(200);
      // Limits that hold over all nodes cannot be counted, and let nothing through.
      const event = {
        call_id: 'c1',
        agent_id: 'agent-1',
        tool_name: 't',
        verdict: 'call_allowed',
        mode: 'enforce',
      };
      const events = [{ ...event, timestamp: new Date().toISOString() }];
      for (const [path, body] of [
        ['/api/v1/events', { events }],
        ['/api/v1/approvals', { tool_name: 't', message: 'm' }],
      ] as const) {
        const closed = await nodes.at(i).call('POST', path, { key, agent: 'agent-1', body });
        expect(closed.status, JSON.stringify(closed.body)).toBe(503);
        expect(closed.body.code ?? closed.body.detail).toBeDefined();
        expect(Number(closed.headers.get('retry-after'))).toBeGreaterThan(0);
      }
      const details = await nodes.at(i).call('GET', '/api/v1/health/details', { cookie });
      expect(details.body.status).toBe('degraded');
    }
    const fail = () => Promise.all([0, 1].map(async (i) => (await deploy(i)).status));
    expect(new Set((await Promise.all(Array.from({ length: failures }, fail))).flat())).toEqual(
      new Set([503]),
    );
    expect(stream.ended).toBe(false);
    console.log(`outage of ${Math.round(performance.now() - begun)} ms`);
  });

  /** Status of a call with the revoked key; an agent may read its approvals without Redis. */
  const statusWithLostKey = async (i: number) =>
    (await nodes.at(i).call('GET', '/api/v1/approvals/none', { key: lostKey.key, agent: 'agent-2' })).status;

  it('without Redis store a revocation, and refuse its key at once on the node that received the call', async () => {
    expect(await statusWithLostKey(0)).not.toBe(401);
    expect(await statusWithLostKey(1)).not.toBe(401);
    const revoke = () => nodes.at(0).call('DELETE', `/api/v1/keys/${lostKey.id}`, { cookie });
    expect([(await revoke()).status, (await revoke()).status]).toEqual([503, 404]);
    expect(await statusWithLostKey(0)).toBe(401);
    expect(lostStream.ended).toBe(false);
  });

  it('come back by themselves within 10 s of its return, with the same streams', async () => {
    await services.redis.start();
    const begun = performance.now();
    await bothReady();
    const before = stream.frames.length;
    await eventually('a deployment', async () => ((await deploy(0)).status === 201 ? true : undefined));
    expect(performance.now() - begun).toBeLessThan(10_000);
    await stream.next('contract_update', before);
    await expect.poll(() => [lostStream.ended, stream.ended]).toEqual([true, false]);
    expect(await statusWithLostKey(1)).toBe(401);
    console.log(
      `Redis back: a deployment reached the old stream after ${Math.round(performance.now() - begun)} ms`,
    );
    expect(stream.ended).toBe(false);
    await eventually('the agent on the roster', async () => {
      const { body } = await nodes.at(0).call('GET', '/api/v1/agents/status', { cookie });
      return body.agents?.length === 1 || undefined;
    });
    const ids = stream.frames.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    await loggedOnce('cannot use redis', 'redis is back');
    // A server that worked before has ended: nothing about TLS.
    for (const [loss] of logged('cannot use redis')) expect(loss?.cause).toMatch(/Check that it runs/);
  });

  it('tell their streams to start anew when Redis comes back without its log, and own all shards again', async () => {
    const redis = await createClient({ url: services.redisUrl }).connect();
    await redis.sendCommand(['FLUSHALL']);
    redis.destroy();
    await services.redis.kill9();
    const before = stream.frames.length;
    await services.redis.start();
    expect((await stream.next('resync', before, 10_000)).data).toMatchObject({ type: 'resync' });
    await bothReady();
    const from = stream.frames.length;
    await eventually('a deployment', async () => ((await deploy(0)).status === 201 ? true : undefined));
    await stream.next('contract_update', from);
    expect(stream.ended).toBe(false);
  });

  it('say without the store that they are not ready, answer 503, and come back by themselves', async () => {
    await services.mongo.kill9();
    const down = await eventually('not ready', async () => {
      const answer = await ready(0);
      return (answer.status === 503 && !answer.body.database.connected) || undefined;
    });
    expect(down.tookMs).toBeLessThan(10_000);
    await bothServe();
    const refused = await deploy(0);
    expect(refused.status, JSON.stringify(refused.body)).toBe(503);
    expect(refused.headers.get('retry-after')).not.toBeNull();
    expect(stream.ended).toBe(false);
    await services.mongo.start();
    const begun = performance.now();
    await bothReady();
    await eventually('a deployment', async () => ((await deploy(1)).status === 201 ? true : undefined));
    console.log(`store back: a deployment went through after ${Math.round(performance.now() - begun)} ms`);
    expect(performance.now() - begun).toBeLessThan(10_000);
    await loggedOnce('the store is back');
  });

  it('name the streams that a drain ended, and each node in its lines', async () => {
    expect(await nodes.stop(1)).toBe(0);
    expect(logged('a stream ended')).toEqual([
      [],
      [
        expect.objectContaining({ agent_id: 'agent-2', reason: 'revoked' }),
        expect.objectContaining({
          ...{ tenant_id: tenantId, env: 'production', agent_id: 'agent-1', reason: expect.any(String) },
          node: expect.any(String),
        }),
      ],
    ]);
    const lines = nodes.nodes.flatMap(({ printed }) => printed.match(/^\{.*$/gm) ?? []);
    expect(lines.filter((line) => !line.includes('"node":'))).toEqual([]);
  });
});
