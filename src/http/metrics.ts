// Counts and times of requests per route, kept in memory. Serves nothing by itself.

/** Upper bounds of the duration buckets, milliseconds; the last one is open. */
export const durationBuckets = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000] as const;

interface Series {
  readonly statuses: Map<number, number>;
  readonly buckets: number[];
  sumMs: number;
  bytes: number;
}

export interface RouteMetrics {
  readonly route: string;
  readonly requests: number;
  /** Requests by status. */
  readonly statuses: { readonly [status: string]: number };
  /** Requests per duration bucket (not cumulative), one more than `durationBuckets`. */
  readonly buckets: readonly number[];
  readonly sumMs: number;
  /** Bytes of bodies sent. */
  readonly bytes: number;
}

export interface Metrics {
  count(route: string, status: number, ms: number, bytes: number): void;
  /** By route, sorted. */
  snapshot(): readonly RouteMetrics[];
}

export function createMetrics(): Metrics {
  const all = new Map<string, Series>();
  return {
    count(route, status, ms, bytes) {
      let series = all.get(route);
      if (!series) {
        series = {
          statuses: new Map(),
          buckets: new Array<number>(durationBuckets.length + 1).fill(0),
          sumMs: 0,
          bytes: 0,
        };
        all.set(route, series);
      }
      series.statuses.set(status, (series.statuses.get(status) ?? 0) + 1);
      let i = 0;
      while (i < durationBuckets.length && ms > (durationBuckets[i] ?? 0)) i++;
      series.buckets[i] = (series.buckets[i] ?? 0) + 1;
      series.sumMs += ms;
      series.bytes += bytes;
    },
    snapshot: () =>
      [...all]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([route, { statuses, buckets, sumMs, bytes }]) => ({
          route,
          requests: buckets.reduce((sum, n) => sum + n, 0),
          statuses: Object.fromEntries(statuses),
          buckets: [...buckets],
          sumMs,
          bytes,
        })),
  };
}
