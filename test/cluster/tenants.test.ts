// Tenants that are suspended and removed on one node, as another node, MongoDB and Redis see it.

import { MongoClient } from 'mongodb';
import { createClient } from 'redis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bundleYaml } from '../contract/library.ts';
import { SseClient } from '../e2e/sse.ts';
import { eventually, type Nodes, startNodes } from './nodes.ts';

const operatorToken = 'an-operator-token-of-the-installation';
let nodes: Nodes;

beforeAll(async () => {
  nodes = await startNodes({ count: 2, env: { OPERATOR_TOKEN: operatorToken } });
  await nodes.at(0).admin();
});
afterAll(async () => {
  await nodes?.remove();
});

const operate = (i: number, method: string, path = '', body?: unknown) =>
  nodes.at(i).call(method, `/api/v1/operator/tenants${path}`, {
    headers: { Authorization: `Bearer ${operatorToken}` },
    ...(body === undefined ? {} : { body }),
  });

/** Everything that Redis holds of this cluster, as one text. */
async function redisText(): Promise<string> {
  const client = await createClient({ url: nodes.redisUrl }).connect();
  const texts: string[] = [];
  for await (const keys of client.scanIterator({ MATCH: `*${nodes.clusterName}*`, COUNT: 1000 })) {
    for (const key of keys) {
      // Messages between nodes are trimmed with time.
      if (key.includes('log:{nodes}')) continue;
      const type = await client.type(key);
      const read = { string: ['GET', key], hash: ['HGETALL', key], list: ['LRANGE', key, '0', '-1'] }[type];
      const command = read ?? (type === 'stream' ? ['XRANGE', key, '-', '+'] : ['ZRANGE', key, '0', '-1']);
      texts.push(`${key} ${JSON.stringify(await client.sendCommand(command).catch(() => null))}`);
    }
  }
  await client.close();
  return texts.join('\n');
}

async function mongoText(): Promise<string> {
  const client = await new MongoClient(nodes.mongoUrl).connect();
  const names = (await client.db().listCollections().toArray()).map(({ name }) => name);
  const all = [];
  for (const name of names) all.push(name, await client.db().collection(name).find().toArray());
  await client.close();
  return JSON.stringify(all);
}

it('are refused on every node within a second, and gone from MongoDB and Redis though a node dies', async () => {
  const [email, password] = ['admin@vanishing.example', 'correct horse battery'];
  const { tenant_id: id } = (await operate(0, 'POST', '', { name: 'vanishing', email, password })).body;
  const cookie = await nodes.at(0).login(email, password);
  const { key } = await nodes.at(1).key(cookie);
  const act = (path: string, body: unknown) => nodes.at(1).call('POST', path, { cookie, body });
  await act('/api/v1/bundles', { yaml_content: bundleYaml('vanishing-bundle') });
  expect((await act('/api/v1/bundles/vanishing-bundle/1/deploy', { env: 'production' })).status).toBe(201);
  const stream = await SseClient.open(`${nodes.at(1).url}/api/v1/stream?env=production`, {
    Authorization: `Bearer ${key}`,
    'X-Service-Agent-Id': 'vanishing-agent',
  });
  const value = { key, body: { value: 'vanishing-value' } };
  expect((await nodes.at(0).call('PUT', '/api/v1/sessions/some', value)).status).toBeLessThan(300);
  expect(await redisText()).toContain(id);
  expect(await mongoText()).toContain(id);

  const asked = () => nodes.at(1).call('GET', '/api/v1/contracts', { cookie });
  await operate(0, 'PATCH', `/${id}`, { suspended: true });
  await stream.end(1_000);
  await expect.poll(async () => (await asked()).status, { timeout: 1_000, interval: 50 }).toBe(403);
  await operate(0, 'PATCH', `/${id}`, { suspended: false });
  await expect.poll(async () => (await asked()).status, { timeout: 1_000, interval: 50 }).toBe(200);

  expect((await operate(0, 'DELETE', `/${id}?name=vanishing`)).status).toBe(202);
  await expect.poll(async () => (await asked()).status, { timeout: 1_000, interval: 50 }).toBe(403);
  await nodes.kill(0);
  await eventually(
    'the end of the tenant',
    async () => ((await operate(1, 'GET', `/${id}`)).status === 404 ? true : undefined),
    120_000,
  );
  const [mongo, redis] = [await mongoText(), await redisText()];
  const around = (text: string): string[] =>
    [id, 'vanishing'].flatMap((word) =>
      text.includes(word)
        ? [text.slice(Math.max(0, text.indexOf(word) - 200), text.indexOf(word) + 200)]
        : [],
    );
  expect(around(mongo)).toEqual([]);
  expect(around(redis)).toEqual([]);
}, 180_000);
