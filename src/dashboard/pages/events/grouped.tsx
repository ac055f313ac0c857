// Matching calls by tool, agent, contract or environment in place of the list: the values with most calls, each with
// its verdicts and its calls over time.

import { useQueries } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type JSX, useMemo } from 'react';
import { createSemaphore } from '../../../shared/concurrency/semaphore.ts';
import { minuteMs } from '../../../shared/duration.ts';
import { call, type Input, type Reply } from '../../lib/api.ts';
import { narrowed, useEventQuery } from '../../lib/event-query.ts';
import { instantsOf, type Span } from '../../lib/range.ts';
import type { Calls, VerdictCounts } from '../../lib/series.ts';
import { count, counted } from '../../lib/text.ts';
import { countColumn, numberColumn } from '../../ui/columns.tsx';
import { Empty, Name } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { Ribbon, Sparkline, sumOf } from '../../ui/ribbon.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import type { EventRow } from './event-row.ts';
import { facetFields, filterBy, type GroupField, groupFields } from './facet-names.ts';
import { bucketMsOf, type EventFilters, firstBucket, questionOf } from './filters.ts';
import { bucketsOfReply, bucketsOfRows, facetValue } from './sample-events.ts';
import { useFacets } from './use-facets.ts';

/** Values in the table. */
const maxGroups = 20;
/** Points of a sparkline, at most. */
const points = 48;

interface Group {
  readonly value: string;
  readonly calls: number;
  /** Undefined while they load. */
  readonly verdicts: Calls | undefined;
  /** Undefined while they load. */
  readonly bars: ReturnType<typeof barsOf> | undefined;
}

interface GroupedProps {
  readonly by: GroupField;
  readonly filter: EventFilters;
  readonly span: Span;
  readonly enabled: boolean;
  /** The rows to count here; null: the hub counts. */
  readonly rows: readonly EventRow[] | null;
  /** There are more rows than the counted ones. */
  readonly isMore: boolean;
}

export function Grouped({ by, filter, span, enabled, rows, isMore }: GroupedProps): JSX.Element {
  const name = groupFields[by];
  const eventFacets = useFacets(filter, questionOf(filter, span), enabled, rows);
  const least = rows !== null && isMore ? '≥ ' : '';
  return (
    <div className="events-list">
      <QueryResult {...eventFacets} rows={10}>
        {({ total, facets }) => {
          const { top, rest } = facets[name];
          const inGroups = top.reduce((sum, one) => sum + one.count, rest.count);
          return total === 0 ? (
            <Empty
              title="No events match these filters"
              text="Choose a longer time range or remove a term."
            />
          ) : (
            <Groups
              by={by}
              top={top}
              note={`${least}${count(inGroups)} of ${least}${counted(total, 'event')} in ${counted(top.length + rest.values, 'group')}${top.length > maxGroups ? `; the ${maxGroups} largest are in the table` : ''}`}
              least={least}
              filter={filter}
              span={span}
              rows={rows}
            />
          );
        }}
      </QueryResult>
    </div>
  );
}

type FacetTop = Reply<'eventFacets'>['facets']['env']['top'];

interface GroupsProps extends Pick<GroupedProps, 'by' | 'filter' | 'span' | 'rows'> {
  readonly top: FacetTop;
  readonly note: string;
  readonly least: string;
}

function Groups({ by, top, note, least, filter, span, rows }: GroupsProps): JSX.Element {
  const largest = useMemo(() => top.slice(0, maxGroups), [top]);
  const groups = useGroups({ by, top: largest, filter, span, rows });
  const columns = useColumns(by, groups, least);
  return (
    <Table
      name={`calls-by-${by}`}
      grid={`Calls by ${by}`}
      rows={groups}
      columns={columns}
      keyOf={({ value }) => value}
      bar={<span className="muted numbers">{note}</span>}
    />
  );
}

/** Twice the buckets of the chart above, so that both begin at the same times. */
const groupBucketMs = (span: Span): number => bucketMsOf(span) * 2;

/** One request for a group at a time: each costs the hub as much as a chart. */
const oneAtATime = createSemaphore({
  max: 1,
  maxWaiting: 1_000,
  refusal: () => new Error('Too many groups wait for their calls.'),
});

function useGroups({
  by,
  top,
  filter,
  span,
  rows,
}: Pick<GroupsProps, 'by' | 'top' | 'filter' | 'span' | 'rows'>) {
  const eventQuery = useEventQuery();
  const bucketMs = groupBucketMs(span);
  const question = questionOf(filter, span);
  const requests = useQueries({
    queries: top.map(({ value }) => ({
      queryKey: ['groupHistogram', question, by, value],
      enabled: rows === null,
      refetchInterval: span.open ? minuteMs : (false as const),
      queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
        oneAtATime(() => {
          const query = {
            ...filter,
            ...instantsOf(span),
            q: narrowed(eventQuery, filterBy(groupFields[by], value)),
            bucket_seconds: bucketMs / 1000,
          };
          return call('eventHistogram', { query } as Input<'eventHistogram'>, signal);
        }),
    })),
  });
  const from = firstBucket(span.from, bucketMs);
  const sampleBuckets = useMemo(() => {
    const rowsOf = (value: string) => rows?.filter((row) => facetValue(row, groupFields[by]) === value) ?? [];
    return rows && top.map(({ value }) => bucketsOfRows(rowsOf(value), from, bucketMs));
  }, [rows, top, by, from, bucketMs]);
  return top.map(({ value, count: calls }, at): Group => {
    const reply = requests[at]?.data;
    const buckets = sampleBuckets?.[at] ?? (reply && bucketsOfReply(reply));
    return { value, calls, verdicts: buckets && verdictsOf(buckets), bars: buckets && barsOf(buckets, span) };
  });
}

const verdictsOf = (buckets: readonly VerdictCounts[]): Calls => {
  const sum = (verdict: keyof Calls): number => buckets.reduce((total, one) => total + one[verdict], 0);
  return {
    allowed: sum('allowed'),
    denied: sum('denied'),
    would_deny: sum('would_deny'),
    asked: sum('asked'),
  };
};

/** The calls of each bucket of the range, and the denied ones. */
function barsOf(buckets: readonly VerdictCounts[], span: Span) {
  const bucketMs = groupBucketMs(span);
  const from = firstBucket(span.from, bucketMs);
  const size = Math.min(points + 2, Math.max(1, Math.ceil((span.until - from) / bucketMs)));
  const totals = Array.from({ length: size }, () => 0);
  const denied = [...totals];
  for (const one of buckets) {
    const slot = Math.floor((one.at - from) / bucketMs);
    if (slot < 0 || slot >= size) continue;
    totals[slot] = sumOf(one);
    denied[slot] = one.denied;
  }
  return { totals, denied };
}

function useColumns(by: GroupField, groups: readonly Group[], least: string): readonly Column<Group>[] {
  const eventQuery = useEventQuery();
  const max = Math.max(1, ...groups.flatMap(({ bars }) => bars?.totals ?? []));
  return [
    {
      key: by,
      label: facetFields[groupFields[by]].label,
      width: 2,
      sort: ({ value }) => value,
      cell: ({ value }) => (
        <Link
          to="/explore"
          search={
            ((before: object) => ({
              ...before,
              q: narrowed(eventQuery, filterBy(groupFields[by], value)),
              group: undefined,
              sort: undefined,
            })) as never
          }
        >
          <Name text={value} />
        </Link>
      ),
    },
    {
      ...numberColumn((calls) => `${least}${count(calls)}`)<Group>('calls', 'Calls', ({ calls }) => calls),
      inCard: 'beside',
    },
    {
      ...countColumn<Group>('denied', 'Denied', ({ verdicts }) => verdicts?.denied ?? 0),
      cell: ({ verdicts }) => (verdicts ? `${least}${count(verdicts.denied)}` : '…'),
    },
    {
      key: 'verdicts',
      label: 'Verdicts',
      cell: ({ verdicts }) => verdicts && sumOf(verdicts) > 0 && <Ribbon calls={verdicts} />,
    },
    {
      key: 'time',
      label: 'Over time',
      width: 1.4,
      cell: ({ bars }) => bars && <Sparkline {...bars} max={max} />,
    },
  ];
}
