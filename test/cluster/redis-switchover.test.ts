// Redis's address moves to another server while the old one stays up as its replica: a hub goes on by itself, and logs
// it once. And a server that may evict keys.
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Forwarder, startForwarder } from '../services/forwarder.ts';
import { type Service, startOwnRedis } from '../services/start.ts';
import { eventually, type Nodes, startNodes } from './nodes.ts';

const yaml = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guard }
defaults: { mode: enforce }
contracts:
  - { id: a, type: pre, tool: t, when: { args.path: { contains: x } }, then: { effect: deny, message: m } }
`;

const portOf = (service: Service): number => Number(new URL(service.url).port);

/** One command on one server, past the forwarder. */
async function command(service: Service, ...args: string[]): Promise<string> {
  const client = await createClient({ url: service.url }).connect();
  try {
    return String(await client.sendCommand(args));
  } finally {
    client.destroy();
  }
}

describe("a hub whose Redis's address moves", () => {
  let first: Service;
  let second: Service;
  let stops: (() => Promise<void>)[] = [];
  let forwarder: Forwarder;
  let nodes: Nodes;
  let cookie = '';

  const deploy = () =>
    nodes.at(0).call('POST', '/api/v1/bundles/guard/1/deploy', { cookie, body: { env: 'production' } });
  const status = async () => (await nodes.at(0).call('GET', '/api/v1/health/ready')).status;
  const logged = (words: string) => nodes.at(0).output.split(words).length - 1;

  beforeAll(async () => {
    const started = [await startOwnRedis('everysec'), await startOwnRedis('everysec')] as const;
    stops = started.map(({ stop }) => stop);
    [first, second] = [started[0].redis, started[1].redis];
    await command(second, 'REPLICAOF', '127.0.0.1', String(portOf(first)));
    forwarder = await startForwarder(portOf(first));
    nodes = await startNodes({
      count: 1,
      redisUrl: `redis://127.0.0.1:${forwarder.port}`,
      env: { LOG_LEVEL: 'info' },
    });
    cookie = await nodes.at(0).admin();
    await nodes.at(0).call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: yaml } });
    expect((await deploy()).status).toBe(201);
    await eventually('the replica has what was written', async () =>
      (await command(second, 'INFO', 'replication')).includes('master_link_status:up') ? true : undefined,
    );
  }, 90_000);
  afterAll(async () => {
    await nodes?.remove();
    forwarder?.close();
    for (const stop of stops) await stop();
  });

  it('goes on with the new primary on every connection, and logs the outage and its end once each', async () => {
    await command(second, 'REPLICAOF', 'NO', 'ONE');
    forwarder.target = portOf(second);
    await command(first, 'REPLICAOF', '127.0.0.1', String(portOf(second)));
    await eventually(
      'a deployment',
      async () => ((await deploy()).status === 201 ? true : undefined),
      30_000,
    );
    await eventually('ready', async () => ((await status()) === 200 ? true : undefined), 30_000);
    await eventually(
      'no connection of the hub is left on the old server',
      async () => ((await command(first, 'CLIENT', 'LIST')).includes('name=reeve-') ? undefined : true),
      30_000,
    );
    expect(await command(second, 'CLIENT', 'LIST')).toContain('name=reeve-job-workers');
    await eventually('the end of the outage is logged', () => logged('redis is back') > 0 || undefined);
    expect([logged('cannot use redis'), logged('redis is back')]).toEqual([1, 1]);
    expect(logged('redis refused a command')).toBe(0);
  }, 120_000);

  it('is not ready while Redis may evict keys, and names the policy', async () => {
    await command(second, 'CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    await eventually('not ready', async () => ((await status()) === 503 ? true : undefined));
    // The node's output may arrive after its answer.
    const policy = /allkeys-lru.*set maxmemory-policy to noeviction/;
    await eventually('the policy is named', () => policy.test(nodes.at(0).output) || undefined);
    await command(second, 'CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    await eventually('ready', async () => ((await status()) === 200 ? true : undefined));
  }, 60_000);
});
