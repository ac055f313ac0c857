// A node's figures of its work, from the real process.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../../bench/suite/free-port.ts';
import { itAtNight } from '../runs.ts';
import { HubProcess, run } from './process.ts';
import { type Samples, samplesOf, scrapeText, sumOf } from './scrape.ts';

const token = 'scrapes-of-sixteen';
const metricsPort = await freePort();
const hub = new HubProcess({ METRICS_TOKEN: token, METRICS_PORT: String(metricsPort) });
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

it('records its health from the start', async () => {
  const { status, body } = await hub.call('GET', '/api/v1/health/series', { cookie });
  expect(status).toBe(200);
  const { node, started_at } = (await hub.call('GET', '/api/v1/health/metrics', { cookie })).body;
  expect(body).toMatchObject({ node, interval_seconds: 300 });
  expect(Math.abs(Date.parse(body.started_at) - Date.parse(started_at))).toBeLessThan(5_000);
  const [point] = body.points;
  expect(Date.parse(point.at) % 300_000).toBe(0);
  expect(point.loop_lag_max_ms).toBeGreaterThanOrEqual(point.loop_lag_ms);
  expect(point.store_bytes).toBeGreaterThan(0);
  expect(point.disk_free_bytes).toBeGreaterThan(0);
  expect(point.disk_total_bytes).toBeGreaterThan(point.disk_free_bytes);
  expect(point.memory_bytes).toBeGreaterThan(10_000_000);
});

it('is the business of admins', async () => {
  const body = { email: 'member@example.com', password: 'correct horse battery' };
  expect((await hub.call('POST', '/api/v1/users', { cookie, body })).status).toBe(201);
  const member = await hub.login(body.email);
  for (const part of ['metrics', 'series']) {
    expect((await hub.call('GET', `/api/v1/health/${part}`, { cookie: member })).status).toBe(403);
    expect((await hub.call('GET', `/api/v1/health/${part}`)).status).toBe(401);
  }
});

const scrape = async (): Promise<Samples> => samplesOf(await scrapeText(hub.url, token));

/** Series of the hub; those of the process come and go with its resources. */
const hubSeries = (samples: Samples): number =>
  [...samples.keys()].filter((name) => name.startsWith('reeve_')).length;

it('serves the metrics of the node as text', async () => {
  const route = 'route="/api/v1/bundles",method="GET"';
  const before = await scrape();
  for (let i = 0; i < 3; i++) await hub.call('GET', '/api/v1/bundles', { cookie });
  const samples = await scrape();
  expect(sumOf(samples, 'reeve_build_info{version="')).toBe(1);
  const requests = `reeve_http_requests_total{${route},status="200"}`;
  expect((samples.get(requests) ?? 0) - (before.get(requests) ?? 0)).toBe(3);
  const openBucket = `reeve_http_request_duration_seconds_bucket{le="+Inf",${route}}`;
  expect(samples.get(openBucket)).toBe(samples.get(`reeve_http_request_duration_seconds_count{${route}}`));
  const bounds = [...samples.keys()].filter((name) =>
    new RegExp(`^reeve_http_request_duration_seconds_bucket{.*${route}`).test(name),
  );
  expect(bounds).toHaveLength(12);
  expect(samples.get('reeve_shards')).toBe(256);
  expect(samples.get('reeve_bus_lag_seconds')).toBe(0);
  expect(samples.get('reeve_dependency_up{dependency="store"}')).toBe(1);
  expect(samples.get('reeve_dependency_up{dependency="disk"}')).toBe(1);
  expect(samples.get('reeve_disk_free_bytes')).toBeGreaterThan(0);
  expect(samples.get('reeve_log_records_total{level="info"}')).toBeGreaterThan(0);
  expect(samples.get('process_resident_memory_bytes')).toBeGreaterThan(0);
});

it('counts open and ended streams', async () => {
  const open = 'reeve_streams{kind="dashboard",transport="sse",api="console"}';
  const ended = 'reeve_stream_ends_total{reason="client"}';
  const controller = new AbortController();
  const stream = await fetch(`${hub.url}/api/v1/stream/dashboard`, {
    headers: { Cookie: cookie },
    signal: controller.signal,
  });
  expect(stream.status).toBe(200);
  expect((await scrape()).get(open)).toBe(1);
  controller.abort();
  await expect.poll(async () => (await scrape()).get(ended), { timeout: 30_000 }).toBe(1);
});

it('counts odd paths and methods under one name each', async () => {
  for (let i = 0; i < 50; i++) await hub.call('GET', `/odd/${i}`);
  const count = hubSeries(await scrape());
  for (let i = 0; i < 50; i++) await hub.call('GET', `/odd/again/${i}`);
  await hub.call('PROPFIND', '/odd');
  const samples = await scrape();
  expect(
    samples.get('reeve_http_requests_total{route="unmatched",method="GET",status="404"}'),
  ).toBeGreaterThan(99);
  expect(sumOf(samples, 'reeve_http_requests_total{route="unmatched",method="other"')).toBe(1);
  // One status of one method, and its histogram.
  expect(hubSeries(samples) - count).toBe(15);
});

it('needs the token on the main port, and none on its own port', async () => {
  expect((await fetch(`${hub.url}/metrics`)).status).toBe(401);
  const headers = { Authorization: `Bearer ${token}x` };
  expect((await fetch(`${hub.url}/metrics`, { headers })).status).toBe(401);
  const own = `http://127.0.0.1:${metricsPort}`;
  expect(await (await fetch(`${own}/metrics`)).text()).toContain('reeve_build_info{');
  expect((await fetch(`${own}/api/v1/health`)).status).toBe(404);
});

itAtNight('refuses settings that do not fit, and serves nothing without them', async () => {
  const short = await run({ METRICS_TOKEN: 'fifteen letters' });
  expect([short.code === 0, short.text]).toEqual([
    false,
    expect.stringContaining('METRICS_TOKEN: must have'),
  ]);
  const same = await run({ PORT: '8123', METRICS_PORT: '8123' });
  expect([same.code === 0, same.text]).toEqual([false, expect.stringContaining('METRICS_PORT: must differ')]);
  const closed = new HubProcess();
  await closed.start();
  expect((await fetch(`${closed.url}/metrics`)).status).toBe(404);
  await closed.remove();
});
