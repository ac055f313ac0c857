// The tools page: servers of an environment with their modes, and definitions of their tools, undecided ones first.
import './tools.css';
import { Link } from '@tanstack/react-router';
import type { JSX } from 'react';
import { linkTo } from '../../lib/address.ts';
import { useOneEnv, useSignedIn } from '../../lib/me.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { type Env as Environment, useFilter } from '../../lib/search.ts';
import { counted, visible } from '../../lib/text.ts';
import { envColumn, nameColumn, nameOrColumn, timeColumn } from '../../ui/columns.tsx';
import { Select } from '../../ui/form.tsx';
import { NameLink } from '../../ui/names.tsx';
import { Button, Empty, Name, PageHead } from '../../ui/parts.tsx';
import { Failed, QueryResult } from '../../ui/query-result.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { type Mode, modes, problemWords, statusWord, type ToolPin, type ToolServer } from './model.ts';

const maxTools = 1000;

export default function Tools(): JSX.Element {
  const env = useOneEnv();
  const [server, chooseServer] = useFilter('server');
  const query = { env, limit: maxTools, ...(server === undefined ? {} : { server }) };
  const toolsQuery = useCall('listToolPins', { query }, { keep: true });
  const undecided = (toolsQuery.data?.tools ?? []).filter(
    ({ status, changed }) => status === 'waiting' || (status === 'observed' && changed),
  );
  return (
    <div className="page">
      <PageHead
        title="Tools"
        summary={
          toolsQuery.data &&
          `${counted(toolsQuery.data.servers.length, 'MCP server')} in ${env}, ${counted(undecided.length, 'definition')} to review.`
        }
      >
        {toolsQuery.data && <ModeSelect env={env} server={null} mode={toolsQuery.data.mode} />}
      </PageHead>
      <QueryResult
        query={toolsQuery}
        none={({ servers }) =>
          servers.length === 0 && (
            <Empty
              title="No MCP servers yet"
              text="Servers and their tools appear here when an agent connects to them through reeve-agent mcp."
            />
          )
        }
      >
        {({ servers, tools, more, mode }) => (
          <>
            <Servers servers={servers} env={env} mode={mode} />
            <h2>{server === undefined ? 'Definitions' : `Definitions from ${visible(server)}`}</h2>
            {server !== undefined && (
              <Button onClick={() => chooseServer(undefined)}>Show all servers</Button>
            )}
            <Definitions tools={tools} />
            {more && (
              <p className="muted">Only the first {maxTools} definitions are here. Choose a server.</p>
            )}
          </>
        )}
      </QueryResult>
    </div>
  );
}

/** The mode of an environment, or of a server in it. Admins change it. */
function ModeSelect({
  env,
  server,
  mode,
  own,
}: {
  readonly env: Environment;
  readonly server: string | null;
  readonly mode: Mode;
  /** Of a server: its own mode; null: the environment's. */
  readonly own?: Mode | null;
}): JSX.Element {
  const me = useSignedIn();
  const change = useAction('setPinMode', ['listToolPins', 'getToolPin']);
  const hint = server === null ? '. Only admins can change modes.' : '';
  if (!me.is_admin)
    return (
      <span className="muted">
        Mode: {mode}
        {hint}
      </span>
    );
  const inherited = [['', `as the environment (${mode})`]] as const;
  const options = [...(server === null ? [] : inherited), ...modes];
  return (
    <>
      <Select
        label={server === null ? `Mode of ${env}` : `Mode of ${server}`}
        compact={server !== null}
        value={server === null ? mode : (own ?? '')}
        options={options}
        onValue={(value) =>
          change.mutate({ body: { env, server, mode: value === '' ? null : (value as Mode) } })
        }
      />
      {change.error && <Failed error={change.error} />}
    </>
  );
}

function Servers({
  servers,
  env,
  mode,
}: Readonly<{ servers: readonly ToolServer[]; env: Environment; mode: Mode }>): JSX.Element {
  const columns: readonly Column<ToolServer>[] = [
    {
      key: 'server',
      label: 'Server',
      width: 2,
      sort: ({ server }) => server,
      cell: ({ server }) => (
        <Link to="." search={((before: object) => ({ ...before, server })) as never}>
          <Name text={server} />
        </Link>
      ),
    },
    {
      key: 'mode',
      label: 'Mode',
      width: 1.6,
      sort: (one) => one.mode,
      cell: (one) => <ModeSelect env={env} server={one.server} mode={mode} own={one.own_mode} />,
    },
    nameOrColumn('unknown', false)(
      'info',
      'Calls itself',
      ({ server_info: info }) => info && `${info.name} ${info.version}`,
      1.3,
    ),
    nameOrColumn('none', false)(
      'refused',
      'Refused tools',
      ({ refused }) => refused.map(({ name, problem }) => `${name}: ${problemWords[problem]}`).join('; '),
      1.6,
    ),
    timeColumn('seen', 'Last reported', ({ last_seen_at }) => last_seen_at ?? '', 1),
  ];
  return (
    <Table name="tool-servers" row="server" rows={servers} columns={columns} keyOf={({ server }) => server} />
  );
}

function Definitions({ tools }: { readonly tools: readonly ToolPin[] }): JSX.Element {
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
    nameColumn('by', 'Decided by', ({ decided_by }) => decided_by ?? '', 1.2),
    timeColumn('first', 'First seen', (pin) => pin.first_seen_at, 1),
    envColumn('env', 'Environment', ({ env }) => env, 1),
  ];
  return <Table name="tools" row="definition" rows={tools} columns={columns} keyOf={({ id }) => id} />;
}
