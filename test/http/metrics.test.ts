// Counts of requests by route: how many series whoever sends requests can add.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createMetrics } from '../../src/http/metrics.ts';

const numberOf = (metrics: ReturnType<typeof createMetrics>): number =>
  metrics.series().reduce((sum, { statuses }) => sum + statuses.size, 0);

it('names at most 500 refusals, counts the others together, and keeps each name', () => {
  const metrics = createMetrics();
  const routes = Array.from({ length: 250 }, (_, n) => `GET /api/v1/things-${n}`);
  const first = routes[0] ?? '';
  for (const status of [400, 401, 403, 404, 409, 413, 422, 429])
    for (const route of routes) metrics.count(route, 'GET', status, 1, 0);
  expect(numberOf(metrics)).toBeLessThanOrEqual(500 + routes.length);
  for (const status of [200, 400, 418, 503]) metrics.count(first, 'GET', status, 1, 0);
  const [{ statuses } = { statuses: new Map() }] = metrics.series();
  expect([200, 400, 418, 503].map((status) => statuses.get(status))).toEqual([1, 2, undefined, 1]);
  expect(statuses.get('4xx')).toBeGreaterThan(0);
  const total = metrics.snapshot().reduce((sum, { requests }) => sum + requests, 0);
  expect(total).toBe(8 * routes.length + 4);
});

it('leaves room below 5,000 series for the histogram of each route', () => {
  // 14 series a route (docs/metrics.md) and one 5xx; two successes, with those of HEAD; 400 without a route.
  const routes = readFileSync(new URL('../../docs/api-surface.txt', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => /^(?:GET|POST|PUT|PATCH|DELETE) /.test(line)).length;
  expect(routes).toBeGreaterThan(100);
  expect(routes * (14 + 1 + 2) + 500 + 400).toBeLessThanOrEqual(5_000);
});
