// Every metric of an embedded hub: what counts, what no client can add to, and whether Prometheus accepts it.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bundleYaml } from '../contract/library.ts';
import { itAtNight, runsOf } from '../runs.ts';
import { promtool } from '../services/prometheus.ts';
import { HubProcess, run } from './process.ts';
import { type Samples, samplesOf, scrapeText, sumOf } from './scrape.ts';
import { SseClient } from './sse.ts';

const token = 'scrapes-of-sixteen';
const operatorToken = 'an-operator-token-of-the-installation';
const hub = new HubProcess({
  METRICS_TOKEN: token,
  METRICS_TENANTS: '1',
  OPERATOR_TOKEN: operatorToken,
  RATE_LIMIT_MAX_ATTEMPTS: '1000',
  LOG_LEVEL: 'warn',
});
let cookie: string;
let key: string;

beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
  key = (await hub.key(cookie)).key;
});
afterAll(() => hub.remove());

const text = () => scrapeText(hub.url, token);
const scrape = async (): Promise<Samples> => samplesOf(await text());

const anEvent = (agent: string, over: object = {}) => ({
  call_id: randomUUID(),
  agent_id: agent,
  tool_name: 'read_mail',
  verdict: 'call_allowed',
  mode: 'enforce',
  timestamp: new Date().toISOString(),
  ...over,
});

const send = (events: readonly unknown[], by = key) =>
  hub.call('POST', '/api/v1/events', { key: by, agent: 'agent-1', body: { events } });

it('counts events, decisions and tenants once they are stored', async () => {
  const before = await scrape();
  const events = [
    anEvent('agent-1'),
    anEvent('agent-1', { verdict: 'call_denied' }),
    anEvent('agent-1', { verdict: 'call_denied', mode: 'observe' }),
  ];
  expect((await send(events)).status).toBe(200);
  expect((await send([...events, { agent_id: 5 }, 7])).body).toMatchObject({ duplicates: 3 });
  const after = await scrape();
  const rise = (name: string) => (after.get(name) ?? Number.NaN) - (before.get(name) ?? Number.NaN);
  expect(rise('reeve_events_total{api="console",outcome="stored"}')).toBeGreaterThanOrEqual(3);
  expect(rise('reeve_events_total{api="console",outcome="duplicate"}')).toBe(3);
  expect(rise('reeve_events_total{api="console",outcome="rejected"}')).toBeGreaterThan(0);
  expect(rise('reeve_decisions_total{env="production",verdict="denied"}')).toBe(1);
  expect(rise('reeve_decisions_total{env="production",verdict="observed"}')).toBe(1);
  expect(rise('reeve_event_commit_seconds_count')).toBe(2);
  expect(sumOf(after, 'reeve_tenant_events_total{tenant="')).toBe(
    after.get('reeve_events_total{api="console",outcome="stored"}'),
  );
});

itAtNight('counts deployments, their way to an agent, and approvals', async () => {
  const stream = await SseClient.open(`${hub.url}/api/v1/stream?env=production&bundle_name=guard`, {
    Authorization: `Bearer ${key}`,
    'X-Service-Agent-Id': 'agent-1',
  });
  expect(stream.status).toBe(200);
  const yaml_content = bundleYaml('guard');
  expect((await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content } })).status).toBe(201);
  const deploy = (version: number) =>
    hub.call('POST', `/api/v1/bundles/guard/${version}/deploy`, { cookie, body: { env: 'production' } });
  expect((await deploy(1)).status).toBe(201);
  expect((await deploy(99)).status).toBe(404);
  await expect.poll(async () => (await scrape()).get('reeve_push_seconds_count')).toBe(1);
  stream.close();
  const asked = await hub.call('POST', '/api/v1/approvals', {
    key,
    agent: 'agent-1',
    body: {
      agent_id: 'agent-1',
      tool_name: 'send',
      message: 'May it?',
      timeout: 300,
      timeout_effect: 'deny',
    },
  });
  expect(asked.status).toBe(201);
  await expect
    .poll(async () => (await scrape()).get('reeve_approvals_pending{env="production"}'), { timeout: 30_000 })
    .toBe(1);
  const path = `/api/v1/approvals/${asked.body.id}`;
  expect((await hub.call('PUT', path, { cookie, body: { approved: true } })).status).toBe(200);
  const samples = await scrape();
  expect(samples.get('reeve_deployments_total{env="production",outcome="deployed"}')).toBe(1);
  expect(samples.get('reeve_deployments_total{env="production",outcome="refused"}')).toBe(1);
  expect(samples.get('reeve_approvals_total{env="production",outcome="approved"}')).toBe(1);
  expect(samples.get('reeve_approval_wait_seconds_count')).toBe(1);
});

it('counts refused sign-ins and refusals by limit', async () => {
  await hub.call('POST', '/api/v1/auth/login', { body: { email: 'admin@example.com', password: 'wrong' } });
  await hub.call('GET', '/api/v1/operator/tenants', { headers: { Authorization: 'Bearer wrong-token' } });
  const samples = await scrape();
  expect(samples.get('reeve_login_failures_total{method="password"}')).toBe(1);
  expect(samples.get('reeve_login_failures_total{method="operator_token"}')).toBe(1);
  expect(samples.get('reeve_limited_total{limit="login"}')).toBe(0);
});

it('tells of the store, its jobs and the last back-up', async () => {
  expect((await scrape()).get('reeve_last_backup_timestamp_seconds')).toBe(0);
  const file = join(hub.dataDir, '..', 'one.backup');
  const settings = { DATA_DIR: hub.dataDir };
  expect((await run(settings, ['backup', file])).code).toBe(0);
  expect(readFileSync(file).length).toBeGreaterThan(0);
  const samples = await scrape();
  const at = samples.get('reeve_last_backup_timestamp_seconds') ?? 0;
  expect(Math.abs(at - Date.now() / 1000)).toBeLessThan(60);
  expect(samples.get('reeve_store_bytes')).toBeGreaterThan(4096);
  expect(samples.get('reeve_jobs{queue="deliveries",state="dead"}')).toBe(0);
  expect(samples.get('reeve_audit_head_age_seconds')).toBeGreaterThanOrEqual(0);
  expect(samples.get('reeve_dependency_seconds_count{dependency="store"}')).toBeGreaterThan(0);
  expect(samples.get('reeve_dependency_seconds_count{dependency="disk"}')).toBeGreaterThan(0);
});

const agents = runsOf(1_000);
const tenants = runsOf(20, 3);
const contracts = runsOf(200, 10);
const oddPaths = runsOf(10_000, 200);

/** Agents, tenants, contracts and paths that no other call names. */
async function fill(round: string): Promise<void> {
  const events = Array.from({ length: agents }, (_, i) =>
    anEvent(`agent-${round}-${i}`, {
      tool_name: `tool-${round}-${i}`,
      payload: { decision_name: `contract-${round}-${i % contracts}` },
    }),
  );
  expect((await send(events)).status).toBe(200);
  for (let i = 0; i < tenants; i++) {
    const name = `tenant-${round}-${i}`;
    const email = `admin@${name}.example`;
    const headers = { Authorization: `Bearer ${operatorToken}` };
    const body = { name, email, password: 'correct horse battery' };
    expect((await hub.call('POST', '/api/v1/operator/tenants', { headers, body })).status).toBe(201);
    const theirs = await hub.key(await hub.login(email));
    expect((await send([anEvent(`agent-of-${name}`)], theirs.key)).status).toBe(200);
  }
  for (let i = 0; i < oddPaths; i += 100) {
    const paths = Array.from({ length: 100 }, (_, j) => `/odd/${round}/${i + j}`);
    await Promise.all(paths.map((path) => hub.call('GET', path)));
  }
}

it('has at most 5,000 series, to which agents, tenants, contracts and paths add none', async () => {
  // The first scrape adds the series of its own route.
  await text();
  await fill('first');
  const first = await text();
  await fill('second');
  const second = await text();
  const series = (scraped: string) => [...samplesOf(scraped).keys()];
  expect(series(second).length).toBeLessThanOrEqual(5_000);
  const firstSeries = new Set(series(first));
  // Those of the process follow its work: kinds of collections and of open resources.
  const isNew = (name: string) => name.startsWith('reeve_') && !firstSeries.has(name);
  expect(series(second).filter(isNew)).toEqual([]);
  for (const word of ['-first', '-second', '/first/', '@', 'svk_', '127.0.0.1']) {
    expect(second.includes(word), word).toBe(false);
  }
  expect(await promtool(['check', 'metrics'], second)).toBe('');
}, 300_000);
