// Three hubs that the real Prometheus scrapes, through the death of one: the shards that it sums up stay whole, and
// what every alert and every panel of the board measures has a series. Per commit, test/e2e/prometheus.test.ts has the
// series of one hub, and test/cluster/hub.test.ts the shards.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleYaml } from '../contract/library.ts';
import { isNightly } from '../runs.ts';
import { startOwnPrometheus } from '../services/start.ts';
import { type Nodes, startNodes } from './nodes.ts';

const file = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const token = 'scrapes-of-sixteen';

/** Of embedded hubs alone: a cluster has no data folder. */
const isEmbedded = (expr: string): boolean => /reeve_disk_free_bytes|reeve_last_backup/.test(expr);

/** The measure of an alert: both sides of `and`, without thresholds, times past, and statuses that mean trouble. */
const measured = (expr: string): readonly string[] =>
  expr
    .split(' and ')
    .map((side) =>
      (side.split(/ (?:==|>=|<=|<|>) /)[0] ?? '')
        .replace(/,status=~?"[^"]*"/g, '')
        .replaceAll(' offset 15m', ''),
    );

const alerts = [
  ...file('deploy/prometheus/rules.yml').matchAll(/- alert: (\w+)\n\s+expr: \|-\n\s+(.*)\n/g),
].flatMap(([, name = '', expr = '']) =>
  isEmbedded(expr) ? [] : measured(expr).map((side) => [name, side] as const),
);

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}
const panels = (JSON.parse(file('deploy/grafana/reeve.json')) as { readonly panels: readonly Panel[] }).panels
  .flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const))
  .filter(([, expr]) => !isEmbedded(expr))
  .map(
    ([title, expr]) =>
      [
        title,
        expr.replaceAll('$job', 'reeve').replaceAll('$instance', '.*').replaceAll('$__rate_interval', '1m'),
      ] as const,
  );

describe.runIf(isNightly)('a cluster that Prometheus scrapes', () => {
  let nodes: Nodes;
  let prometheus: Awaited<ReturnType<typeof startOwnPrometheus>>;
  const stop = new AbortController();

  beforeAll(async () => {
    nodes = await startNodes({ count: 3, env: { METRICS_TOKEN: token } });
    const targets = nodes.urls.map((url) => `'${new URL(url).host}'`).join(', ');
    prometheus = await startOwnPrometheus(`
global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: ['${new URL('../../deploy/prometheus/rules.yml', import.meta.url).pathname}']
scrape_configs:
  - job_name: reeve
    authorization: { credentials: ${token} }
    static_configs: [{ targets: [${targets}] }]
`);
  });
  afterAll(async () => {
    stop.abort();
    await prometheus?.stop();
    await nodes?.remove();
  });

  async function seriesOf(expr: string): Promise<readonly { readonly value: readonly [number, string] }[]> {
    const query = new URLSearchParams({ query: expr });
    const response = await fetch(`${prometheus.prometheus.url}/api/v1/query?${query}`);
    const { data } = (await response.json()) as { readonly data?: { readonly result: never } };
    return data?.result ?? [];
  }
  const numberOf = async (expr: string): Promise<number> => Number((await seriesOf(expr))[0]?.value[1] ?? -1);
  const without = async (all: readonly (readonly [string, string])[]): Promise<readonly string[]> => {
    const found = await Promise.all(
      all.map(async ([name, expr]) => ((await seriesOf(expr)).length > 0 ? [] : [`${name}: ${expr}`])),
    );
    return found.flat();
  };

  /** Something of all that rules and board measure. */
  async function work(): Promise<void> {
    const [one, two] = [nodes.at(1), nodes.at(2)];
    const cookie = await one.admin();
    await one.call('POST', '/api/v1/auth/login', {
      body: { email: 'nobody@example.com', password: 'wrong' },
    });
    for (const node of [one, two]) await node.call('GET', '/api/v1/health/ready');
    const { key } = await one.key(cookie);
    await fetch(`${two.url}/api/v1/stream?env=production`, {
      headers: { Authorization: `Bearer ${key}`, 'X-Service-Agent-Id': 'agent-1' },
      signal: stop.signal,
    });
    await one.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: bundleYaml('guard') } });
    await one.call('POST', '/api/v1/bundles/guard/1/deploy', { cookie, body: { env: 'production' } });
    const event = {
      call_id: 'c',
      agent_id: 'agent-1',
      tool_name: 't',
      verdict: 'call_allowed',
      mode: 'enforce',
    };
    await two.call('POST', '/api/v1/events', { key, body: { events: [{ ...event, payload: {} }] } });
    const ask = (timeout: number) =>
      one.call('POST', '/api/v1/approvals', {
        key,
        agent: 'agent-1',
        body: { agent_id: 'agent-1', tool_name: 'send', message: 'May it?', timeout },
      });
    const { body } = await ask(300);
    await two.call('PUT', `/api/v1/approvals/${body.id}`, { cookie, body: { approved: true } });
    await ask(1);
  }

  it('owns every shard once, before and after a node dies', async () => {
    const shards = 'sum(reeve_shards{job="reeve"})';
    await expect.poll(() => numberOf(shards), { timeout: 60_000, interval: 1_000 }).toBe(256);
    expect(await numberOf('count(up{job="reeve"} == 1)')).toBe(3);
    await work();
    await nodes.kill(0);
    await expect
      .poll(() => numberOf('count(up{job="reeve"} == 1)'), { timeout: 60_000, interval: 500 })
      .toBe(2);
    await expect.poll(() => numberOf(shards), { timeout: 60_000, interval: 1_000 }).toBe(256);
    expect(
      await numberOf('sum(reeve_shard_takeovers_total{job="reeve",reason=~"node_gone|lease_expired"})'),
    ).toBeGreaterThan(0);
    await expect
      .poll(async () => (await seriesOf('ALERTS{alertname="ReeveDown"}')).length, { timeout: 30_000 })
      .toBe(1);
  });

  it('has a series for all that alerts and panels measure', async () => {
    expect(alerts.length).toBeGreaterThan(12);
    expect(panels.length).toBeGreaterThan(10);
    await expect.poll(() => without(alerts), { timeout: 60_000, interval: 1_000 }).toEqual([]);
    await expect.poll(() => without(panels), { timeout: 60_000, interval: 1_000 }).toEqual([]);
  });
});
