// Events: what happened? Counts over time, facets beside the list, the newest calls first, one call in a panel. The
// filter is in the address.
import { minuteMs } from '../../../domain/duration.ts';
import './events.css';
import { type JSX, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { addressOf, type Reply } from '../../lib/api.ts';
import { after } from '../../lib/browser.ts';
import { useCommand } from '../../lib/commands.ts';
import { pagesKey, queries, readOn, useCall, useIsOld, usePages } from '../../lib/query.ts';
import { useFilters } from '../../lib/search.ts';
import { serverNow } from '../../lib/server-time.ts';
import { count } from '../../lib/text.ts';
import { useNow } from '../../lib/ticker.ts';
import { followFrames } from '../../live/live.ts';
import { Answer } from '../../ui/answer.tsx';
import { envColumn, nameColumn, timeColumn, verdictColumn } from '../../ui/columns.tsx';
import { Icon } from '../../ui/icons.tsx';
import { SearchInput, Views } from '../../ui/list.tsx';
import { Button, Empty, Name, PageHead, Select, Verdict } from '../../ui/parts.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { VerdictChart } from '../../ui/verdict-charts.tsx';
import { EventPanel } from './detail.tsx';
import { Facets } from './facets.tsx';
import {
  bucketMsOf,
  defaultRange,
  facetLabels,
  facetNames,
  filterOf,
  instantsOf,
  questionOf,
  ranges,
  type Span,
  spanOf,
} from './filters.ts';
import { OwnRange } from './own-range.tsx';
import { TailView } from './tail.tsx';

export type EventRow = Reply<'searchEvents'>[number];

/** Of the hub's answers: rows come sooner from a small one, and the next is asked for while the last is read. */
const pageSize = 100;
/** The most that stays in memory. */
const maxRows = 5_000;
/** While following, the list is read at most so often. */
const followMs = 1_000;

/** A field of the payload; the hub leaves out what is too large for a list. */
export const payloadText = ({ payload }: Pick<EventRow, 'payload'>, name: string): string => {
  const value = (payload as { readonly [name: string]: unknown } | null)?.[name];
  return typeof value === 'string' ? value : '';
};

const columns: readonly Column<EventRow>[] = [
  nameColumn('tool', 'Tool', (row) => row.tool_name, 1.6),
  verdictColumn('verdict', 'Verdict', (row) => row.verdict, 1.6),
  nameColumn('agent', 'Agent', (row) => row.agent_id, 1.6),
  {
    key: 'contract',
    label: 'Contract',
    width: 1.4,
    sort: (row) => payloadText(row, 'decision_name'),
    cell: (row) => <Name text={payloadText(row, 'decision_name') || '–'} />,
  },
  {
    key: 'reason',
    label: 'Reason',
    width: 2,
    sort: (row) => payloadText(row, 'reason'),
    cell: (row) => <Name mono={false} text={payloadText(row, 'reason') || '–'} />,
  },
  envColumn('env', 'Environment', (row) => row.env, 1.5),
  timeColumn('time', 'When', (row) => row.timestamp, 1.4),
];

export default function Events(): JSX.Element {
  const [{ view, since, range }] = useFilters();
  return (
    <div className="page events-page">
      {view === 'tail' ? (
        <>
          <PageHead
            title="Events"
            says={`Each call as the hub hears of it, the newest first.${since || range ? ' The time range does not narrow it.' : ''}`}
          />
          <EventViews />
          <SearchBar />
          <TailView />
        </>
      ) : (
        <Searched />
      )}
    </div>
  );
}

function EventViews(): JSX.Element {
  const [{ view }, change] = useFilters();
  const isTail = view === 'tail';
  useCommand('liveTail', () => change({ view: isTail ? undefined : 'tail', id: undefined }), {
    label: isTail ? 'Leave the live tail' : 'Open the live tail',
  });
  return (
    <Views
      label="Views of events"
      views={[
        ['search', 'Search'],
        ['tail', 'Live tail'],
      ]}
    />
  );
}

function Searched(): JSX.Element {
  const [search, change] = useFilters();
  const span = spanOf(search, useNow(minuteMs));
  const filter = filterOf(search, span);
  const [follow, setFollow] = useState(true);
  const list = useList(filter, span);
  // The counts cost the hub far more than the rows, which somebody waits for: they are asked for after them.
  const hasRows = list.found.data !== undefined || list.found.isError;
  useCommand('follow', span.open ? () => setFollow(!follow) : null, {
    label: follow ? 'Pause the list' : 'Follow live',
  });
  return (
    <>
      <PageHead title="Events">
        <Select
          compact
          label="Time range"
          value={search.since ? 'own' : (span.range ?? defaultRange)}
          options={[...ranges.map(([key, label]) => [key, label] as const), ['own', 'From and to']]}
          onValue={(range) =>
            change(
              range === 'own'
                ? { range: undefined, ...instantsOf(span) }
                : { range, since: undefined, until: undefined },
            )
          }
        />
        <Button
          icon={follow ? 'pause' : 'play'}
          aria-pressed={follow}
          disabled={!span.open}
          onClick={() => setFollow(!follow)}
        >
          {follow && span.open ? 'Pause' : 'Follow live'}
        </Button>
        <Export command="exportNdjson" format="ndjson" filter={filter} />
        <Export command="exportCsv" format="csv" filter={filter} />
      </PageHead>
      <EventViews />
      {search.since && <OwnRange span={span} />}
      <SearchBar />
      <Histogram filter={filter} span={span} enabled={hasRows} />
      <div className="events-columns">
        <Facets filter={filter} question={questionOf(filter, span)} enabled={hasRows} />
        <List of={list} span={span} follow={follow && span.open} />
      </div>
    </>
  );
}

type Filter = ReturnType<typeof filterOf>;

function Export({
  command,
  format,
  filter,
}: {
  readonly command: 'exportNdjson' | 'exportCsv';
  readonly format: 'ndjson' | 'csv';
  readonly filter: Filter;
}): JSX.Element {
  const link = useRef<HTMLAnchorElement>(null);
  useCommand(command, () => link.current?.click());
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

const searchFilters = [...facetNames.filter((name) => name !== 'env'), 'run_id', 'call_id'] as const;
/** What the page is narrowed to; a press takes it back. */
function Chips(): JSX.Element {
  const [search, change] = useFilters();
  return (
    <>
      {searchFilters
        .filter((name) => search[name])
        .map((name) => (
          <button key={name} type="button" className="chip" onClick={() => change({ [name]: undefined })}>
            {name in facetLabels ? facetLabels[name as keyof typeof facetLabels] : name.replace('_', ' ')}:{' '}
            {name === 'verdict' ? <Verdict of={search[name] ?? ''} /> : <Name text={search[name] ?? ''} />}
            <Icon name="x" />
            <span className="heard">remove</span>
          </button>
        ))}
    </>
  );
}

/** The text that is searched for, and what the list is narrowed to. */
function SearchBar(): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  useCommand('searchEvents', () => field.current?.focus());
  return (
    <search className="search-bar">
      <SearchInput
        of="events"
        holds="Agent, tool, contract or call id"
        field={field}
        className="search-field"
      />
      <Chips />
    </search>
  );
}

function Histogram({
  filter,
  span,
  enabled,
}: {
  readonly filter: Filter;
  readonly span: Span;
  readonly enabled: boolean;
}): JSX.Element {
  const [, change] = useFilters();
  const bucketMs = bucketMsOf(span);
  const from = Math.floor(span.from / bucketMs) * bucketMs;
  const until = Math.ceil(span.until / bucketMs) * bucketMs;
  const found = useCall(
    'eventHistogram',
    {
      query: {
        ...filter,
        ...instantsOf({ from, until }),
        bucket_seconds: bucketMs / 1000,
      },
    },
    { enabled, keep: true, moves: true },
  );
  const isOld = useIsOld(found, questionOf(filter, span));
  return (
    <section className="card" aria-label="Calls over time">
      <Answer of={found} rows={4} isOld={isOld}>
        {(list) => (
          <VerdictChart
            title="Calls over time"
            from={from}
            until={until}
            bucketMs={bucketMs}
            buckets={list.map(({ bucket_start, ...counts }) => ({ at: Date.parse(bucket_start), ...counts }))}
            onRange={(since, to) => change({ ...instantsOf({ from: since, until: to }), range: undefined })}
          />
        )}
      </Answer>
    </section>
  );
}

/** How many came since the list was read; the hub counts those of every environment and filter together. */
function useArrived(follow: boolean, reading: boolean, reload: () => void): number {
  const [arrived, setArrived] = useState(0);
  const state = useRef({ follow, reading, reload, due: false });
  state.current = { ...state.current, follow, reading, reload };
  useEffect(
    () =>
      followFrames((frame) => {
        if (frame.type !== 'event_created') return;
        const { current } = state;
        if (!current.follow || current.reading) {
          setArrived((before) => before + frame.accepted);
          return;
        }
        if (current.due) return;
        current.due = true;
        after(followMs, () => {
          state.current.due = false;
          state.current.reload();
        });
      }),
    [],
  );
  return arrived;
}

/** The list that these filters name stays the same one while its start moves with the time. */
function useList(filter: Filter, span: Span) {
  const key = questionOf(filter, span);
  const [input, options] = useMemo(() => {
    const [name, query] = JSON.parse(key) as [string | null, Filter];
    const moving = name === null ? null : { name, query: () => ({ since: startOf(name) }) };
    return [{ query: { ...query, limit: pageSize } }, { own: true, moving }] as const;
  }, [key]);
  const found = usePages('searchEvents', input, options);
  const reload = useCallback(() => {
    const queryKey = pagesKey('searchEvents', input, options);
    // Only the newest page is read again: what was scrolled to is not.
    queries.setQueryData(queryKey, (data: typeof found.data) =>
      data ? { pages: data.pages.slice(0, 1), pageParams: [null] } : data,
    );
    void queries.invalidateQueries({ queryKey });
  }, [input, options]);
  return { found, reload, key };
}

const startOf = (range: string): string => new Date(spanOf({ range }, serverNow()).from).toISOString();

function List({
  of: { found, reload, key },
  span,
  follow,
}: {
  readonly of: ReturnType<typeof useList>;
  readonly span: Span;
  readonly follow: boolean;
}): JSX.Element {
  const [{ id }, change] = useFilters();
  const rows = useMemo(
    () => (found.data?.pages ?? []).flatMap(({ reply }) => reply).slice(0, maxRows),
    [found.data],
  );
  const [generation, setGeneration] = useState(0);
  const reading = id !== undefined || (found.data?.pages.length ?? 0) > 1;
  const oldest = Date.parse(rows.at(-1)?.timestamp ?? '');
  useEffect(() => {
    // What left the span without anything new in it, which no frame tells of.
    if (oldest < span.from && follow && !reading) reload();
  }, [oldest, span.from, follow, reading, reload]);
  return (
    <div className="events-list">
      <Arrived
        key={`${key}${generation}`}
        follow={follow}
        reading={reading}
        onShow={() => setGeneration(generation + 1)}
        reload={reload}
      />
      <Answer of={found} rows={10}>
        {() =>
          rows.length === 0 ? (
            <Empty title="No event fits">
              <p>Widen the time range or remove a filter. Agents report their calls here by themselves.</p>
            </Empty>
          ) : (
            <Table
              name="events"
              rows={rows}
              columns={columns}
              keyOf={(row) => row.id}
              chosen={id}
              onOpen={(row) => change({ id: row.id }, true)}
              onEnd={() => {
                if (rows.length < maxRows) readOn(found);
              }}
              bar={
                <span className="muted">
                  {count(rows.length)} {found.hasNextPage ? 'newest shown; scroll for more' : 'shown'}
                  {rows.some((row) => row.sample) && ', with those of the sample run, which no figure counts'}
                </span>
              }
            />
          )
        }
      </Answer>
      <EventPanel id={id} onClose={() => change({ id: undefined }, true)} />
    </div>
  );
}

function Arrived(props: {
  follow: boolean;
  reading: boolean;
  onShow: () => void;
  reload: () => void;
}): JSX.Element | null {
  const arrived = useArrived(props.follow, props.reading, props.reload);
  if (arrived === 0) return null;
  return (
    <button
      type="button"
      className="pill"
      onClick={() => {
        props.reload();
        props.onShow();
      }}
    >
      {count(arrived)} new in the hub. Show them
    </button>
  );
}
