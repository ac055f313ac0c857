// The test whether an alert fires: scrapes of real hubs, one for each step of a timeline, are the input of the rule as
// it is shipped, which promtool evaluates.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HubProcess } from '../e2e/process.ts';
import { promtool } from '../services/prometheus.ts';

const rulesFile = new URL('../../deploy/prometheus/rules.yml', import.meta.url).pathname;
export const scrapeToken = 'scrapes-of-sixteen';

export interface Scrape {
  /** Unix time, seconds. */
  readonly at: number;
  /** Values by series, by instance; null: the hub did not answer. */
  readonly instances: ReadonlyMap<string, ReadonlyMap<string, number> | null>;
}

/** The hubs' figures now. Hubs need METRICS_TOKEN. */
export async function scrape(...hubs: readonly HubProcess[]): Promise<Scrape> {
  const headers = { Authorization: `Bearer ${scrapeToken}` };
  const answers = hubs.map(async ({ url, port }) => {
    const response = await fetch(`${url}/metrics`, { headers }).catch(() => null);
    return [String(port), response && valuesIn(await response.text())] as const;
  });
  return { at: Date.now() / 1000, instances: new Map(await Promise.all(answers)) };
}

function valuesIn(text: string): ReadonlyMap<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(' ');
      return [line.slice(0, end), Number(line.slice(end + 1))] as const;
    }),
  );
}

/** The sum of the series that begin so, over all instances. */
export function sumOf({ instances }: Scrape, start: string): number {
  const all = [...instances.values()].flatMap((values) => [...(values ?? [])]);
  return all.reduce((sum, [series, value]) => (series.startsWith(start) ? sum + value : sum), 0);
}

/** The same state for so many steps. */
export const held = (state: Scrape, steps: number): readonly Scrape[] =>
  Array.from({ length: steps }, () => state);

/** So many steps in which everything moves as between these two scrapes: in each step, or over all of them. */
export function moving(
  from: Scrape,
  to: Scrape,
  steps: number,
  pace: 'each' | 'whole' = 'each',
): readonly Scrape[] {
  const isCounter = (series: string) => /^\w+_(?:total|bucket|count|sum)\b/.test(series);
  return Array.from({ length: steps }, (_, i) => {
    const share = pace === 'each' ? i + 1 : (i + 1) / steps;
    const instances = [...to.instances].map(([instance, values]) => {
      if (values === null) return [instance, null] as const;
      const before = from.instances.get(instance);
      const moved = [...values].map(([series, value]) => {
        const first = before?.get(series) ?? 0;
        const moves = pace === 'whole' || isCounter(series);
        return [series, moves ? first + (value - first) * share : value] as const;
      });
      return [instance, new Map(moved)] as const;
    });
    return { at: to.at, instances: new Map(instances) };
  });
}

function seriesOf(timeline: readonly Scrape[], names: ReadonlySet<string>) {
  const since = timeline[0]?.at ?? 0;
  const textOf = (state: Scrape, instance: string, series: string): string => {
    const value = state.instances.get(instance)?.get(series);
    // Time begins at 0 there.
    return value === undefined ? '_' : String(/_timestamp_seconds\b/.test(series) ? value - since : value);
  };
  const input: { series: string; values: string }[] = [];
  const instances = new Set(timeline.flatMap((state) => [...state.instances.keys()]));
  for (const instance of instances) {
    const own = `job="reeve",instance="${instance}"`;
    const up = timeline.map((state) => (state.instances.get(instance) ? 1 : 0));
    if (names.has('up')) input.push({ series: `up{${own}}`, values: up.join(' ') });
    const all = new Set(timeline.flatMap((state) => [...(state.instances.get(instance)?.keys() ?? [])]));
    for (const series of all) {
      const [name = '', labels] = series.split(/\{(.*)\}$/);
      if (!names.has(name)) continue;
      const values = timeline.map((state) => textOf(state, instance, series)).join(' ');
      input.push({ series: `${name}{${[own, labels].filter(Boolean).join(',')}}`, values });
    }
  }
  return input;
}

/** The rule of an alert, and the metrics that it reads. */
async function ruleOf(alert: string) {
  const rules = await readFile(rulesFile, 'utf8');
  const own = rules.split(/(?= {6}- alert: )/).filter((text) => text.startsWith(`      - alert: ${alert}\n`));
  const [rule = ''] = own;
  const [, expr] = /\n\s+expr: \|-\n\s+(.*)\n/.exec(rule) ?? [];
  if (expr === undefined) throw new Error(`There is no alert ${alert}.`);
  return {
    text: `groups:\n  - name: reeve\n    rules:\n${rule}`,
    metrics: new Set(expr.match(/\breeve_[a-z_]+|\bup\b/g)),
  };
}

/**
 * Evaluates an alert at each step.
 * @param stepMinutes between two scrapes
 * @throws when the alert fires in the quiet steps, or does not in those of the cause
 */
export async function expectAlert(
  alert: string,
  { quiet, cause }: { readonly quiet: readonly Scrape[]; readonly cause: readonly Scrape[] },
  stepMinutes = 1,
): Promise<void> {
  const { text, metrics } = await ruleOf(alert);
  const timeline = [...quiet, ...cause];
  const expectation = (steps: readonly Scrape[], end: number, isFiring: boolean) => ({
    expr: `sum(count_over_time(ALERTS{alertstate="firing"}[${steps.length * stepMinutes}m])) > bool 0`,
    eval_time: `${(end - 1) * stepMinutes}m`,
    exp_samples: isFiring ? [{ labels: '{}', value: 1 }] : [],
  });
  const test = {
    interval: `${stepMinutes}m`,
    input_series: seriesOf(timeline, metrics),
    promql_expr_test: [expectation(quiet, quiet.length, false), expectation(cause, timeline.length, true)],
  };
  const folder = await mkdtemp(join(tmpdir(), 'reeve-alerts-'));
  try {
    await writeFile(join(folder, 'rules.yml'), text);
    const plan = { rule_files: ['rules.yml'], evaluation_interval: `${stepMinutes}m`, tests: [test] };
    await writeFile(join(folder, 'test.yml'), JSON.stringify(plan));
    await promtool(['test', 'rules', join(folder, 'test.yml')]).catch((error: Error) => {
      throw new Error(`${alert}: ${error.message}`, { cause: error });
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
