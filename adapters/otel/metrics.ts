// Metrics over OTLP: the registry of a scrape is read at intervals and posted to a receiver as JSON over HTTP. A slow
// receiver costs readings, and nothing else: one is under way at a time.
import { nextTurn } from '../../src/shared/concurrency/next-turn.ts';
import type { Clock, Timer } from '../../src/shared/ports/clock.ts';
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

/** Values, or points, between which other work goes first. */
const atOnce = 200;

/** Calls `task` for each item, in turns of the event loop. */
async function inTurns<T>(items: Iterable<T>, task: (item: T) => void): Promise<void> {
  let sinceTurn = 0;
  for (const item of items) {
    if (++sinceTurn % atOnce === 0) await nextTurn();
    task(item);
  }
}

interface HistogramSeries {
  readonly labels: { readonly [name: string]: string | number | undefined };
  readonly buckets: [bound: number, count: number][];
  sum: number;
  count: number;
}

/** Histograms come as cumulative buckets, sums and counts, each a value of its own. */
async function histogramsIn(values: MetricReading['values']): Promise<Iterable<HistogramSeries>> {
  const series = new Map<string, HistogramSeries>();
  await inTurns(values, ({ metricName = '', labels, value }) => {
    const { le, ...own } = labels;
    const key = JSON.stringify(own);
    const one = series.get(key) ?? { labels: own, buckets: [], sum: 0, count: 0 };
    series.set(key, one);
    if (metricName.endsWith('_bucket'))
      one.buckets.push([Number(String(le).replace('+Inf', 'Infinity')), value]);
    else if (metricName.endsWith('_sum')) one.sum = value;
    else one.count = value;
  });
  return series.values();
}

function histogramPoint({ labels, buckets, sum, count }: HistogramSeries, times: Times): object {
  const sorted = buckets.sort(([a], [b]) => a - b);
  return {
    attributes: attributesOf(labels),
    ...times,
    count: String(count),
    sum,
    bucketCounts: sorted.map(([, value], i) => String(value - (sorted[i - 1]?.[1] ?? 0))),
    explicitBounds: sorted.map(([bound]) => bound).filter(Number.isFinite),
  };
}

/** The metric as JSON; null without a point. */
async function metricOf({ name, help, type, values }: MetricReading, times: Times): Promise<string | null> {
  const points: string[] = [];
  if (type === 'histogram') {
    await inTurns(await histogramsIn(values), (series) => {
      points.push(JSON.stringify(histogramPoint(series, times)));
    });
  } else {
    // JSON has no number for what is not known now.
    const finite = values.filter(({ value }) => Number.isFinite(value));
    await inTurns(finite, ({ labels, value }) => {
      points.push(JSON.stringify({ attributes: attributesOf(labels), ...times, asDouble: value }));
    });
    if (points.length === 0) return null;
  }
  const kind = type === 'histogram' ? type : type === 'counter' ? 'sum' : 'gauge';
  const temporality = kind === 'gauge' ? '' : `,"aggregationTemporality":${cumulative}`;
  const monotonic = kind === 'sum' ? ',"isMonotonic":true' : '';
  const head = `"name":${JSON.stringify(name)},"description":${JSON.stringify(help)}`;
  return `{${head},"${kind}":{"dataPoints":[${points.join(',')}]${temporality}${monotonic}}}`;
}

const nanos = (ms: number): string => `${Math.floor(ms)}000000`;

/** The body of an export request, as JSON: written in turns, because thousands of series hold the event loop. */
export async function exportRequest(
  readings: readonly MetricReading[],
  resource: { readonly [name: string]: string },
  { startedAt, now, version }: { readonly startedAt: number; readonly now: number; readonly version: string },
): Promise<string> {
  const times = { startTimeUnixNano: nanos(startedAt), timeUnixNano: nanos(now) };
  const metrics: string[] = [];
  for (const reading of readings) {
    const metric = await metricOf(reading, times);
    if (metric) metrics.push(metric);
    await nextTurn();
  }
  const scope = JSON.stringify({ name: 'reeve', version });
  const attributes = JSON.stringify(attributesOf(resource));
  return (
    `{"resourceMetrics":[{"resource":{"attributes":${attributes}},` +
    `"scopeMetrics":[{"scope":${scope},"metrics":[${metrics.join(',')}]}]}]}`
  );
}

class PeriodicExport implements MetricsExport {
  readonly #settings: MetricsExportSettings;
  readonly #clock: Clock;
  readonly #log: Pick<Log, 'warn' | 'info'>;
  readonly #version: string;
  readonly #read: () => Promise<readonly MetricReading[]>;
  readonly #startedAt: number;
  readonly #resource: { readonly [name: string]: string };
  #isAway = false;
  #underWay: Promise<void> | null = null;
  readonly #timer: Timer;

  constructor(
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
  ) {
    this.#settings = settings;
    this.#clock = clock;
    this.#log = log;
    this.#version = version;
    this.#read = read;
    this.#startedAt = clock.now();
    this.#resource = {
      'service.name': settings.serviceName,
      'service.version': version,
      ...(node === undefined ? {} : { 'service.instance.id': node }),
      ...settings.resource,
    };
    this.#timer = clock.every(settings.everyMs, () => void this.#send());
  }

  async close(): Promise<void> {
    this.#timer.cancel();
    await Promise.race([
      this.#send(),
      new Promise<void>((resolve) => void this.#clock.after(closeMs, resolve)),
    ]);
  }

  async #post(): Promise<void> {
    const stop = new AbortController();
    const late = this.#clock.after(timeoutMs, () => stop.abort());
    try {
      const body = await exportRequest(await this.#read(), this.#resource, {
        startedAt: this.#startedAt,
        now: this.#clock.now(),
        version: this.#version,
      });
      const response = await fetch(this.#settings.url, {
        method: 'POST',
        headers: { ...this.#settings.headers, 'Content-Type': 'application/json' },
        body,
        redirect: 'error',
        signal: stop.signal,
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`the receiver answered ${response.status}`);
      if (this.#isAway) this.#log.info({}, 'the receiver of metrics answers again');
      this.#isAway = false;
    } catch (err) {
      if (!this.#isAway)
        this.#log.warn({ err }, 'cannot send metrics by OTLP; trying again at each interval');
      this.#isAway = true;
    } finally {
      late.cancel();
    }
  }

  #send(): Promise<void> {
    this.#underWay ??= this.#post().finally(() => {
      this.#underWay = null;
    });
    return this.#underWay;
  }
}

export const startMetricsExport = (
  settings: MetricsExportSettings,
  parts: {
    readonly clock: Clock;
    readonly log: Pick<Log, 'warn' | 'info'>;
    readonly node: string | undefined;
    readonly version: string;
    readonly read: () => Promise<readonly MetricReading[]>;
  },
): MetricsExport => new PeriodicExport(settings, parts);
