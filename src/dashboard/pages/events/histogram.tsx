// The chart of Explore: matching calls over time by verdict, below the deployments.
import { type JSX, useMemo } from 'react';
import { useIsOld } from '../../lib/query.ts';
import { fixedRange, type Span } from '../../lib/range.ts';
import { useFilters } from '../../lib/search.ts';
import { stackLabelWidth } from '../../ui/chart.ts';
import { DeploymentMarkers, useDeploymentMarkers } from '../../ui/deployment-markers.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { VerdictChart } from '../../ui/verdict-charts.tsx';
import type { EventRow } from './event-row.ts';
import { chartAxisOf, type EventFilters, questionOf } from './filters.ts';
import { bucketsOfReply, bucketsOfRows } from './sample-events.ts';
import { useHistogram } from './use-histogram.ts';

export function Histogram({
  filter,
  span,
  enabled,
  sampleRows,
}: {
  readonly filter: EventFilters;
  readonly span: Span;
  readonly enabled: boolean;
  /** The rows to count here; null: the hub counts. */
  readonly sampleRows: readonly EventRow[] | null;
}): JSX.Element {
  const [, change] = useFilters();
  const { from, until, bucketMs } = chartAxisOf(span);
  const eventHistogramQuery = useHistogram(filter, span, enabled && sampleRows === null);
  const isOld = useIsOld(eventHistogramQuery, questionOf(filter, span));
  const sampleBuckets = useMemo(
    () => sampleRows && bucketsOfRows(sampleRows, from, bucketMs),
    [sampleRows, from, bucketMs],
  );
  const { markers, marks } = useDeploymentMarkers(from, until);
  const chart = { title: 'Calls over time', from, until, bucketMs, marks };
  return (
    <section className="card" aria-label={chart.title}>
      <DeploymentMarkers markers={markers} from={from} until={until} labelWidth={stackLabelWidth} />
      <QueryResult
        query={sampleRows ? { ...eventHistogramQuery, data: [], error: null } : eventHistogramQuery}
        placeholder={<VerdictChart {...chart} buckets={null} />}
        isOld={isOld && sampleRows === null}
      >
        {(buckets) => (
          <VerdictChart
            {...chart}
            buckets={sampleBuckets ?? bucketsOfReply(buckets)}
            onRange={(since, to) => change(fixedRange({ from: since, until: to }))}
          />
        )}
      </QueryResult>
    </section>
  );
}
