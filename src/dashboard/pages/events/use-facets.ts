// The counts of calls by the values of each field: the hub's, or those of loaded rows.
import { useMemo } from 'react';
import { useCall, useIsOld } from '../../lib/query.ts';
import type { EventRow } from './event-row.ts';
import type { EventFilters } from './filters.ts';
import { facetsOfRows } from './sample-events.ts';

/**
 * @param question identifies the filter, whatever the time
 * @param rows the rows to count here; null: the hub counts
 */
export function useFacets(
  filter: EventFilters,
  question: string,
  enabled: boolean,
  rows: readonly EventRow[] | null,
) {
  const query = useCall(
    'eventFacets',
    { query: filter },
    { enabled: enabled && rows === null, keep: true, moves: true },
  );
  const isOld = useIsOld(query, question) && rows === null;
  const counted = useMemo(() => rows && facetsOfRows(rows), [rows]);
  return { query: counted ? { ...query, data: counted, error: null } : query, isOld };
}
