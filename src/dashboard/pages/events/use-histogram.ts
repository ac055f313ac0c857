// The counts of calls over time, for the charts of Explore and of an agent.
import { useCall } from '../../lib/query.ts';
import type { Span } from '../../lib/range.ts';
import { chartQueryOf, type EventFilters } from './filters.ts';

export const useHistogram = (filter: EventFilters, span: Span, enabled = true) =>
  useCall('eventHistogram', { query: chartQueryOf(filter, span) }, { enabled, keep: true, moves: true });
