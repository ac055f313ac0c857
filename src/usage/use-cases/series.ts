// Counts of calls over time: in total, or by agent, tool, contract or version.
import type { Rulings } from '../../agent/use-cases/rulings.ts';
import {
  bucketsOf,
  bucketWidth,
  type CallSeries,
  maxValues,
  type SeriesBy,
  type SeriesRange,
} from '../../event/rules/series.ts';
import { listedEnvs, requireRole } from '../../shared/access.ts';
import { HubError } from '../../shared/error.ts';
import type { Env } from '../../shared/ids.ts';
import type { Principal } from '../../shared/principal.ts';
import { checkRange } from '../../shared/time-range.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';

export interface SeriesQuestion extends SeriesRange {
  readonly env: Env | null;
  readonly by: SeriesBy;
  /** Null: the `top` values with most denials. */
  readonly values: readonly string[] | null;
  readonly top: number;
  /** Buckets, at most. */
  readonly points: number;
}

export interface SeriesAnswer {
  /** Beginning of the first bucket. Epoch milliseconds. */
  readonly start: number;
  readonly bucketMs: number;
  /** Events that were stored until then are counted. */
  readonly completeTo: number;
  readonly series: readonly CallSeries[];
}

export interface SeriesReader {
  /** @throws HubError validation_failed for a range that ends before it begins; unprocessable for too long a range */
  get(principal: Principal, question: SeriesQuestion): Promise<SeriesAnswer>;
}

type Ports = Pick<AppPorts, 'store' | 'clock'> & { readonly rulings: Pick<Rulings, 'entries'> };

export const createSeriesReader = ({ store, clock, rulings }: Ports): SeriesReader => ({
  async get(principal, { env, by, values, top, points, since, until }) {
    requireRole(principal, 'viewer');
    checkRange({ since, until });
    const bucketMs = bucketWidth({ since, until }, points, by);
    if (bucketMs === null) {
      throw new HubError(
        'unprocessable',
        'The time range is too long for so few points. Choose a shorter range or more points.',
      );
    }
    const { tenantId } = principal;
    const completeTo = clock.now();
    const max = maxValues[by];
    const scope = {
      ...(max === undefined ? {} : { maxValues: max }),
      env: listedEnvs(principal, env),
      by,
      since,
      until,
      ...(by === 'contract' ? { entries: await rulings.entries(tenantId) } : {}),
    };
    const request = { ...scope, bucketMs };
    const chosen = by === 'total' ? [''] : values;
    const series =
      chosen === null
        ? await store.events.rankedSeries(tenantId, request, top)
        : chosen.length === 0
          ? []
          : await store.events.series(tenantId, { ...request, values: chosen });
    return { start: bucketsOf({ since, until }, bucketMs).start, bucketMs, completeTo, series };
  },
});
