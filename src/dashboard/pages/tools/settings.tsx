// The servers of tools with their modes, and the mode of each environment.
import { Link } from '@tanstack/react-router';
import type { JSX } from 'react';
import { useStaleReason } from '../../lib/may.ts';
import { useSignedIn } from '../../lib/me.ts';
import { useAction } from '../../lib/query.ts';
import type { Env } from '../../lib/search.ts';
import { envColumn, nameOrColumn, timeColumn } from '../../ui/columns.tsx';
import { Select } from '../../ui/form.tsx';
import { Name } from '../../ui/parts.tsx';
import { Failed } from '../../ui/query-result.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { type Mode, modes, problemWords } from './model.ts';
import type { PlacedServer, Tools } from './pins.ts';

export const Settings = ({ tools: { modes: envModes, servers } }: { readonly tools: Tools }): JSX.Element => (
  <>
    <div className="filter-bar">
      {envModes.map(({ env, mode }) => (
        <ModeSelect key={env} env={env} server={null} mode={mode} />
      ))}
    </div>
    {servers.length > 0 && (
      <Table
        name="tool-servers"
        row="server"
        rows={servers}
        columns={columnsOf(envModes.length > 1)}
        keyOf={({ env, server }) => `${env} ${server}`}
      />
    )}
  </>
);

interface ModeSelectProps {
  readonly env: Env;
  readonly server: string | null;
  readonly mode: Mode;
  /** Of a server: its own mode; null: the environment's. */
  readonly own?: Mode | null;
  /** The label names the environment, too. */
  readonly isOneOfMany?: boolean;
}

/** The mode of an environment, or of a server in it. Admins change it. */
function ModeSelect({ env, server, mode, own, isOneOfMany = false }: ModeSelectProps): JSX.Element {
  const me = useSignedIn();
  const cannot = useStaleReason();
  const change = useAction('setPinMode', ['listToolPins', 'getToolPin']);
  if (!me.is_admin)
    return (
      <span className="muted">
        {server === null ? `Mode of ${env}: ${mode}. Only admins can change modes.` : (own ?? mode)}
      </span>
    );
  const inherited = [['', `as the environment (${mode})`]] as const;
  const options = [...(server === null ? [] : inherited), ...modes];
  return (
    <>
      <Select
        label={server === null ? `Mode of ${env}` : `Mode of ${server}${isOneOfMany ? ` in ${env}` : ''}`}
        compact={server !== null}
        value={server === null ? mode : (own ?? '')}
        options={options}
        cannot={cannot}
        onValue={(value) =>
          change.mutate({ body: { env, server, mode: value === '' ? null : (value as Mode) } })
        }
      />
      {change.error && <Failed error={change.error} />}
    </>
  );
}

const columnsOf = (hasManyEnvs: boolean): readonly Column<PlacedServer>[] => [
  {
    key: 'server',
    label: 'Server',
    width: 2,
    sort: ({ server }) => server,
    cell: ({ server, env }) => (
      <Link to="." search={((before: object) => ({ ...before, view: 'all', server, env })) as never}>
        <Name text={server} />
      </Link>
    ),
  },
  envColumn('env', 'Environment', ({ env }) => env, 1),
  {
    key: 'mode',
    label: 'Mode',
    width: 1.6,
    sort: (one) => one.mode,
    cell: (one) => (
      <ModeSelect
        env={one.env}
        server={one.server}
        mode={one.envMode}
        own={one.own_mode}
        isOneOfMany={hasManyEnvs}
      />
    ),
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
  timeColumn('seen', 'Last reported', ({ last_seen_at }) => last_seen_at, 1),
];
