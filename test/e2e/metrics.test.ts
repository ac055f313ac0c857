// What a node says of its work, from the real process.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { HubProcess } from './process.ts';

const hub = new HubProcess();
let cookie: string;
beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
});
afterAll(() => hub.remove());

it('counts requests by route and status, with times, and knows streams, queues and the event loop', async () => {
  for (let i = 0; i < 3; i++) await hub.call('GET', '/api/v1/contracts', { cookie });
  await hub.call('GET', '/api/v1/contracts/absent', { cookie });
  await hub.call('GET', '/api/v1/nowhere');
  const { status, body } = await hub.call('GET', '/api/v1/health/metrics', { cookie });
  expect(status).toBe(200);
  const routeOf = (name: string) => body.routes.find(({ route }: { route: string }) => route === name);
  const list = routeOf('GET /api/v1/contracts');
  expect(list).toMatchObject({ requests: 3, statuses: { 200: 3 } });
  expect(list.buckets).toHaveLength(body.buckets_ms.length + 1);
  expect(list.buckets.reduce((sum: number, count: number) => sum + count, 0)).toBe(3);
  expect(routeOf('GET /api/v1/contracts/{contract_id}')).toMatchObject({ statuses: { 404: 1 } });
  expect(routeOf('unmatched')).toMatchObject({ statuses: { 404: 1 } });
  expect(body.streams).toMatchObject({ agents: 0, dashboards: 0, blocked: 0 });
  expect(body.queues.messages).toBeGreaterThanOrEqual(0);
  expect(body.event_loop.max_ms).toBeGreaterThanOrEqual(body.event_loop.p99_ms);
  expect(Date.parse(body.started_at)).toBeLessThanOrEqual(Date.now());
});

it('is the business of admins', async () => {
  const body = { email: 'member@example.com', password: 'correct horse battery' };
  expect((await hub.call('POST', '/api/v1/users', { cookie, body })).status).toBe(201);
  const member = await hub.login(body.email);
  expect((await hub.call('GET', '/api/v1/health/metrics', { cookie: member })).status).toBe(403);
  expect((await hub.call('GET', '/api/v1/health/metrics')).status).toBe(401);
});
