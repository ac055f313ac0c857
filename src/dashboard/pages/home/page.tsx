// The overview: figures with those of the previous range, and calls over time with the deployments. It also lists tasks
// that need attention, recent changes, and the contracts, tools and agents with most denials.
import './home.css';
import type { JSX } from 'react';
import { minuteMs } from '../../../shared/duration.ts';
import { rangeOf } from '../../lib/moving-range.ts';
import { useCall, useIsOld } from '../../lib/query.ts';
import { spanOf } from '../../lib/range.ts';
import { useEnv, useFilters } from '../../lib/search.ts';
import { pointsOf } from '../../lib/series.ts';
import { useNow } from '../../lib/ticker.ts';
import { PageHead } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { statsInput } from './ahead.ts';
import { NeedsAttention } from './attention.tsx';
import { Changes } from './changes.tsx';
import { Figures } from './figures.tsx';
import { Lanes } from './lanes.tsx';
import { Start } from './start.tsx';
import { TopLists } from './top.tsx';

/** Buckets of a short range. With one more, a lane has at most 120 bars. */
const points = 119;

export default function Overview(): JSX.Element {
  const env = useEnv();
  const [search] = useFilters();
  const span = spanOf(search, useNow(minuteMs));
  const moving = rangeOf(search);
  const options = { keep: true, moving, ...(span.open ? { refetchMs: minuteMs } : {}) };
  const stats = useCall('statsOverview', statsInput(search), options);
  const seriesQuery = { points: pointsOf(moving.query(), points), ...(env ? { env } : {}) };
  const series = useCall('statsSeries', { query: seriesQuery }, options);
  const question = `${env} ${moving.name}`;
  const isOld = useIsOld(series, question);
  return (
    <div className="page">
      <PageHead title="Overview" />
      <Start />
      <QueryResult query={stats} rows={2} isOld={useIsOld(stats, question)}>
        {(data) => <Figures stats={data} series={series.data} env={env} />}
      </QueryResult>
      <section className="card" aria-label="Calls over time">
        <QueryResult query={series} rows={6} isOld={isOld}>
          {(data) => <Lanes series={data} />}
        </QueryResult>
      </section>
      <div className="columns-main">
        <NeedsAttention />
        <Changes />
      </div>
      <TopLists moving={moving} env={env} enabled={series.data !== undefined} />
    </div>
  );
}
