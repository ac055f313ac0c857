// Approvals that come due while a node starts and takes its share of the shards: each timeout is announced in time.
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { shardCount, shardOf } from '../../src/shared/ids.ts';
import { SseClient } from '../e2e/sse.ts';
import { clusterHealth, eventually, type Nodes, startNodes } from './nodes.ts';

const operatorToken = 'an-operator-token-of-the-installation';
const bearer = { headers: { Authorization: `Bearer ${operatorToken}` } };
const password = 'correct horse battery';
const envs = ['production', 'staging', 'development'] as const;
const tenantCount = 4;
/** As promised of a hub at rest. */
const lateMs = 2000;

interface Place {
  readonly tenant: string;
  readonly env: string;
  readonly key: string;
}

let nodes: Nodes;

beforeAll(async () => {
  nodes = await startNodes({ count: 2, env: { OPERATOR_TOKEN: operatorToken } });
});
afterAll(async () => {
  await nodes?.remove();
});

/** The shards of a node, as it says itself. */
async function shardsOf(i: number): Promise<readonly number[]> {
  const health = await clusterHealth(nodes.at(i), bearer);
  return health.nodes.find(({ node }) => node === health.node)?.shards ?? [];
}

const hasShards = (i: number, count: number) =>
  eventually(`${count} shards at node ${i}`, async () => (await shardsOf(i)).length === count || undefined);

/** A tenant with a key for each environment, and a dashboard that follows it on the node that stays. */
async function addTenant(n: number): Promise<{ places: Place[]; dashboard: SseClient }> {
  const email = `admin@tenant-${n}.example`;
  const body = { name: `tenant-${n}`, email, password };
  const { tenant_id } = (await nodes.at(0).call('POST', '/api/v1/operator/tenants', { ...bearer, body }))
    .body;
  const cookie = await nodes.at(0).login(email, password);
  const dashboard = await SseClient.open(`${nodes.at(0).url}/api/v1/stream/dashboard`, { Cookie: cookie });
  const places: Place[] = [];
  for (const env of envs)
    places.push({ tenant: tenant_id, env, key: (await nodes.at(0).key(cookie, env)).key });
  return { places, dashboard };
}

it('announces each within 2 s of its deadline', { timeout: 90_000 }, async () => {
  expect(await nodes.stop(1)).toBe(0);
  await hasShards(0, shardCount);
  const tenants = [];
  for (let n = 0; n < tenantCount; n++) tenants.push(await addTenant(n));
  const places = tenants.flatMap((tenant) => tenant.places);
  const dueAt = new Map<string, number>();
  const begun = Date.now();
  const ask = async ({ key }: Place, n: number) => {
    // Deadlines lie in the seconds in which the other node starts, whenever each is requested.
    const timeout = 6 + n - Math.round((Date.now() - begun) / 1000);
    const body = { tool_name: 'send', message: 'May it?', timeout };
    const answer = await nodes.at(0).call('POST', '/api/v1/approvals', { key, agent: `a-${n}`, body });
    expect(answer.status).toBe(201);
    dueAt.set(answer.body.id, Date.parse(answer.body.created_at) + timeout * 1000);
  };
  for (let n = 0; n < 8; n++) await Promise.all(places.map((place) => ask(place, n)));
  const started = nodes.restart(1);

  const lateness = new Map<string, number>();
  const last = Math.max(...dueAt.values());
  while (lateness.size < dueAt.size && Date.now() < last + 3 * lateMs) {
    for (const { dashboard } of tenants) {
      for (const { event, data } of dashboard.frames) {
        const due = event === 'approval_timeout' ? dueAt.get(data.approval_id) : undefined;
        if (due !== undefined && !lateness.has(data.approval_id))
          lateness.set(data.approval_id, Date.now() - due);
      }
    }
    await wait(10);
  }
  await started;
  const moved = new Set(await shardsOf(1));
  for (const { dashboard } of tenants) dashboard.close();
  const sorted = [...lateness.values()].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))];
  console.log(`timeouts while shards moved: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, last ${at(1)} ms`);
  expect(places.some(({ tenant, env }) => moved.has(shardOf(`${tenant}/${env}`)))).toBe(true);
  expect(lateness.size).toBe(dueAt.size);
  expect(at(1)).toBeLessThan(lateMs);
});
