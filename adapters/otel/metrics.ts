// Metrics over OTLP: the registry of a scrape is read at intervals and posted to a receiver as JSON over HTTP. A slow
// receiver costs readings, and nothing else: one is under way at a time.
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';

export interface MetricsExportSettings {
  /** Where readings are posted, with its path. */
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly serviceName: string;
  readonly resource: { readonly [name: string]: string };
  readonly everyMs: number;
}

/** A metric as prom-client reads it. */
export interface MetricReading {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly {
    readonly metricName?: string;
    readonly labels: { readonly [label: string]: string | number | undefined };
    readonly value: number;
  }[];
}

export interface MetricsExport {
  /** Posts a last reading, for 2 s at most. */
  close(): Promise<void>;
}

const timeoutMs = 10_000;
const closeMs = 2_000;
/** Of OTLP's two ways to count: since the start. */
const cumulative = 2;

type Attribute = { readonly key: string; readonly value: { readonly stringValue: string } };

const attributesOf = (labels: { readonly [name: string]: string | number | undefined }): Attribute[] =>
  Object.entries(labels).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: { stringValue: String(value) } }],
  );

interface Times {
  readonly startTimeUnixNano: string;
  readonly timeUnixNano: string;
}

/** Histograms come as cumulative buckets, sums and counts, each a value of its own. */
function histogramPoints(values: MetricReading['values'], times: Times): object[] {
  const series = new Map<
    string,
    { labels: object; buckets: [number, number][]; sum: number; count: number }
  >();
  for (const { metricName = '', labels, value } of values) {
    const { le, ...own } = labels;
    const key = JSON.stringify(own);
    const one = series.get(key) ?? { labels: own, buckets: [], sum: 0, count: 0 };
    series.set(key, one);
    if (metricName.endsWith('_bucket'))
      one.buckets.push([Number(String(le).replace('+Inf', 'Infinity')), value]);
    else if (metricName.endsWith('_sum')) one.sum = value;
    else one.count = value;
  }
  return [...series.values()].map(({ labels, buckets, sum, count }) => {
    const sorted = buckets.sort(([a], [b]) => a - b);
    return {
      attributes: attributesOf(labels as { readonly [name: string]: string }),
      ...times,
      count: String(count),
      sum,
      bucketCounts: sorted.map(([, value], i) => String(value - (sorted[i - 1]?.[1] ?? 0))),
      explicitBounds: sorted.map(([bound]) => bound).filter(Number.isFinite),
    };
  });
}

function metricOf({ name, help, type, values }: MetricReading, times: Times): object | null {
  const head = { name, description: help };
  if (type === 'histogram') {
    const dataPoints = histogramPoints(values, times);
    return { ...head, histogram: { dataPoints, aggregationTemporality: cumulative } };
  }
  // JSON has no number for what is not known now.
  const dataPoints = values
    .filter(({ value }) => Number.isFinite(value))
    .map(({ labels, value }) => ({ attributes: attributesOf(labels), ...times, asDouble: value }));
  if (dataPoints.length === 0) return null;
  if (type !== 'counter') return { ...head, gauge: { dataPoints } };
  return { ...head, sum: { dataPoints, aggregationTemporality: cumulative, isMonotonic: true } };
}

const nanos = (ms: number): string => `${Math.floor(ms)}000000`;

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The body of an export request, as JSON: written in turns, because thousands of series hold the event loop. */
export async function exportRequest(
  readings: readonly MetricReading[],
  resource: { readonly [name: string]: string },
  { startedAt, now, version }: { readonly startedAt: number; readonly now: number; readonly version: string },
): Promise<string> {
  const times = { startTimeUnixNano: nanos(startedAt), timeUnixNano: nanos(now) };
  const metrics: string[] = [];
  for (const reading of readings) {
    const metric = metricOf(reading, times);
    if (metric) metrics.push(JSON.stringify(metric));
    await nextTurn();
  }
  const scope = JSON.stringify({ name: 'reeve', version });
  const attributes = JSON.stringify(attributesOf(resource));
  return (
    `{"resourceMetrics":[{"resource":{"attributes":${attributes}},` +
    `"scopeMetrics":[{"scope":${scope},"metrics":[${metrics.join(',')}]}]}]}`
  );
}

export function startMetricsExport(
  settings: MetricsExportSettings,
  {
    clock,
    log,
    node,
    version,
    read,
  }: {
    readonly clock: Clock;
    readonly log: Pick<Log, 'warn' | 'info'>;
    readonly node: string | undefined;
    readonly version: string;
    readonly read: () => Promise<readonly MetricReading[]>;
  },
): MetricsExport {
  const startedAt = clock.now();
  const resource = {
    'service.name': settings.serviceName,
    'service.version': version,
    ...(node === undefined ? {} : { 'service.instance.id': node }),
    ...settings.resource,
  };
  let isAway = false;
  let underWay: Promise<void> | null = null;

  async function post(): Promise<void> {
    const stop = new AbortController();
    const late = clock.after(timeoutMs, () => stop.abort());
    try {
      const body = await exportRequest(await read(), resource, { startedAt, now: clock.now(), version });
      const response = await fetch(settings.url, {
        method: 'POST',
        headers: { ...settings.headers, 'Content-Type': 'application/json' },
        body,
        redirect: 'error',
        signal: stop.signal,
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`the receiver answered ${response.status}`);
      if (isAway) log.info({}, 'the receiver of metrics answers again');
      isAway = false;
    } catch (err) {
      if (!isAway) log.warn({ err }, 'cannot send metrics by OTLP; trying again at each interval');
      isAway = true;
    } finally {
      late.cancel();
    }
  }

  const send = (): Promise<void> => {
    underWay ??= post().finally(() => {
      underWay = null;
    });
    return underWay;
  };
  const timer = clock.every(settings.everyMs, () => void send());
  return {
    async close() {
      timer.cancel();
      await Promise.race([send(), new Promise<void>((resolve) => void clock.after(closeMs, resolve))]);
    },
  };
}
