// The live tail: the newest 200 events, then each new one, up to 5,000, newest first. New rows wait while an event is
// open or the tail is paused.
import { type JSX, useEffect, useEffectEvent, useMemo, useRef, useState } from 'react';
import { isEnv } from '../../../shared/ids.ts';
import { linkTo } from '../../lib/address.ts';
import { ApiError, callPage, type Input } from '../../lib/api.ts';
import { useCommand } from '../../lib/commands.ts';
import { useEventQuery } from '../../lib/event-query.ts';
import { signedOut } from '../../lib/me.ts';
import { useEnv, useFilter } from '../../lib/search.ts';
import { useStore } from '../../lib/store.ts';
import { count, counted, visible } from '../../lib/text.ts';
import { liveStatus } from '../../live/live.ts';
import { Tail, type TailRow, type TailState } from '../../live/tail.ts';
import { instantColumn } from '../../ui/columns.tsx';
import { ZoneSelect } from '../../ui/form.tsx';
import { usePeek } from '../../ui/list.tsx';
import { DataParagraph } from '../../ui/names.tsx';
import { NoSearch } from '../../ui/no-match.tsx';
import { Button, Empty, PreciseTime } from '../../ui/parts.tsx';
import { Failed, QueryResult, StaleNotice } from '../../ui/query-result.tsx';
import type { Column } from '../../ui/table.tsx';
import { isRowFocused } from '../../ui/table-row.tsx';
import { columns as listColumns, toneOf } from './columns.tsx';
import type { EventRow } from './event-row.ts';
import { EventTable, eventKeyOf } from './event-table.tsx';
import { listRowOf, narrowed, rowsOfList, tailFits, tailQuery, type VersionHashes } from './tail-filter.ts';
import { maxLookUps, useVersionHashes } from './tail-versions.ts';

/** Maximum of rows in memory. */
const maxRows = 5_000;

/** A column of Explore's list; empty where events are missing. */
const tailColumn = ({ cell, sort, text, ...column }: Column<EventRow>): Column<TailRow> => ({
  ...column,
  cell: (row) => row.kind === 'event' && cell(listRowOf(row.event)),
  ...(sort ? { sort: (row) => (row.kind === 'event' ? sort(listRowOf(row.event)) : '') } : {}),
  ...(text ? { text: (row) => (row.kind === 'event' ? text(listRowOf(row.event)) : '') } : {}),
  hasTerm: (row) => row.kind === 'event',
});

/** Columns that differ from the list: a gap has a time and a sentence, and no filters stand beside the table. */
const changes: { readonly [key: string]: (column: Column<TailRow>) => Column<TailRow> } = {
  time: (column) => ({
    ...column,
    ...instantColumn<TailRow>('time', 'Time', (row) =>
      row.kind === 'gap' ? new Date(row.at).toISOString() : row.event.timestamp,
    ),
  }),
  tool: (column) => ({
    ...column,
    sort: (row) => (row.kind === 'gap' ? 'gap: events are missing here' : row.event.tool_name),
    cell: (row) => (row.kind === 'gap' ? <span className="tone-ask">Events missing</span> : column.cell(row)),
  }),
  arguments: (column) => ({ ...column, width: 2.4 }),
  // An agent may report an environment of its own, which no query can contain.
  env: (column) => ({ ...column, hasTerm: (row) => row.kind === 'event' && isEnv(row.event.environment) }),
};

const columns = listColumns.map(tailColumn).map((column) => changes[column.key]?.(column) ?? column);

const states: { readonly [S in TailState]: string } = {
  connecting: 'Connecting to the live tail',
  live: 'No new events yet',
  reconnecting: 'Connection lost, reconnecting',
  refused: 'The hub rejected the live tail',
};

const linkOf = (row: TailRow) => (row.kind === 'event' ? linkTo.event(row.id) : undefined);

const noHashes: VersionHashes = {};

export function TailView(): JSX.Element | null {
  const [env] = useFilter('env');
  const eventQuery = useEventQuery();
  const { hasNumbers, versionsQuery } = useVersionHashes(eventQuery.query);
  const hashes = hasNumbers ? versionsQuery.data : noHashes;
  // During a look-up, the tail goes on with the filter before it. A pause and its rows stay.
  const filter = useRef<TailFilter | null>(null);
  if (eventQuery.problem) return <NoSearch items="events" />;
  if (hashes) filter.current = { rest: eventQuery.text, hashes };
  const substitute = hashes ? null : (
    <QueryResult query={versionsQuery} rows={5}>
      {() => <TooManyVersions />}
    </QueryResult>
  );
  if (!filter.current) return substitute;
  const query = tailQuery(env);
  return (
    <>
      {hasNumbers && hashes && <StaleNotice query={versionsQuery} />}
      <Following key={query} query={query} {...filter.current} substitute={substitute} />
    </>
  );
}

const TooManyVersions = (): JSX.Element => (
  <Empty
    title="Too many bundles for a version number"
    text={`Tail looks up at most ${maxLookUps} pairs of a number and a bundle. Name the bundle, as in bundle:shop version:v8, or use the version's hash.`}
  />
);

/** The browser applies it. */
interface TailFilter {
  readonly rest: string;
  readonly hashes: VersionHashes;
}

interface TailProps extends TailFilter {
  /** The stream applies it. */
  readonly query: string;
}

interface Held {
  readonly rows: readonly TailRow[];
  /** Rows that arrived during the pause, newest first. */
  readonly waiting: readonly TailRow[];
  /** Ids of the rows that are older than the tail of this query. */
  readonly earlierIds: ReadonlySet<string>;
}

const idsOf = (rows: readonly TailRow[]): ReadonlySet<string> => new Set(rows.map(({ id }) => id));

/** Events that the tail begins with. */
const maxEarlier = 200;
/** Time limit of a search in arguments and reasons for them, in milliseconds. */
const earlierBudgetMs = 1_000;

/** `searchedTo` is where the time limit ended the search; undefined: all of the newest events are there. */
async function earlierRows(env: string | undefined, q: string, signal: AbortSignal) {
  const filter = { ...(env ? { env } : {}), ...(q === '' ? {} : { q, budget_ms: earlierBudgetMs }) };
  const query = { ...filter, limit: maxEarlier } as Input<'searchEvents'>['query'];
  const { reply, next, searchedTo } = await callPage('searchEvents', { query }, signal);
  return { rows: rowsOfList(reply), searchedTo: next === null ? undefined : searchedTo };
}

/**
 * Lists the newest events before the tail, for each query again. New events do not depend on the list: after an error,
 * a click repeats the request.
 */
function useEarlier(rest: string, isOpen: boolean, onRows: (rows: readonly TailRow[]) => void) {
  const env = useEnv();
  const [error, setError] = useState<ApiError | null>(null);
  const [searchedTo, setSearchedTo] = useState<string | undefined>();
  const [attempt, setAttempt] = useState(0);
  const take = useEffectEvent(onRows);
  // biome-ignore lint/correctness/useExhaustiveDependencies: an attempt repeats the request
  useEffect(() => {
    if (!isOpen) return;
    const search = new AbortController();
    const { signal } = search;
    const list = async (): Promise<void> => {
      try {
        const earlier = await earlierRows(env, rest, signal);
        if (signal.aborted) return;
        take(earlier.rows);
        setSearchedTo(earlier.searchedTo);
      } catch (failure) {
        if (signal.aborted) return;
        if (!(failure instanceof ApiError)) throw failure;
        setError(failure);
      }
    };
    setError(null);
    setSearchedTo(undefined);
    void list();
    return () => search.abort();
  }, [isOpen, env, rest, attempt]);
  return { error, searchedTo, relist: () => setAttempt(attempt + 1) };
}

const newest = (batch: readonly TailRow[], before: readonly TailRow[]): readonly TailRow[] =>
  [...[...batch].reverse(), ...before].slice(0, maxRows);

/**
 * The newest events before the tail, at its end, in place of the rows of the query before. Called once the stream is
 * open, so that none is missing between.
 */
function addEarlier({ rows, waiting, earlierIds }: Held, earlier: readonly TailRow[]): Held {
  const isNew = ({ id }: TailRow): boolean => !earlierIds.has(id);
  const [newRows, newWaiting] = [rows.filter(isNew), waiting.filter(isNew)];
  const ids = idsOf([...newRows, ...newWaiting]);
  const all = [...newRows, ...earlier.filter(({ id }) => !ids.has(id))];
  return { rows: all.slice(0, maxRows), waiting: newWaiting, earlierIds: idsOf(earlier) };
}

/** New rows at the beginning; they wait while a person reads. */
function addNew(held: Held, arrived: readonly TailRow[], isStill: boolean): Held {
  const { rows, waiting, earlierIds } = held;
  const batch = arrived.filter(({ id }) => !earlierIds.has(id));
  if (batch.length === 0) return held;
  return isStill
    ? { rows, waiting: newest(batch, waiting), earlierIds }
    : { rows: newest(batch, newest([...waiting].reverse(), rows)), waiting: [], earlierIds };
}

/** The tail of a query, and its rows. New ones wait while one of them is open. @param isStill they wait anyway */
function useTail({ query, rest, hashes }: TailProps, isStill: boolean) {
  const [held, setHeld] = useState<Held>({ rows: [], waiting: [], earlierIds: new Set() });
  const [{ state, why }, setState] = useState<{ state: TailState; why: string | null }>({
    state: 'connecting',
    why: null,
  });
  const [since, setSince] = useState('the tail opened');
  const { row: openRow } = usePeek(held.rows, eventKeyOf, linkOf);
  const still = useRef(false);
  still.current = isStill || openRow !== undefined;
  const following = useRef<Tail | null>(null);
  const [isOpen, setOpen] = useState(false);
  const fits = useMemo(() => tailFits(rest, hashes), [rest, hashes]);
  const latestFits = useRef(fits);
  useEffect(() => {
    if (latestFits.current === fits) return;
    latestFits.current = fits;
    // Until the hub's answer, the rows are those that match both filters.
    setHeld(({ rows, waiting }) => ({
      rows: narrowed(rows, fits),
      waiting: narrowed(waiting, fits),
      earlierIds: idsOf([...rows, ...waiting]),
    }));
    setSince('the filter changed');
  }, [fits]);
  const earlier = useEarlier(rest, isOpen, (rows) => setHeld((before) => addEarlier(before, rows)));
  useEffect(() => {
    const tail = new Tail(query, {
      rows: (all) => {
        const batch = narrowed(all, latestFits.current);
        const isStill = still.current || isRowFocused();
        if (batch.length > 0) setHeld((before) => addNew(before, batch, isStill));
      },
      state: (next, reason) => {
        setState({ state: next, why: reason });
        if (next === 'live') setOpen(true);
      },
    });
    following.current = tail;
    return () => tail.close();
  }, [query]);
  const { state: live } = useStore(liveStatus);
  const isOut = useStore(signedOut);
  useEffect(() => {
    if (live === 'live' && !isOut) following.current?.retry();
  }, [live, isOut]);
  const show = (): void =>
    setHeld((before) => ({
      ...before,
      rows: newest([...before.waiting].reverse(), before.rows),
      waiting: [],
    }));
  const retry = (): void => following.current?.retry();
  const fresh = held.rows.filter(({ id }) => !held.earlierIds.has(id)).length;
  return { held, earlier, state, why, since, fresh, show, retry };
}

interface FollowingProps extends TailProps {
  /** In place of the table while its rows belong to another query; null: the table. */
  readonly substitute: JSX.Element | null;
}

function Following({ substitute, ...props }: FollowingProps): JSX.Element {
  const [paused, setPaused] = useState(false);
  const [isOverTerms, setOverTerms] = useState(false);
  const tail = useTail(props, paused || isOverTerms);
  const { held, earlier, state, why, since, fresh, show, retry } = tail;
  const { rows, waiting } = held;
  const pause = (): void => {
    if (paused) show();
    setPaused(!paused);
  };
  useCommand('follow', pause, { label: paused ? 'Resume tail' : 'Pause tail' });
  if (substitute) return substitute;
  const again = state === 'refused' && <Button onClick={retry}>Retry</Button>;
  return (
    <div className="events-list">
      {/* It would move the table under the pointer. */}
      {waiting.length > 0 && !isOverTerms && (
        <button type="button" className="pill" onClick={show}>
          Show {count(waiting.length)}
          {waiting.length === maxRows ? '+' : ''} new {waiting.length === 1 ? 'event' : 'events'}
        </button>
      )}
      {earlier.searchedTo !== undefined && (
        <p className="notice notice-plain" role="status">
          <span>
            Searched back to <PreciseTime at={earlier.searchedTo} /> for earlier events.
          </span>
        </p>
      )}
      {earlier.error && <Failed error={earlier.error} onRetry={earlier.relist} />}
      {rows.length === 0 ? (
        <Empty title={states[state]}>
          {(state === 'live' || state === 'connecting') && (
            <p>Events appear here when agents report calls.</p>
          )}
          {state === 'reconnecting' && <p>The tail continues from the last received event.</p>}
          {why !== null && <DataParagraph text={why} mono={false} />}
          {again}
        </Empty>
      ) : (
        <EventTable
          name="tail"
          nameOf={(row) => (row.kind === 'gap' ? 'gap' : visible(row.event.tool_name).slice(0, 200))}
          rows={rows}
          columns={columns}
          toneOf={(row) => (row.kind === 'event' ? toneOf(listRowOf(row.event)) : undefined)}
          linkOf={linkOf}
          onTermHover={setOverTerms}
          bar={
            <>
              <Button icon={paused ? 'play' : 'pause'} aria-pressed={paused} onClick={pause}>
                {paused ? 'Resume' : 'Pause'}
              </Button>
              <span className="muted numbers">
                {rows.length === maxRows
                  ? `Newest ${count(maxRows)} events`
                  : `${fresh === 0 ? 'No events' : counted(fresh, 'event')} since ${since}`}
                {rows.length < maxRows && fresh < rows.length && `, ${count(rows.length - fresh)} before`}
                {state === 'live' ? '' : `. ${states[state]}.`}
              </span>
              {again}
              <ZoneSelect />
            </>
          }
        />
      )}
    </div>
  );
}
