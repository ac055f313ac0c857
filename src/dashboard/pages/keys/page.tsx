// The keys page: API keys for agents. A key is visible once, after its creation. Revoking a key ends its streams.
import { type JSX, useMemo } from 'react';
import { dayMs } from '../../../shared/duration.ts';
import type { Reply } from '../../lib/api.ts';
import { useSignedIn } from '../../lib/me.ts';
import { refresh, useAction, usePageRows, usePages } from '../../lib/query.ts';
import { type Env as Environment, envs, useEnv } from '../../lib/search.ts';
import { serverNow } from '../../lib/server-time.ts';
import { count, counted, loadedText } from '../../lib/text.ts';
import { useFrames } from '../../live/use-frames.ts';
import { envColumn, nameColumn, nameOrColumn, proseColumn, timeColumn } from '../../ui/columns.tsx';
import { CopySecret } from '../../ui/copy-button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Button, Data, Env, PageHead, Time } from '../../ui/parts.tsx';
import { RecordForm, type Resource, ResourceView, removal } from '../../ui/resource.tsx';
import type { Column } from '../../ui/table.tsx';

type Key = Reply<'listKeys'>[number];

const columns: readonly Column<Key>[] = [
  proseColumn('label', 'Label', (key) => key.label ?? '(none)', 2),
  nameColumn('prefix', 'Prefix', (key) => `${key.prefix}…`, 1.4),
  envColumn('env', 'Environment', (key) => key.env ?? 'all environments', 1.3),
  nameOrColumn('all')('pattern', 'Agents', (key) => key.agent_pattern, 1.3),
  {
    ...{ key: 'streams', label: 'Streams', width: 0.9 },
    sort: (key) => key.streams ?? -1,
    text: (key) => String(key.streams ?? ''),
    cell: (key) =>
      key.streams === null ? (
        <span className="muted">unknown</span>
      ) : (
        <span className="numbers">{count(key.streams)}</span>
      ),
  },
  timeColumn('used', 'Last used', (key) => key.last_used_at, 1.1),
  timeColumn('expires', 'Expires', (key) => key.expires_at, 1.1),
  timeColumn('made', 'Created', (key) => key.created_at, 1.1),
];

const keys: Resource<Key> = {
  name: 'keys',
  noun: 'key',
  keyOf: (key) => key.id,
  columns,
  empty: {
    title: 'No API keys yet',
    text: 'Agents need a key to connect. Keys appear here when an admin creates them.',
  },
};

const adminActs: Pick<Resource<Key>, 'add' | 'acts'> = {
  add: {
    label: 'Create key',
    kind: 'primary',
    command: 'createKey',
    dialog: (close) => <Make onClose={close} />,
  },
  acts: [
    removal({
      label: 'Revoke',
      title: 'Revoke key',
      of: (key: Key) => key.label ?? key.prefix,
      operation: 'revokeKey',
      refreshes: ['listKeys'],
      input: ({ id }) => ({ params: { key_id: id } }),
      text: (key) => (
        <>
          Revoking disconnects agents with the key <Data text={key.label ?? key.prefix} max={120} /> within a
          second. They cannot reconnect with it. Last used <Time at={key.last_used_at} />; {open(key)}.
        </>
      ),
    }),
  ],
};

export default function Keys(): JSX.Element {
  const me = useSignedIn();
  const env = useEnv();
  const keysQuery = usePages('listKeys', { query: { limit: 1000 } }, { byOffset: true });
  // A change of the fleet's figures also changes the numbers of streams.
  useFrames(({ type }) => {
    if (type === 'fleet_changed') refresh(['listKeys']);
  });
  const allKeys = usePageRows(keysQuery, ({ reply }) => reply, keys.keyOf);
  const rows = useMemo(
    () => allKeys.filter((key) => !env || key.env === env || key.env === null),
    [allKeys, env],
  );
  const bar = loadedText(rows.length, 'active key', keysQuery.hasNextPage);
  return (
    <div className="page">
      <ResourceView
        resource={{ ...keys, ...(me.is_admin ? adminActs : {}), bar }}
        query={keysQuery}
        rows={rows}
        head={(add) => (
          <PageHead title="Keys">
            {add ?? <p className="muted">Only admins can create and revoke keys.</p>}
          </PageHead>
        )}
      />
    </div>
  );
}

function Make({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const make = useAction('createKey', ['listKeys']);
  const env = useEnv() ?? 'production';
  if (make.data)
    return (
      <Dialog title="Copy the key now" open onClose={onClose} held>
        <Created createdKey={make.data} />
        <Button onClick={onClose}>Close</Button>
      </Dialog>
    );
  return (
    <Dialog title="Create key" open onClose={onClose} held={make.isPending}>
      <RecordForm
        initial={{ label: '', env: env as string, pattern: '', days: '' }}
        by={make}
        act="Create key"
        fields={() => [
          { name: 'label', label: 'Label', maxLength: 255, help: 'A name for this key.' },
          { name: 'env', label: 'Environment', options: envs },
          {
            name: 'pattern',
            sent: 'agent_pattern',
            label: 'Agent pattern',
            help: 'For example, shop-*. Leave empty to allow all agents.',
          },
          {
            ...{ name: 'days', sent: 'expires_at', label: 'Expires after days' },
            ...{ type: 'number', min: 1, max: 3650 },
            help: 'Leave empty for a key that does not expire.',
          },
        ]}
        onSubmit={(form) => {
          const expiry = new Date(serverNow() + Number(form.days) * dayMs);
          make.mutate({
            body: {
              env: form.env as Environment,
              ...(form.label === '' ? {} : { label: form.label }),
              ...(form.pattern === '' ? {} : { agent_pattern: form.pattern }),
              ...(form.days === '' ? {} : { expires_at: expiry.toISOString() }),
            },
          });
        }}
      />
    </Dialog>
  );
}

const Created = ({ createdKey }: { readonly createdKey: Reply<'createKey'> }): JSX.Element => (
  <>
    <p>
      Store the key now, because the hub does not show it again. The key is valid for{' '}
      <Env name={createdKey.env ?? 'all environments'} />
      {createdKey.agent_pattern && <Data before=" and agents matching " text={createdKey.agent_pattern} />}.
    </p>
    <CopySecret text={createdKey.key} noun="key" />
  </>
);

/** Number of streams that end with the key. */
function open({ streams }: Key): string {
  if (streams === null) return 'its open streams are unknown';
  if (streams === 0) return 'no connected agents use it';
  return `${counted(streams, 'agent stream')} ${streams === 1 ? 'uses' : 'use'} it`;
}
