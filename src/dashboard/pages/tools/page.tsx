// The tools page: definitions to review, all definitions, and the modes of servers.
import './tools.css';
import type { JSX } from 'react';
import { linkTo } from '../../lib/address.ts';
import { readOn, useFirstRow } from '../../lib/query.ts';
import { useFilters } from '../../lib/search.ts';
import { count, counted, loadedText, maxRows, visible } from '../../lib/text.ts';
import { envColumn, nameColumn, numberColumn, timeColumn } from '../../ui/columns.tsx';
import { Tabbed } from '../../ui/list.tsx';
import { NameLink } from '../../ui/names.tsx';
import { Button, Empty, PageHead, Skeleton } from '../../ui/parts.tsx';
import { QueryResult, type QueryState } from '../../ui/query-result.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { isUndecided, statusWord, type ToolPin } from './model.ts';
import { type Tools as AllTools, useTools } from './pins.ts';
import { Settings } from './settings.tsx';

const views = [
  ['waiting', 'Waiting'],
  ['all', 'All'],
  ['settings', 'Settings'],
] as const;

export default function Tools(): JSX.Element {
  const [search, change] = useFilters();
  const { server } = search;
  // An address of a server from before the views has none.
  const name = search.view ?? (server === undefined ? 'waiting' : 'all');
  const view = views.find(([key]) => key === name)?.[0] ?? 'waiting';
  const show = (key: string): void =>
    change({
      ...{ view: key === 'waiting' ? undefined : key },
      ...{ server: undefined, peek: undefined, sort: undefined },
    });
  const { query, tools } = useTools(view === 'all' ? server : undefined);
  const { envs, servers, toReview, hasMoreUndecided } = tools;
  const place = envs.length === 1 ? ` in ${envs[0]}` : '';
  return (
    <div className="page">
      <PageHead
        title="Tools"
        summary={
          query.data &&
          `${counted(servers.length, 'MCP server')}${place}, ${hasMoreUndecided ? `${count(toReview.length)}+ definitions` : counted(toReview.length, 'definition')} to review.`
        }
      />
      <Tabbed label="Views of tools" views={views} current={view} onView={show}>
        <QueryResult query={query}>
          {() =>
            view === 'settings' ? (
              <Settings tools={tools} />
            ) : servers.length === 0 ? (
              <Empty
                title="No MCP servers yet"
                text="Servers and their tools appear here when an agent connects to them through reeve-agent mcp."
              />
            ) : view === 'all' ? (
              <All query={query} tools={tools} />
            ) : (
              <Waiting query={query} tools={tools} />
            )
          }
        </QueryResult>
      </Tabbed>
    </div>
  );
}

interface ListProps {
  readonly query: QueryState<unknown>;
  readonly tools: AllTools;
}

/** Undecided definitions that load by themselves until there is one to review. Then a press on a button reads on. */
const maxSearched = 4_000;

function Waiting({ query, tools: { pins, toReview, hasMoreUndecided } }: ListProps): JSX.Element {
  const undecided = { ...query, hasNextPage: hasMoreUndecided };
  const searched = pins.filter(isUndecided).length;
  const isPaused = hasMoreUndecided && searched >= maxSearched;
  useFirstRow(undecided, toReview.length > 0 || isPaused);
  if (toReview.length > 0)
    return <Definitions pins={toReview} hasMore={hasMoreUndecided} query={undecided} />;
  if (isPaused)
    return (
      <Empty
        title={`No definition to review among the first ${count(searched)}`}
        text="Further undecided definitions are not searched yet."
      >
        <Button busy={query.isFetching} onClick={() => readOn(undecided)}>
          Search further
        </Button>
      </Empty>
    );
  return hasMoreUndecided ? (
    <Skeleton />
  ) : (
    <Empty
      title="No definitions to review"
      text="New and changed definitions appear here where the mode is hold or deny, and changed ones in every mode."
    />
  );
}

function All({ query, tools: { pins, hasMore } }: ListProps): JSX.Element {
  const [{ server }, change] = useFilters();
  return (
    <>
      {server !== undefined && (
        <div className="filter-bar">
          <h2>Definitions from {visible(server)}</h2>
          <Button onClick={() => change({ view: 'all', server: undefined })}>Show all servers</Button>
        </div>
      )}
      <Definitions pins={pins} hasMore={hasMore} query={query} />
    </>
  );
}

/** Agents of a definition that the hub lists, at most. */
const maxAgents = 100;

const columns: readonly Column<ToolPin>[] = [
  {
    ...nameColumn<ToolPin>('tool', 'Tool', ({ tool }) => tool, 1.6),
    cell: ({ id, tool }) => <NameLink link={linkTo.tool(id)} text={tool} />,
  },
  nameColumn('server', 'Server', ({ server }) => server, 1.6),
  {
    key: 'status',
    label: 'Status',
    width: 1,
    sort: (pin) => statusWord(pin),
    cell: (pin) => (
      <span>
        {statusWord(pin)}
        {pin.changed && <span className="muted"> changed</span>}
      </span>
    ),
  },
  timeColumn('first', 'First seen', (pin) => pin.first_seen_at, 1),
  numberColumn((agents) => `${count(agents)}${agents < maxAgents ? '' : '+'}`)(
    'agents',
    'Agents',
    ({ agent_count: agents }) => agents ?? null,
    0.8,
  ),
  nameColumn('by', 'Decided by', ({ decided_by }) => decided_by ?? '', 1.2),
  envColumn('env', 'Environment', ({ env }) => env, 1),
];

const Definitions = ({
  pins,
  hasMore,
  query,
}: Readonly<{
  pins: readonly ToolPin[];
  hasMore: boolean;
  query: QueryState<unknown>;
}>): JSX.Element => (
  <Table
    name="tools"
    row="definition"
    rows={pins}
    columns={columns}
    keyOf={({ id }) => id}
    bar={loadedText(pins.length, 'definition', hasMore)}
    onEnd={() => {
      if (pins.length < maxRows) readOn(query);
    }}
  />
);
