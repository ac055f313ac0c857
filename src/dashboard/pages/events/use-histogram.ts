// The counts of calls over time, for the charts of Explore and of an agent.
import { useCall } from '../../lib/query.ts';
import { instantsOf, type Span } from '../../lib/range.ts';
import { chartAxisOf, type EventFilters } from './filters.ts';

/** The calls of the span. The chart begins with a whole bucket; its calls are those of the span, as in the counts. */
export function useHistogram(filter: EventFilters, span: Span, enabled = true) {
  const { until, bucketMs } = chartAxisOf(span);
  const query = { ...filter, ...instantsOf({ from: span.from, until }), bucket_seconds: bucketMs / 1000 };
  return useCall('eventHistogram', { query }, { enabled, keep: true, moves: true });
}
