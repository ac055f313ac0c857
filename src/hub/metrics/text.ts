// A scrape as text, written in slices: with thousands of series, one go would hold the event loop for longer than a
// frame may wait.
import type { Registry } from 'prom-client';
import { nextTurn } from '../../shared/concurrency/next-turn.ts';
import { OwnMetric, type OwnValue } from './series.ts';

/** Lines between which other work goes first. */
const linesAtOnce = 400;

const escaped = (value: string): string =>
  /["\\\n]/.test(value)
    ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
    : value;

function numberText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (Number.isFinite(value)) return String(value);
  return value > 0 ? '+Inf' : '-Inf';
}

function line(name: string, { metricName = name, labels, value }: OwnValue): string {
  let text = '';
  for (const label in labels) {
    const separator = text === '' ? '' : ',';
    text += `${separator}${label}="${escaped(String(labels[label]))}"`;
  }
  return text === '' ? `${metricName} ${numberText(value)}` : `${metricName}{${text}} ${numberText(value)}`;
}

interface Read {
  readonly name: string;
  /** Null: prom-client's own. */
  readonly own: OwnMetric | null;
  readonly parts: Awaited<ReturnType<OwnMetric['parts']>>;
}

/** All are read side by side, because some wait for an answer; each begins in a turn of its own. */
function readAll(registry: Registry): Promise<readonly Read[]> {
  let turn = Promise.resolve();
  const metrics = registry.getMetricsAsArray() as readonly (object & { readonly name: string })[];
  return Promise.all(
    metrics.map(async (metric): Promise<Read> => {
      const { name } = metric;
      if (!(metric instanceof OwnMetric)) return { name, own: null, parts: [] };
      turn = turn.then(nextTurn);
      await turn;
      return { name, own: metric, parts: await metric.parts() };
    }),
  );
}

/** Text format 0.0.4. */
export async function metricsText(registry: Registry): Promise<string> {
  const lines: string[] = [];
  let sinceTurn = 0;
  for (const { name, own, parts } of await readAll(registry)) {
    await nextTurn();
    sinceTurn = 0;
    if (own === null) {
      lines.push(await registry.getSingleMetricAsString(name), '');
      continue;
    }
    lines.push(`# HELP ${own.name} ${own.help}`, `# TYPE ${own.name} ${own.type}`);
    for (const part of parts) {
      for (const value of part) {
        if (++sinceTurn % linesAtOnce === 0) await nextTurn();
        lines.push(line(own.name, value));
      }
    }
    lines.push('');
  }
  return `${lines.join('\n')}\n`;
}
