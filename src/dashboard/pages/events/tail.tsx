// The live tail: each event as the hub stores it, the newest first, up to 5,000. It can be paused, and holds still
// while one is read.
import { type JSX, useEffect, useMemo, useRef, useState } from 'react';
import { useCommand } from '../../lib/commands.ts';
import { signedOut } from '../../lib/me.ts';
import { useFilters } from '../../lib/search.ts';
import { useStore } from '../../lib/store.ts';
import { count } from '../../lib/text.ts';
import { liveStatus } from '../../live/live.ts';
import { Tail, type TailRow, type TailState } from '../../live/tail.ts';
import { Button, Data, Empty, Env, Name, Time, Verdict } from '../../ui/parts.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { EventPanel } from './detail.tsx';
import { narrowed, tailFits, tailQuery, tailRest } from './tail-filter.ts';

/** The most that stays in memory. */
const maxRows = 5_000;

const text = (row: TailRow, of: (event: Extract<TailRow, { kind: 'event' }>['event']) => unknown): string =>
  row.kind === 'gap' ? '' : String(of(row.event) ?? '');

const columns: readonly Column<TailRow>[] = [
  {
    key: 'tool',
    label: 'Tool',
    width: 1.6,
    sort: (row) => (row.kind === 'gap' ? 'gap: events are missing here' : row.event.tool_name),
    cell: (row) =>
      row.kind === 'gap' ? (
        <span className="tone-ask">Events are missing here</span>
      ) : (
        <Name text={row.event.tool_name} />
      ),
  },
  {
    key: 'verdict',
    inCard: 'beside',
    label: 'Verdict',
    width: 1.6,
    sort: (row) => text(row, (event) => event.action),
    cell: (row) => row.kind === 'event' && <Verdict of={row.event.action} />,
  },
  {
    key: 'agent',
    label: 'Agent',
    width: 1.6,
    sort: (row) => text(row, (event) => event.agent_id),
    cell: (row) => row.kind === 'event' && <Name text={row.event.agent_id} />,
  },
  {
    key: 'contract',
    label: 'Contract',
    width: 1.4,
    sort: (row) => text(row, (event) => event.decision_name),
    cell: (row) => row.kind === 'event' && <Name text={text(row, (event) => event.decision_name) || '–'} />,
  },
  {
    key: 'reason',
    label: 'Reason',
    width: 2,
    sort: (row) => text(row, (event) => event.reason),
    cell: (row) =>
      row.kind === 'event' && <Name mono={false} text={text(row, (event) => event.reason) || '–'} />,
  },
  {
    key: 'env',
    inCard: 'plain',
    label: 'Environment',
    width: 1.5,
    sort: (row) => text(row, (event) => event.environment),
    cell: (row) => row.kind === 'event' && <Env of={row.event.environment} />,
  },
  {
    key: 'time',
    label: 'When',
    width: 1.4,
    sort: (row) => (row.kind === 'gap' ? row.at : Date.parse(row.event.timestamp)),
    text: (row) => text(row, (event) => event.timestamp),
    cell: (row) =>
      row.kind === 'gap' ? <Time at={new Date(row.at).toISOString()} /> : <Time at={row.event.timestamp} />,
  },
];

const states: { readonly [S in TailState]: string } = {
  connecting: 'Opening the tail.',
  live: 'Waiting for the next event.',
  reconnecting: 'The tail broke off; it opens again and goes on where it was.',
  refused: 'The hub refused the tail.',
};

export function TailView(): JSX.Element {
  const [search] = useFilters();
  const query = tailQuery(search);
  return <Following key={query} query={query} rest={tailRest(search)} />;
}

interface Held {
  readonly rows: readonly TailRow[];
  /** Came while it was held, newest first. */
  readonly waiting: readonly TailRow[];
}

const newest = (batch: readonly TailRow[], before: readonly TailRow[]): readonly TailRow[] =>
  [...[...batch].reverse(), ...before].slice(0, maxRows);

function Following({ query, rest }: { readonly query: string; readonly rest: string }): JSX.Element {
  const [{ id }, change] = useFilters();
  const [paused, setPaused] = useState(false);
  const [held, setHeld] = useState<Held>({ rows: [], waiting: [] });
  const [{ state, why }, setState] = useState<{ state: TailState; why: string | null }>({
    state: 'connecting',
    why: null,
  });
  const [since, setSince] = useState('it was opened');
  const still = useRef(false);
  still.current = paused || id !== undefined;
  const following = useRef<Tail | null>(null);
  const fits = useMemo(() => tailFits(rest), [rest]);
  const wanted = useRef(fits);
  useEffect(() => {
    if (wanted.current === fits) return;
    wanted.current = fits;
    // What came before and did not fit then is gone: the rows begin anew with those that fit both.
    setHeld(({ rows, waiting }) => ({ rows: narrowed(rows, fits), waiting: narrowed(waiting, fits) }));
    setSince('the filter was set');
  }, [fits]);
  useEffect(() => {
    const tail = new Tail(query, {
      rows: (all) => {
        const batch = narrowed(all, wanted.current);
        if (batch.length === 0) return;
        setHeld(({ rows, waiting }) =>
          still.current
            ? { rows, waiting: newest(batch, waiting) }
            : { rows: newest(batch, newest([...waiting].reverse(), rows)), waiting: [] },
        );
      },
      state: (next, reason) => setState({ state: next, why: reason }),
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
    setHeld(({ rows, waiting }) => ({ rows: newest([...waiting].reverse(), rows), waiting: [] }));
  const { rows, waiting } = held;
  const pause = (): void => {
    if (paused) show();
    setPaused(!paused);
  };
  useCommand('follow', pause, { label: paused ? 'Go on with the tail' : 'Pause the tail' });
  const again = state === 'refused' && <Button onClick={() => following.current?.retry()}>Try again</Button>;
  return (
    <div className="events-list">
      {waiting.length > 0 && (
        <button type="button" className="pill" onClick={show}>
          {count(waiting.length)}
          {waiting.length === maxRows ? '+' : ''} new. Show them
        </button>
      )}
      {rows.length === 0 ? (
        <Empty title={states[state]}>
          {why !== null && (
            <p>
              <Data text={why} mono={false} />
            </p>
          )}
          {again}
        </Empty>
      ) : (
        <Table
          name="tail"
          rows={rows}
          columns={columns}
          keyOf={(row) => row.id}
          chosen={id}
          onOpen={(row) => row.kind === 'event' && change({ id: row.id }, true)}
          bar={
            <>
              <Button icon={paused ? 'play' : 'pause'} aria-pressed={paused} onClick={pause}>
                {paused ? 'Go on' : 'Pause'}
              </Button>
              <span className="muted numbers">
                {rows.length === maxRows
                  ? `the newest ${count(maxRows)}`
                  : `${count(rows.length)} since ${since}`}
                {state === 'live' ? '' : `. ${states[state]}`}
              </span>
              {again}
            </>
          }
        />
      )}
      <EventPanel id={id} onClose={() => change({ id: undefined }, true)} />
    </div>
  );
}
