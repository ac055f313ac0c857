// Metrics by OTLP: what a reading of the registry becomes.
import { expect, it } from 'vitest';
import { exportRequest, type MetricReading } from '../../../adapters/otel/metrics.ts';

const at = { startedAt: 1_000, now: 2_000, version: '1' };

async function metricsOf(readings: readonly MetricReading[]) {
  const body = JSON.parse(await exportRequest(readings, { 'service.name': 'reeve' }, at));
  expect(body.resourceMetrics[0].resource.attributes).toEqual([
    { key: 'service.name', value: { stringValue: 'reeve' } },
  ]);
  return body.resourceMetrics[0].scopeMetrics[0].metrics;
}

it('takes counters as sums, and leaves out values that are not known', async () => {
  const values = [
    { labels: { state: 'ok' }, value: 3 },
    { labels: { state: 'lost' }, value: Number.NaN },
  ];
  const reading = { name: 'calls_total', help: 'Calls', type: 'counter', values };
  const [metric, ...others] = await metricsOf([
    reading,
    { ...reading, type: 'gauge', values: values.slice(1) },
  ]);
  expect(others).toEqual([]);
  expect(metric).toEqual({
    name: 'calls_total',
    description: 'Calls',
    sum: {
      aggregationTemporality: 2,
      isMonotonic: true,
      dataPoints: [
        {
          attributes: [{ key: 'state', value: { stringValue: 'ok' } }],
          startTimeUnixNano: '1000000000',
          timeUnixNano: '2000000000',
          asDouble: 3,
        },
      ],
    },
  });
});

it('takes cumulative buckets apart', async () => {
  const value = (metricName: string, labels: object, count: number) => ({ metricName, labels, value: count });
  const values = [
    value('wait_bucket', { env: 'a', le: 0.1 }, 2),
    value('wait_bucket', { env: 'a', le: 1 }, 5),
    value('wait_bucket', { env: 'a', le: '+Inf' }, 6),
    value('wait_sum', { env: 'a' }, 4.5),
    value('wait_count', { env: 'a' }, 6),
  ] as MetricReading['values'];
  const [{ histogram }] = await metricsOf([{ name: 'wait', help: '', type: 'histogram', values }]);
  expect(histogram.dataPoints[0]).toMatchObject({
    count: '6',
    sum: 4.5,
    bucketCounts: ['2', '3', '1'],
    explicitBounds: [0.1, 1],
  });
});
