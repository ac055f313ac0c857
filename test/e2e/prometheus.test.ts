// The rules, their runbook and the board, with the real Prometheus: a hub at work is scraped, and every expression is
// asked.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleYaml } from '../contract/library.ts';
import { itAtNight } from '../runs.ts';
import { promtool } from '../services/prometheus.ts';
import { startOwnPrometheus } from '../services/start.ts';
import { HubProcess } from './process.ts';

const file = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const path = (name: string) => new URL(`../../${name}`, import.meta.url).pathname;
const rules = file('deploy/prometheus/rules.yml');
const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}
const board = JSON.parse(file('deploy/grafana/reeve.json')) as { readonly panels: readonly Panel[] };
/** Every expression of the board, with values for its variables. */
const expressions = board.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({
    title,
    expr: expr.replaceAll('$job', 'reeve').replaceAll('$instance', '.*').replaceAll('$__rate_interval', '1m'),
  })),
);

describe('rules', () => {
  it('are well formed, and each alert fires by its cause and not without it', async () => {
    expect(await promtool(['check', 'rules', path('deploy/prometheus/rules.yml')])).toContain('SUCCESS');
    expect(await promtool(['test', 'rules', path('test/prometheus/rules.test.yml')])).toContain('SUCCESS');
    const tested = file('test/prometheus/rules.test.yml');
    for (const alert of alerts) expect(tested.split(`alertname: ${alert}\n`)).toHaveLength(3);
  });

  it('are 12 to 18, each with a section of the runbook in three parts', () => {
    expect(alerts.length).toBeGreaterThanOrEqual(12);
    expect(alerts.length).toBeLessThanOrEqual(18);
    const sections = file('docs/runbook.md').split('\n## ').slice(1);
    expect(sections.map((section) => section.split('\n', 1)[0])).toEqual(alerts);
    for (const [i, section] of sections.entries()) {
      expect(rules).toContain(`runbook_url: docs/runbook.md#${alerts[i]?.toLowerCase()}\n`);
      for (const part of ['**Symptoms.**', '**Checks.**', '**Remedy.**'])
        expect(section, alerts[i]).toContain(part);
    }
  });

  it('and the board name metrics that are documented', () => {
    const documented = file('docs/metrics.md');
    const texts = [rules, ...expressions.map(({ expr }) => expr)].join('\n');
    const names = new Set([...texts.matchAll(/\breeve_[a-z_]+/g)].map(([name]) => name));
    expect(names.size).toBeGreaterThan(20);
    for (const name of names) {
      expect(documented, name).toContain(`\`${name.replace(/_(?:bucket|sum|count)$/, '')}\``);
    }
  });
});

describe('a hub that Prometheus scrapes', () => {
  const token = 'scrapes-of-sixteen';
  const hub = new HubProcess({ METRICS_TOKEN: token, LOG_LEVEL: 'warn' });
  let prometheus: Awaited<ReturnType<typeof startOwnPrometheus>>;

  beforeAll(async () => {
    await hub.start();
    prometheus = await startOwnPrometheus(`
global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: ['${path('deploy/prometheus/rules.yml')}']
scrape_configs:
  - job_name: reeve
    authorization: { credentials: ${token} }
    static_configs: [{ targets: ['127.0.0.1:${hub.port}'] }]
`);
  });
  afterAll(async () => {
    await prometheus?.stop();
    await hub.remove();
  });

  async function ask(route: string, query = ''): Promise<{ readonly data: never }> {
    const response = await fetch(`${prometheus.prometheus.url}/api/v1/${route}?${query}`);
    return (await response.json()) as { readonly data: never };
  }
  const seriesOf = async (expr: string): Promise<readonly unknown[]> => {
    const { data } = await ask('query', new URLSearchParams({ query: expr }).toString());
    return (data as { readonly result: readonly unknown[] }).result;
  };

  /** Something of all that the board shows. */
  async function work(): Promise<void> {
    const cookie = await hub.admin();
    const { key } = await hub.key(cookie);
    const controller = new AbortController();
    const headers = { Authorization: `Bearer ${key}`, 'X-Service-Agent-Id': 'agent-1' };
    await fetch(`${hub.url}/api/v1/stream?env=production`, { headers, signal: controller.signal });
    const body = { yaml_content: bundleYaml('guard') };
    await hub.call('POST', '/api/v1/bundles', { cookie, body });
    await hub.call('POST', '/api/v1/bundles/guard/1/deploy', { cookie, body: { env: 'production' } });
    controller.abort();
    const approval = { agent_id: 'agent-1', tool_name: 'send', message: 'May it?', timeout: 300 };
    const { body: asked } = await hub.call('POST', '/api/v1/approvals', {
      key,
      agent: 'agent-1',
      body: approval,
    });
    await hub.call('PUT', `/api/v1/approvals/${asked.id}`, { cookie, body: { approved: true } });
  }

  it('has a series for every expression of the board, and evaluates every rule', async () => {
    await work();
    const empty = async () => {
      const results = await Promise.all(
        expressions.map(async ({ title, expr }) => ((await seriesOf(expr)).length > 0 ? [] : [title])),
      );
      return results.flat();
    };
    await expect.poll(empty, { timeout: 60_000, interval: 1_000 }).toEqual([]);
    const { data } = await ask('rules');
    const { groups } = data as {
      groups: { rules: { name: string; health: string; lastError?: string }[] }[];
    };
    const evaluated = groups.flatMap(({ rules: all }) => all);
    expect(evaluated.map(({ name }) => name)).toEqual(alerts);
    expect(evaluated.filter(({ health }) => health !== 'ok')).toEqual([]);
  }, 120_000);

  itAtNight(
    'is seen to be down',
    async () => {
      await hub.kill();
      await expect
        .poll(async () => (await seriesOf('ALERTS{alertname="ReeveDown"}')).length, { timeout: 30_000 })
        .toBe(1);
    },
    60_000,
  );
});
