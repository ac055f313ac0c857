// The explore page: a chart over time, filters with counts, the list with the newest calls first, and a peek of one
// call. The filter is in the address.
import { minuteMs } from '../../../shared/duration.ts';
import './events.css';
import { type JSX, useCallback, useEffect, useEffectEvent, useMemo, useRef, useState } from 'react';
import { linkTo } from '../../lib/address.ts';
import { addressOf } from '../../lib/api.ts';
import { after } from '../../lib/browser.ts';
import { useCommand } from '../../lib/commands.ts';
import { eventLanguage, useEventQuery } from '../../lib/event-query.ts';
import { pagesKey, queries, readOn, usePageRows, usePages } from '../../lib/query.ts';
import { type Span, spanOf } from '../../lib/range.ts';
import { useFilters } from '../../lib/search.ts';
import { serverNow } from '../../lib/server-time.ts';
import { count, counted, maxRows, visible } from '../../lib/text.ts';
import { useNow } from '../../lib/ticker.ts';
import { useFrames } from '../../live/use-frames.ts';
import { Select, ZoneSelect } from '../../ui/form.tsx';
import { Icon } from '../../ui/icons.tsx';
import { usePeek, Views } from '../../ui/list.tsx';
import { NoMatch, NoSearch } from '../../ui/no-match.tsx';
import { Button, PageHead, PreciseTime } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { Split } from '../../ui/split.tsx';
import { isRowFocused } from '../../ui/table-row.tsx';
import { columns, toneOf } from './columns.tsx';
import type { EventRow } from './event-row.ts';
import { EventTable, eventKeyOf } from './event-table.tsx';
import { facetFields, groupFields, isGroupField } from './facet-names.ts';
import { Facets } from './facets.tsx';
import { type EventFilters, filterOf, questionOf } from './filters.ts';
import { Grouped } from './grouped.tsx';
import { Histogram } from './histogram.tsx';
import { visibleEvents } from './sample-events.ts';
import { SearchBar } from './search-bar.tsx';
import { useSearchFurther } from './search-further.ts';
import { TailView } from './tail.tsx';

/** Rows in an answer: a small page arrives sooner, and the next one loads while a person reads. */
const pageSize = 100;
/** Minimum time between two reloads of a live list, for each of its pages, in milliseconds. */
const followMs = 1_000;
/** Time limits of the first search and of the ones that go on, in milliseconds. */
const [firstBudgetMs, laterBudgetMs] = [150, 1_000];

const views = [
  ['search', 'Search'],
  ['tail', 'Tail'],
] as const;

export default function Explore(): JSX.Element {
  const [{ view }, change] = useFilters();
  const isTail = view === 'tail';
  useCommand('liveTail', () => change({ view: isTail ? undefined : 'tail', peek: undefined }), {
    label: isTail ? 'Close live tail' : 'Open live tail',
  });
  return (
    <div className="page events-page">
      <PageHead title="Explore" summary={isTail && 'Calls appear when the hub stores them, newest first.'} />
      <Views label="Views of events" views={views}>
        {isTail ? (
          <>
            <SearchBar />
            <TailView />
          </>
        ) : (
          <Searched />
        )}
      </Views>
    </div>
  );
}

const groupings: readonly (readonly [string, string])[] = [
  ['', 'No grouping'],
  ...Object.entries(groupFields).map(
    ([word, name]) => [word, `By ${facetFields[name].label.toLowerCase()}`] as const,
  ),
];

function Searched(): JSX.Element {
  const [search, change] = useFilters();
  const group = isGroupField(search.group) ? search.group : undefined;
  const span = spanOf(search, useNow(minuteMs));
  const eventQuery = useEventQuery();
  const isWrong = eventQuery.problem !== null;
  const filter = filterOf(search, eventQuery.text, span);
  const [follow, setFollow] = useState(true);
  const list = useList(filter, span, !isWrong);
  // Counts are far more expensive for the hub than rows, so they are requested after the rows.
  const hasCounts = list.eventsQuery.data !== undefined || list.eventsQuery.isError;
  // Of a query that reads arguments or reasons, the loaded rows are counted: the hub would read everything again.
  const hasSample = list.isSample || eventQuery.hasText;
  const sampleRows = hasSample ? list.rows : null;
  useCommand('follow', span.open ? () => setFollow(!follow) : null, {
    label: follow ? 'Pause list' : 'Follow live',
  });
  return (
    <>
      <div className="events-head">
        <SearchBar />
        <div className="decide-buttons">
          <Select
            compact
            label="Group by"
            value={group ?? ''}
            options={groupings}
            onValue={(word) => change({ group: word || undefined, peek: undefined, sort: undefined })}
          />
          <Button
            icon={follow ? 'pause' : 'play'}
            aria-pressed={follow}
            disabled={!span.open}
            onClick={() => setFollow(!follow)}
          >
            {follow && span.open ? 'Pause' : 'Follow live'}
          </Button>
          <Export command="exportNdjson" format="ndjson" filter={filter} isWrong={isWrong} />
          <Export command="exportCsv" format="csv" filter={filter} isWrong={isWrong} />
        </div>
      </div>
      {isWrong ? (
        <NoSearch items="events" />
      ) : (
        <>
          <Histogram filter={filter} span={span} enabled={hasCounts} sampleRows={sampleRows} />
          <div className="events-columns">
            <Facets
              filter={filter}
              question={questionOf(filter, span)}
              enabled={hasCounts}
              rows={sampleRows}
              isSample={list.isSample}
              isMore={list.eventsQuery.hasNextPage}
            />
            <Split name="facets" label="Width of the filters" side="before" least={160} />
            {group ? (
              <Grouped
                key={group}
                by={group}
                filter={filter}
                span={span}
                enabled={hasCounts}
                rows={sampleRows}
                isMore={list.eventsQuery.hasNextPage}
              />
            ) : (
              <List list={list} span={span} follow={follow && span.open} />
            )}
          </div>
        </>
      )}
    </>
  );
}

function Export({
  command,
  format,
  filter,
  isWrong,
}: {
  readonly command: 'exportNdjson' | 'exportCsv';
  readonly format: 'ndjson' | 'csv';
  readonly filter: EventFilters;
  /** The query has a mistake. */
  readonly isWrong: boolean;
}): JSX.Element {
  const link = useRef<HTMLAnchorElement>(null);
  const why = isWrong ? 'Correct the query to export events.' : null;
  useCommand(command, () => link.current?.click(), { why });
  if (isWrong) {
    return (
      <Button icon="download" cannot={why}>
        {format.toUpperCase()}
      </Button>
    );
  }
  return (
    <a
      ref={link}
      className="button"
      download
      href={addressOf('exportEvents', { query: { ...filter, format } })}
    >
      <Icon name="download" /> {format.toUpperCase()}
    </a>
  );
}

/** False while a reload would take away the rows that a person reads, or would move the row that has the focus. */
const mayReload = (follow: boolean, reading: boolean): boolean => follow && !reading && !isRowFocused();

interface Following {
  readonly follow: boolean;
  /** A person has an event open, or has loaded older ones. */
  readonly reading: boolean;
  /** The list loads. A reload would begin its search again. */
  readonly busy: boolean;
  /** Minimum time between two reloads, in milliseconds. */
  readonly restMs: number;
  readonly reload: () => void;
}

/** Number of events since the list was loaded. The hub's frames count all environments and filters together. */
function useArrived({ follow, reading, busy, restMs, reload }: Following): number {
  const [arrived, setArrived] = useState(0);
  const [isDue, setDue] = useState(false);
  /** Calls since a reload became due. */
  const dueCalls = useRef(0);
  const reloadList = useEffectEvent((): void => {
    const calls = dueCalls.current;
    dueCalls.current = 0;
    setDue(false);
    if (mayReload(follow, reading)) {
      reload();
      setArrived(0);
    } else setArrived((before) => before + calls);
  });
  useFrames((frame) => {
    if (frame.type !== 'stats_changed') return;
    const calls = frame.allowed + frame.denied + frame.would_deny + frame.asked;
    if (!mayReload(follow, reading)) setArrived((before) => before + calls);
    else {
      dueCalls.current += calls;
      setDue(true);
    }
  });
  useEffect(() => {
    if (!isDue || busy) return;
    const timer = after(restMs, () => reloadList());
    return () => timer.cancel();
  }, [isDue, busy, restMs]);
  return arrived;
}

/** The list for these filters. It keeps its place in the cache while its start moves with the time. */
function useList(filter: EventFilters, span: Span, enabled: boolean) {
  const key = questionOf(filter, span);
  const [input, options] = useMemo(() => {
    const [name, query] = JSON.parse(key) as [string | null, EventFilters];
    const moving = name === null ? null : { name, query: () => ({ since: startOf(name) }) };
    const budgets = query.q ? { budget_ms: firstBudgetMs } : {};
    return [
      { query: { ...query, ...budgets, limit: pageSize } },
      { own: true, moving, enabled, ...(query.q ? { laterQuery: { budget_ms: laterBudgetMs } } : {}) },
    ] as const;
  }, [key, enabled]);
  const eventsQuery = usePages('searchEvents', input, options);
  /** Reloads the pages. Rows that a search found stay in view until it has searched as far again. */
  const reload = useCallback(() => {
    void queries.invalidateQueries({ queryKey: pagesKey('searchEvents', input, options) });
  }, [input, options]);
  /** Reloads the newest page alone. */
  const restart = useCallback(() => {
    queries.setQueryData(pagesKey('searchEvents', input, options), (data: typeof eventsQuery.data) =>
      data ? { pages: data.pages.slice(0, 1), pageParams: [null] } : data,
    );
    reload();
  }, [input, options, reload]);
  const loadedRows = usePageRows(eventsQuery, ({ reply }) => reply);
  const listed = useMemo(() => visibleEvents(loadedRows, maxRows), [loadedRows]);
  return { eventsQuery, reload, restart, key, ...listed };
}

const startOf = (range: string): string =>
  new Date(spanOf({ from: `now-${range}` }, serverNow()).from).toISOString();

const linkOf = ({ id }: EventRow) => linkTo.event(id);

function List({
  list: { eventsQuery, reload, restart, key, rows, isSample, isFull },
  span,
  follow,
}: Readonly<{ list: ReturnType<typeof useList>; span: Span; follow: boolean }>): JSX.Element {
  const { row: openRow } = usePeek(rows, eventKeyOf, linkOf);
  const eventQuery = useEventQuery();
  const [generation, setGeneration] = useState(0);
  const search = useSearchFurther(eventsQuery, key, pageSize);
  const { searchedTo, isSearching } = search;
  const reading = openRow !== undefined || search.isReadOn;
  const oldest = Date.parse(rows.at(-1)?.timestamp ?? '');
  useEffect(() => {
    // Events can leave the span without a new event, and no frame announces that.
    if (oldest < span.from && mayReload(follow, reading)) {
      reload();
      setGeneration((before) => before + 1);
    }
  }, [oldest, span.from, follow, reading, reload]);
  return (
    <div className="events-list">
      <Arrived
        key={`${key}${generation}`}
        follow={follow}
        reading={reading}
        busy={eventsQuery.isFetching || isSearching}
        restMs={followMs * (eventsQuery.data?.pages.length ?? 1)}
        reload={reload}
        onShow={() => {
          restart();
          search.restart();
          setGeneration((before) => before + 1);
        }}
      />
      {searchedTo !== undefined && (
        <p className="notice notice-plain" role="status">
          <span>
            Searched back to <PreciseTime at={searchedTo} />.
          </span>
          <Button onClick={isSearching ? search.stop : search.goOn}>
            {isSearching ? 'Stop' : 'Search further'}
          </Button>
        </p>
      )}
      <QueryResult query={eventsQuery} rows={10}>
        {() =>
          rows.length === 0 && isSearching ? null : rows.length === 0 ? (
            <NoMatch
              title="No events match these filters"
              text="Events appear here when agents report calls."
              query={eventQuery}
              grammar={eventLanguage.grammar}
              hasRange
            />
          ) : (
            <EventTable
              name="events"
              nameOf={(row) => visible(row.tool_name).slice(0, 200)}
              rows={rows}
              columns={columns}
              toneOf={toneOf}
              linkOf={linkOf}
              onEnd={() => {
                if (!isFull && !search.isShort) readOn(eventsQuery);
              }}
              bar={
                <>
                  <span className="muted">
                    {count(rows.length)}{' '}
                    {!eventsQuery.hasNextPage
                      ? rows.length === 1
                        ? 'event'
                        : 'events'
                      : isFull
                        ? 'newest events. For older ones, narrow the query or the time range'
                        : 'newest events loaded; scroll for more'}
                  </span>
                  {isSample && (
                    <span>
                      <span className="tag">sample</span> Shown until a reported call matches.
                    </span>
                  )}
                  <ZoneSelect />
                </>
              }
            />
          )
        }
      </QueryResult>
    </div>
  );
}

function Arrived({ onShow, ...following }: Following & { readonly onShow: () => void }): JSX.Element | null {
  const arrived = useArrived(following);
  if (arrived === 0) return null;
  return (
    <button type="button" className="pill" onClick={onShow}>
      Show {counted(arrived, 'new event')} from the whole hub
    </button>
  );
}
