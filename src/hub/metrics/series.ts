// Metrics whose values are read where they lie. prom-client's own classes keep a copy by label hash, which a scrape
// would fill again each time.
import type { Metric, Registry } from 'prom-client';
import { nextTurn } from '../../shared/concurrency/next-turn.ts';
import type { Durations, LabelledCount, LabelValues } from '../../shared/meters.ts';

export interface Labels {
  readonly [label: string]: string | number;
}

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/** Durations of one combination of labels. */
export interface DurationSeries {
  readonly labels: Labels;
  readonly boundsMs: readonly number[];
  /** Of each bucket, not cumulative; one more than bounds. */
  readonly counts: readonly number[];
  readonly sumMs: number;
}

export interface OwnValue extends Sample {
  /** Default: the metric's. */
  readonly metricName?: string;
}

type MetricType = 'counter' | 'gauge' | 'histogram';

interface MetricRead {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  readonly aggregator: 'sum';
  readonly values: readonly OwnValue[];
}

/** Values of one moment, such as the buckets of one histogram. Parts are made one by one, as they are written. */
export type Part = readonly OwnValue[];
export type PartsOf = () => Iterable<Part> | Promise<Iterable<Part>>;

const partsAtOnce = 25;

/** As the registry of prom-client calls a metric. */
export class OwnMetric {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  readonly parts: PartsOf;

  constructor(type: MetricType, name: string, help: string, parts: PartsOf) {
    this.type = type;
    this.name = name;
    this.help = help;
    this.parts = parts;
  }

  /** All values. Other work goes between. */
  async get(): Promise<MetricRead> {
    const { name, help, type } = this;
    const values: OwnValue[] = [];
    let sinceTurn = 0;
    for (const part of await this.parts()) {
      if (++sinceTurn % partsAtOnce === 0) await nextTurn();
      values.push(...part);
    }
    return { name, help, type, aggregator: 'sum', values };
  }
}

function add(registry: Registry, metric: OwnMetric): void {
  registry.registerMetric(metric as unknown as Metric<string>);
}

export const addCounter = (
  registry: Registry,
  name: string,
  help: string,
  samplesOf: () => readonly Sample[],
): void => add(registry, new OwnMetric('counter', name, help, () => [samplesOf()]));

/** A counter of thousands of samples. */
export const addCounterInParts = (
  registry: Registry,
  name: string,
  help: string,
  partsOf: () => Iterable<readonly Sample[]>,
): void => add(registry, new OwnMetric('counter', name, help, partsOf));

/** @param labelNames in the order of the count's values */
export const addCounts = <V extends LabelValues>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly string[],
  count: LabelledCount<V>,
): void =>
  addCounter(registry, name, help, () =>
    count.series().map(({ values, count }) => ({
      labels: Object.fromEntries(labelNames.map((label, i) => [label, values[i] ?? ''])),
      value: count,
    })),
  );

/** A gauge without samples is left out of the text. */
export const addGauge = (
  registry: Registry,
  name: string,
  help: string,
  samplesOf: () => readonly Sample[] | Promise<readonly Sample[]>,
): void => add(registry, new OwnMetric('gauge', name, help, async () => [await samplesOf()]));

export const addHistogram = (
  registry: Registry,
  name: string,
  help: string,
  seriesOf: () => Iterable<DurationSeries>,
): void => add(registry, new OwnMetric('histogram', name, help, () => partsOf(name, seriesOf())));

function* partsOf(name: string, allSeries: Iterable<DurationSeries>): Iterable<Part> {
  for (const series of allSeries) yield buckets(name, series);
}

export const seriesOf = ({ boundsMs, counts, sumMs }: Durations, labels: Labels = {}): DurationSeries => ({
  labels,
  boundsMs,
  counts,
  sumMs,
});

function buckets(name: string, { labels, boundsMs, counts, sumMs }: DurationSeries): Part {
  const metricName = `${name}_bucket`;
  let count = 0;
  const below = boundsMs.map((bound, i) => {
    count += counts[i] ?? 0;
    return { metricName, labels: { le: bound / 1000, ...labels }, value: count };
  });
  count += counts[boundsMs.length] ?? 0;
  return [
    ...below,
    { metricName, labels: { le: '+Inf', ...labels }, value: count },
    { metricName: `${name}_sum`, labels, value: sumMs / 1000 },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
