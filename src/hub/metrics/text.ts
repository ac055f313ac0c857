// A scrape as text, written in slices: with thousands of series, one go would hold the event loop for longer than a
// frame may wait.
import type { Registry } from 'prom-client';
import { OwnMetric, type OwnValue } from './series.ts';

/** Lines between which other work goes first. */
const linesAtOnce = 400;

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

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

/** Text format 0.0.4. The metrics are read at once and written one after the other. */
export async function metricsText(registry: Registry): Promise<string> {
  const metrics = await Promise.all(
    registry.getMetricsAsArray().map(async (metric: object & { readonly name: string }) => ({
      name: metric.name,
      own: metric instanceof OwnMetric ? await metric.get() : null,
    })),
  );
  const lines: string[] = [];
  let sinceTurn = 0;
  for (const { name, own } of metrics) {
    await nextTurn();
    sinceTurn = 0;
    if (own === null) {
      lines.push(await registry.getSingleMetricAsString(name), '');
      continue;
    }
    lines.push(`# HELP ${own.name} ${own.help}`, `# TYPE ${own.name} ${own.type}`);
    for (const value of own.values) {
      if (++sinceTurn % linesAtOnce === 0) await nextTurn();
      lines.push(line(own.name, value));
    }
    lines.push('');
  }
  return `${lines.join('\n')}\n`;
}
