// The keys page: API keys for agents. A key is visible once, after its creation. Revoking a key ends its streams.
import { type JSX, useEffect, useState } from 'react';
import { dayMs } from '../../../shared/duration.ts';
import type { ApiError, Reply } from '../../lib/api.ts';
import { useCommand } from '../../lib/commands.ts';
import { useSignedIn } from '../../lib/me.ts';
import { refresh, useAction, useCall } from '../../lib/query.ts';
import { type Env as Environment, envs, useEnv } from '../../lib/search.ts';
import { serverNow } from '../../lib/server-time.ts';
import { count, counted, visible } from '../../lib/text.ts';
import { followFrames } from '../../live/live.ts';
import { timeColumn } from '../../ui/columns.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { copyText } from '../../ui/download.ts';
import { Form } from '../../ui/form.tsx';
import { Dialog, say } from '../../ui/overlay.tsx';
import { Button, Data, Empty, Env, Field, Name, PageHead, Select, Time } from '../../ui/parts.tsx';
import { FormFailed, QueryResult } from '../../ui/query-result.tsx';
import { type Column, Table } from '../../ui/table.tsx';

type Key = Reply<'listKeys'>[number];

export default function Keys(): JSX.Element {
  const me = useSignedIn();
  const env = useEnv();
  const keysQuery = useCall('listKeys', { query: { limit: 1000 } });
  // A change of the fleet's figures also changes the numbers of streams.
  useEffect(
    () =>
      followFrames(({ type }) => {
        if (type === 'fleet_changed') refresh(['listKeys']);
      }),
    [],
  );
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<Key | null>(null);
  useCommand('createKey', me.is_admin ? () => setMaking(true) : null);
  const rows = (keysQuery.data ?? []).filter((key) => !env || key.env === env || key.env === null);
  const columns: readonly Column<Key>[] = [
    {
      key: 'label',
      label: 'Label',
      width: 2,
      sort: (key) => key.label ?? '',
      cell: (key) => <Name mono={false} text={key.label ?? '(none)'} />,
    },
    {
      key: 'prefix',
      label: 'Prefix',
      width: 1.4,
      sort: (key) => key.prefix,
      cell: (key) => <Name text={`${key.prefix}…`} />,
    },
    {
      key: 'env',
      inCard: 'plain',
      label: 'Environment',
      width: 1.3,
      sort: (key) => key.env ?? '',
      cell: (key) => <Env name={key.env ?? 'all environments'} />,
    },
    {
      key: 'pattern',
      label: 'Agents',
      width: 1.3,
      sort: (key) => key.agent_pattern ?? '',
      cell: (key) =>
        key.agent_pattern ? <Name text={key.agent_pattern} /> : <span className="muted">all</span>,
    },
    {
      key: 'streams',
      label: 'Streams',
      width: 0.9,
      sort: (key) => key.streams ?? -1,
      text: (key) => String(key.streams ?? ''),
      cell: (key) =>
        key.streams === null ? (
          <span className="muted">unknown</span>
        ) : (
          <span className="numbers">{count(key.streams)}</span>
        ),
    },
    {
      key: 'used',
      label: 'Last used',
      width: 1.1,
      sort: (key) => Date.parse(key.last_used_at ?? '') || 0,
      text: (key) => key.last_used_at ?? '',
      cell: (key) => <Time at={key.last_used_at} />,
    },
    {
      key: 'expires',
      label: 'Expires',
      width: 1.1,
      sort: (key) => Date.parse(key.expires_at ?? '') || 0,
      text: (key) => key.expires_at ?? '',
      cell: (key) => (key.expires_at ? <Time at={key.expires_at} /> : <span className="muted">never</span>),
    },
    timeColumn('made', 'Created', (key) => key.created_at, 1.1),
    ...(me.is_admin
      ? [
          {
            key: 'actions',
            label: 'Actions',
            width: 1.1,
            cell: (key: Key) => (
              <Button
                kind="quiet"
                icon="trash"
                aria-label={`Revoke ${visible(key.label ?? key.prefix).slice(0, 80)}`}
                onClick={() => setRevoking(key)}
              >
                Revoke
              </Button>
            ),
          },
        ]
      : []),
  ];
  return (
    <div className="page">
      <PageHead title="Keys" summary={keysQuery.data && `${counted(rows.length, 'active key')}.`}>
        {me.is_admin ? (
          <Button kind="primary" icon="plus" onClick={() => setMaking(true)}>
            Create key
          </Button>
        ) : (
          <p className="muted">Only admins can create and revoke keys.</p>
        )}
      </PageHead>
      <QueryResult query={keysQuery}>
        {() =>
          rows.length === 0 ? (
            <Empty title="No API keys yet">
              <p>Agents need a key to connect. Keys appear here when an admin creates them.</p>
            </Empty>
          ) : (
            <Table name="keys" row="key" rows={rows} columns={columns} keyOf={(key) => key.id} />
          )
        }
      </QueryResult>
      <Make open={making} onClose={() => setMaking(false)} />
      <Revoke
        apiKey={(keysQuery.data ?? []).find(({ id }) => id === revoking?.id) ?? revoking}
        onClose={() => setRevoking(null)}
      />
    </div>
  );
}

function Make({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }): JSX.Element {
  const make = useAction('createKey', ['listKeys']);
  const chosen = useEnv();
  const [form, setForm] = useState({ label: '', env: '', pattern: '', days: '' });
  const [made, setMade] = useState<Reply<'createKey'> | null>(null);
  const env = (form.env || chosen || 'production') as Environment;
  const days = Number(form.days);
  const submit = (): void =>
    make.mutate(
      {
        body: {
          env,
          ...(form.label === '' ? {} : { label: form.label }),
          ...(form.pattern === '' ? {} : { agent_pattern: form.pattern }),
          ...(form.days === ''
            ? {}
            : {
                expires_at: new Date(serverNow() + days * dayMs).toISOString(),
              }),
        },
      },
      { onSuccess: setMade },
    );
  const close = (): void => {
    setMade(null);
    setForm({ label: '', env: '', pattern: '', days: '' });
    make.reset();
    onClose();
  };
  const change = (name: keyof typeof form) => (value: string) =>
    setForm((before) => ({ ...before, [name]: value }));
  const fields = (make.error as ApiError | null)?.fields ?? {};
  return (
    <Dialog title={made ? 'Copy the key now' : 'Create key'} open={open} onClose={close} held={made !== null}>
      {made ? (
        <Shown made={made} onDone={close} />
      ) : (
        <Form onSubmit={submit}>
          <Field
            label="Label"
            value={form.label}
            maxLength={255}
            onValue={change('label')}
            help="A name for this key."
            error={fields.label}
          />
          <Select
            label="Environment"
            value={env}
            options={envs.map((one) => [one, one] as const)}
            onValue={change('env')}
          />
          <Field
            label="Agent pattern"
            value={form.pattern}
            onValue={change('pattern')}
            help="For example, shop-*. Leave empty to allow all agents."
            error={fields.agent_pattern}
          />
          <Field
            label="Expires after days"
            type="number"
            min={1}
            max={3650}
            value={form.days}
            onValue={change('days')}
            help="Leave empty for a key that does not expire."
            error={fields.expires_at}
          />
          <FormFailed error={make.error} />
          <Button kind="primary" submit busy={make.isPending}>
            Create key
          </Button>
        </Form>
      )}
    </Dialog>
  );
}

function Shown({
  made,
  onDone,
}: {
  readonly made: Reply<'createKey'>;
  readonly onDone: () => void;
}): JSX.Element {
  const copy = async (): Promise<void> =>
    say(
      (await copyText(made.key))
        ? 'Key copied.'
        : 'The browser blocked the clipboard. Select the key and copy it.',
    );
  return (
    <>
      <p>
        Store the key now, because the hub does not show it again. The key is valid for{' '}
        <Env name={made.env ?? 'all environments'} />
        {made.agent_pattern && (
          <>
            {' '}
            and agents matching <Data text={made.agent_pattern} />
          </>
        )}
        .
      </p>
      <pre className="code">
        <Data text={made.key} max={1_000} />
      </pre>
      <div className="decide-buttons">
        <Button kind="primary" icon="copy" onClick={() => void copy()}>
          Copy key
        </Button>
        <Button onClick={onDone}>Close</Button>
      </div>
    </>
  );
}

/** Number of streams that end with the key. */
function open({ streams }: Key): string {
  if (streams === null) return 'its open streams are unknown';
  if (streams === 0) return 'no connected agents use it';
  return `${counted(streams, 'agent stream')} ${streams === 1 ? 'uses' : 'use'} it`;
}

function Revoke({
  apiKey,
  onClose,
}: {
  readonly apiKey: Key | null;
  readonly onClose: () => void;
}): JSX.Element {
  const revoke = useAction('revokeKey', ['listKeys']);
  const name = apiKey?.label ?? apiKey?.prefix ?? '';
  return (
    <Confirm
      title="Revoke key"
      open={apiKey !== null}
      onClose={onClose}
      by={revoke}
      act="Revoke key"
      onAct={() => apiKey && revoke.mutate({ params: { key_id: apiKey.id } }, { onSuccess: onClose })}
    >
      <p>
        Revoking disconnects agents with the key <Data text={name} max={120} /> within a second. They cannot
        reconnect with it. Last used <Time at={apiKey?.last_used_at ?? null} />
        {apiKey && `; ${open(apiKey)}`}.
      </p>
    </Confirm>
  );
}
