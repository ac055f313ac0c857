// Alerts by their real causes in a cluster: what two nodes serve to Prometheus before and after each cause, judged by
// the rules as they are shipped. test/e2e/alerts.test.ts has those of an embedded hub.
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bundleYaml } from '../contract/library.ts';
import { SseClient } from '../e2e/sse.ts';
import { expectAlert, held, moving, type Scrape, scrape, scrapeToken, sumOf } from '../prometheus/alerts.ts';
import { isNightly } from '../runs.ts';
import { type Services, startServices } from '../services/start.ts';
import { eventually, type Nodes, startNodes } from './nodes.ts';

let services: Services;
let nodes: Nodes;
let cookie = '';
let key = '';
let stream: SseClient;
/** Before any cause. */
let calm: Scrape;

const scrapeAll = () => scrape(...nodes.nodes);
const deploy = () =>
  nodes.at(0).call('POST', '/api/v1/bundles/guard/1/deploy', { cookie, body: { env: 'production' } });
const probe = () => nodes.at(0).call('GET', '/api/v1/health/ready');
const isReady = () =>
  eventually('ready', async () => ((await probe()).status === 200 ? true : undefined), 60_000);
let sent = 0;
const send = () => {
  const event = { agent_id: 'a', tool_name: 't', verdict: 'call_allowed', mode: 'enforce' };
  return nodes.at(0).call('POST', '/api/v1/events', {
    key,
    body: { events: [{ ...event, call_id: `call-${sent++}` }] },
  });
};

const ask = (i: number) =>
  nodes.at(i % 2).call('POST', '/api/v1/approvals', {
    key,
    agent: `a-${i}`,
    body: { tool_name: 'send', message: 'May it?', timeout: 600 },
  });
/** The first figures of the nodes that fit. */
async function scrapeOf(fits: (state: Scrape) => boolean): Promise<Scrape> {
  const scraped = async () => {
    const state = await scrapeAll();
    return fits(state) ? state : undefined;
  };
  return (await eventually('metrics that fit', scraped, 30_000)).value;
}

beforeAll(async () => {
  services = await startServices({ own: true });
  nodes = await startNodes({
    count: 2,
    mongoUrl: services.mongoUrl,
    redisUrl: services.redisUrl,
    env: { METRICS_TOKEN: scrapeToken },
  });
  cookie = await nodes.at(0).admin();
  ({ key } = await nodes.at(0).key(cookie));
  await nodes.at(0).call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: bundleYaml('guard') } });
  stream = await SseClient.open(`${nodes.at(1).url}/api/v1/stream?env=production`, {
    Authorization: `Bearer ${key}`,
    'X-Service-Agent-Id': 'a',
  });
  await isReady();
  await eventually('a deployment', async () => ((await deploy()).status === 201 ? true : undefined));
  expect((await send()).status).toBe(200);
  // A node that has no shards yet loses none when it ends.
  const share = async (i: number) => sumOf(await scrape(nodes.at(i)), 'reeve_shards');
  const isEven = async () => ((await share(0)) === 128 && (await share(1)) === 128 ? true : undefined);
  await eventually('an even share of shards', isEven, 30_000);
  calm = await scrapeAll();
});
afterAll(async () => {
  stream?.close();
  await nodes?.remove();
  await services?.stop();
});

/** Lets the store stall under load. Undefined if no message was between nodes, or no event in a commit. */
async function stall(): Promise<{ readonly lagging: Scrape; readonly slow: Scrape } | undefined> {
  const calls = Array.from({ length: 40 }, (_, i) => [ask(i), send()] as const);
  await Promise.all([0, 1].map((kind) => Promise.any(calls.map((pair) => pair[kind]))));
  await services.mongo.pause();
  let lagging: Scrape | undefined;
  try {
    await wait(500);
    const isWaiting = sumOf(await scrapeAll(), 'reeve_bus_lag_seconds') >= 0.5;
    if (isWaiting) lagging = await scrapeOf((state) => sumOf(state, 'reeve_bus_lag_seconds') > 5);
  } finally {
    await services.mongo.resume();
    await Promise.all(calls.flat());
  }
  const slow = await scrapeAll();
  const commits = (le: string) => sumOf(slow, `reeve_event_commit_seconds_bucket{le="${le}"}`);
  return lagging && commits('+Inf') > commits('2.5') ? { lagging, slow } : undefined;
}

// A message is between nodes at the right moment by chance, for which a busy machine has no time.
it.runIf(isNightly)('ReeveBusLag, ReeveIngestSlow: the store stalls', async () => {
  const { lagging, slow } = (await eventually('a stall', stall, 90_000)).value;
  await expectAlert('ReeveBusLag', { quiet: held(calm, 30), cause: held(lagging, 30) });
  await expectAlert('ReeveIngestSlow', { quiet: held(calm, 30), cause: moving(calm, slow, 30) });
});

it('ReeveDependencySlow: the store answers late', async () => {
  const before = await scrapeAll();
  const lateAnswers = (state: Scrape) => {
    const answers = (le: string) =>
      sumOf(state, `reeve_dependency_seconds_bucket{le="${le}",dependency="store"}`);
    return answers('+Inf') - answers('0.25');
  };
  const { value: after } = await eventually(
    'a late answer',
    async () => {
      await services.mongo.pause();
      const asked = scrapeAll();
      await wait(800);
      await services.mongo.resume();
      await asked;
      const state = await scrapeAll();
      return lateAnswers(state) > lateAnswers(before) ? state : undefined;
    },
    30_000,
  );
  await expectAlert('ReeveDependencySlow', { quiet: held(before, 30), cause: moving(before, after, 30) });
});

it('ReeveShardTakeovers, ReevePushSlow: a node is paused', async () => {
  const before = await scrapeAll();
  nodes.signal(1, 'SIGSTOP');
  const from = stream.frames.length;
  try {
    await eventually(
      'a deployment',
      async () => ((await deploy()).status === 201 ? true : undefined),
      30_000,
    );
    const enough = wait(5_100);
    const takeovers = 'reeve_shard_takeovers_total{reason="node_gone"}';
    await eventually(
      'a takeover',
      async () => (sumOf(await scrape(nodes.at(0)), takeovers) > 0 ? true : undefined),
      30_000,
    );
    await enough;
  } finally {
    nodes.signal(1, 'SIGCONT');
  }
  await stream.next('contract_update', from, 30_000);
  const after = await scrapeAll();
  await expectAlert('ReeveShardTakeovers', { quiet: held(before, 30), cause: held(after, 30) });
  await expectAlert('ReevePushSlow', { quiet: held(before, 30), cause: moving(before, after, 30) });
});

// Both have the same alerts.
it.each(isNightly ? (['mongo', 'redis'] as const) : (['redis'] as const))(
  'ReeveDependencyAway, ReeveNotReady, ReeveIngestFailing: %s ends',
  async (name) => {
    const before = await scrapeOf((state) => sumOf(state, 'reeve_dependency_up') === 4);
    await services[name].kill9();
    await eventually('not ready', async () => ((await probe()).status === 503 ? true : undefined), 60_000);
    const [first] = [await scrapeAll(), await probe(), await send()];
    expect((await send()).status).toBe(503);
    const later = await scrapeAll();
    await expectAlert('ReeveDependencyAway', { quiet: held(before, 30), cause: held(later, 30) });
    await expectAlert('ReeveNotReady', { quiet: held(before, 30), cause: moving(first, later, 30) });
    await expectAlert('ReeveIngestFailing', { quiet: held(before, 30), cause: moving(first, later, 30) });
    await services[name].start();
  },
);
