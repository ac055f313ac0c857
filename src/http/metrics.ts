// Counts and times of requests per route, kept in memory. Serves nothing by itself. Keeps promise P77.
import type { NodeMetrics } from '../shared/ports/node-health.ts';

/** Upper bounds of the duration buckets, milliseconds; the last one is open. */
export const durationBuckets = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000] as const;

export interface Series {
  /** The path as declared, or `unmatched`. */
  readonly route: string;
  /** `other` for a method that HTTP APIs do not use. */
  readonly method: string;
  /** `4xx` counts refusals without a name of their own. */
  readonly statuses: Map<number | '4xx', number>;
  readonly buckets: number[];
  sumMs: number;
  bytes: number;
}

type RouteMetrics = NodeMetrics['routes'][number];

export interface Metrics {
  count(route: string, method: string, status: number, ms: number, bytes: number): void;
  /** By declared path and method. */
  series(): readonly Series[];
  /** By route, sorted. */
  snapshot(): readonly RouteMetrics[];
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * Refusals (400 to 499) that get a name of their own, over all routes: whoever sends broken requests of each kind to
 * each route adds no more series. A status keeps its name, because a counter must not fall.
 */
const maxNamedRefusals = 500;

/** A declared route's name without its method. */
const pathOf = (route: string): string => route.slice(route.indexOf(' ') + 1);

export function createMetrics(): Metrics {
  /** By the name of a route, then by method. */
  const all = new Map<string, Map<string, Series>>();
  let namedRefusals = 0;
  const nameOf = ({ statuses }: Series, status: number): number | '4xx' => {
    if (status < 400 || status >= 500 || statuses.has(status)) return status;
    if (namedRefusals >= maxNamedRefusals) return '4xx';
    namedRefusals++;
    return status;
  };
  return {
    count(route, sentMethod, status, ms, bytes) {
      const method = methods.has(sentMethod) ? sentMethod : 'other';
      let ofRoute = all.get(route);
      if (!ofRoute) {
        ofRoute = new Map();
        all.set(route, ofRoute);
      }
      let series = ofRoute.get(method);
      if (!series) {
        series = {
          route: pathOf(route),
          method,
          statuses: new Map(),
          buckets: new Array<number>(durationBuckets.length + 1).fill(0),
          sumMs: 0,
          bytes: 0,
        };
        ofRoute.set(method, series);
      }
      const name = nameOf(series, status);
      series.statuses.set(name, (series.statuses.get(name) ?? 0) + 1);
      let i = 0;
      while (i < durationBuckets.length && ms > (durationBuckets[i] ?? 0)) i++;
      series.buckets[i] = (series.buckets[i] ?? 0) + 1;
      series.sumMs += ms;
      series.bytes += bytes;
    },
    series: () => [...all.values()].flatMap((ofRoute) => [...ofRoute.values()]),
    snapshot: () =>
      [...all]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([route, ofRoute]) => joined(route, [...ofRoute.values()])),
  };
}

function joined(route: string, parts: readonly Series[]): RouteMetrics {
  const statuses: { [status: string]: number } = {};
  for (const part of parts) {
    for (const [status, count] of part.statuses) statuses[status] = (statuses[status] ?? 0) + count;
  }
  const total = (numberOf: (part: Series) => number): number =>
    parts.reduce((sum, part) => sum + numberOf(part), 0);
  const buckets = Array.from({ length: durationBuckets.length + 1 }, (_, i) =>
    total((part) => part.buckets[i] ?? 0),
  );
  return {
    route,
    requests: buckets.reduce((sum, count) => sum + count, 0),
    statuses,
    buckets,
    sumMs: total(({ sumMs }) => sumMs),
    bytes: total(({ bytes }) => bytes),
  };
}
