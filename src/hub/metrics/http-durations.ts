// The histogram of request durations. prom-client cannot take finished buckets, so this metric writes its own values.
import type { Metric, Registry } from 'prom-client';
import { durationBuckets, type Metrics } from '../../http/metrics.ts';

/** Upper bounds that Prometheus receives, in milliseconds: eleven and an open one, 14 series a route. */
const bounds = durationBuckets.filter((bound) => bound !== 2 && bound !== 5000);
const name = 'reeve_http_request_duration_seconds';
const help = 'Duration of answered requests by declared route';

/** The requests of a route that took at most `bound` milliseconds. */
const upTo = (buckets: readonly number[], bound: number): number =>
  durationBuckets.reduce((sum, limit, i) => (limit <= bound ? sum + (buckets[i] ?? 0) : sum), 0);

export function httpDurations(registry: Registry, requests: Pick<Metrics, 'series'>): void {
  const metric = {
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    collect: () => undefined,
    reset: () => undefined,
    async get() {
      const values = requests.series().flatMap(({ route, method, buckets, sumMs }) => {
        const labels = { route, method };
        const count = buckets.reduce((sum, requestCount) => sum + requestCount, 0);
        return [
          ...bounds.map((bound) => ({
            labels: { le: bound / 1000, ...labels },
            value: upTo(buckets, bound),
            metricName: `${name}_bucket`,
          })),
          { labels: { le: '+Inf', ...labels }, value: count, metricName: `${name}_bucket` },
          { labels, value: sumMs / 1000, metricName: `${name}_sum` },
          { labels, value: count, metricName: `${name}_count` },
        ];
      });
      return { name, help, type: 'histogram', aggregator: 'sum', values };
    },
  };
  registry.registerMetric(metric as unknown as Metric<string>);
}
