// The channels page: notification channels with their latest test, and a panel with the deliveries of one.
import { type JSX, useState } from 'react';
import { useCommand } from '../../lib/commands.ts';
import { useSignedIn } from '../../lib/me.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { useFilters } from '../../lib/search.ts';
import { counted } from '../../lib/text.ts';
import { proseColumn } from '../../ui/columns.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Dialog, say } from '../../ui/overlay.tsx';
import { Button, Data, Empty, PageHead, Time, Verdict } from '../../ui/parts.tsx';
import { Failed, QueryResult } from '../../ui/query-result.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Deliveries } from './deliveries.tsx';
import { ChannelForm } from './form.tsx';
import { type Channel, filterWords, kinds } from './kinds.ts';

const columns: readonly Column<Channel>[] = [
  proseColumn('name', 'Name', (channel) => channel.name, 2),
  {
    key: 'type',
    label: 'Type',
    width: 1.4,
    sort: (channel) => kinds[channel.channel_type].label,
    cell: (channel) => kinds[channel.channel_type].label,
  },
  {
    key: 'enabled',
    label: 'On',
    width: 0.7,
    sort: (channel) => (channel.enabled ? 'yes' : 'no'),
    cell: (channel) => (channel.enabled ? 'yes' : <span className="muted">no</span>),
  },
  proseColumn('filters', 'Approvals sent', (channel) => filterWords(channel.filters), 2),
  {
    key: 'tested',
    label: 'Last test',
    width: 1.4,
    sort: (channel) => Date.parse(channel.last_test_at ?? '') || 0,
    text: (channel) => channel.last_test_at ?? '',
    cell: (channel) => (
      <>
        {channel.last_test_ok !== null && <Verdict word={channel.last_test_ok ? 'delivered' : 'failed'} />}{' '}
        <Time at={channel.last_test_at} className="muted" />
      </>
    ),
  },
];

export default function Channels(): JSX.Element {
  const me = useSignedIn();
  const [{ id }, change] = useFilters();
  const channelsQuery = useCall('listChannels', { query: { limit: 1000 } });
  const [making, setMaking] = useState(false);
  useCommand('addChannel', me.is_admin ? () => setMaking(true) : null);
  const rows = channelsQuery.data ?? [];
  const on = rows.filter(({ enabled }) => enabled).length;
  const chosen = rows.find((channel) => channel.id === id);
  return (
    <div className="page">
      <PageHead
        title="Channels"
        summary={
          channelsQuery.data &&
          (on === 0
            ? 'No notification channels. Approvals appear in this console only.'
            : `${counted(on, 'active channel')}.`)
        }
      >
        {me.is_admin ? (
          <Button kind="primary" icon="plus" onClick={() => setMaking(true)}>
            Add channel
          </Button>
        ) : (
          <p className="muted">Only admins can change channels.</p>
        )}
      </PageHead>
      <QueryResult query={channelsQuery}>
        {() =>
          rows.length === 0 ? (
            <Empty title="No channels yet">
              <p>
                A channel sends approvals to a chat, an e-mail address or a webhook. Channels appear here when
                an admin adds them.
              </p>
            </Empty>
          ) : (
            <Table
              name="channels"
              row="channel"
              rows={rows}
              columns={columns}
              keyOf={(channel) => channel.id}
              chosen={id}
              onOpen={(channel) => change({ id: channel.id }, id !== undefined)}
            />
          )
        }
      </QueryResult>
      <Dialog title="Add channel" open={making} onClose={() => setMaking(false)}>
        <ChannelForm
          onDone={(made) => {
            setMaking(false);
            change({ id: made.id }, true);
          }}
        />
      </Dialog>
      <Dialog
        title="Channel"
        shape="panel"
        open={chosen !== undefined}
        onClose={() => change({ id: undefined }, true)}
      >
        {chosen && (
          <One
            key={chosen.id}
            channel={chosen}
            admin={me.is_admin}
            onGone={() => change({ id: undefined }, true)}
          />
        )}
      </Dialog>
    </div>
  );
}

function One({
  channel,
  admin,
  onGone,
}: {
  readonly channel: Channel;
  readonly admin: boolean;
  readonly onGone: () => void;
}): JSX.Element {
  const test = useAction('testChannel', ['listChannels', 'listDeliveries']);
  const update = useAction('updateChannel', ['listChannels']);
  const [removing, setRemoving] = useState(false);
  // The initial state of the form: a test, a switch or another person's change must not discard input.
  const [formed, setFormed] = useState(channel);
  const params = { channel_id: channel.id };
  return (
    <>
      <section className="form">
        <h3 className="panel-name">
          <Data text={channel.name} mono={false} max={120} />
        </h3>
        <p className="muted">
          {kinds[channel.channel_type].label}, sends{' '}
          <Data text={filterWords(channel.filters)} mono={false} max={300} />. Created{' '}
          <Time at={channel.created_at} />.
        </p>
        {admin && (
          <div className="decide-buttons starters">
            <Button busy={test.isPending} onClick={() => test.mutate({ params })}>
              Send test
            </Button>
            <Button
              busy={update.isPending}
              onClick={() => update.mutate({ params, body: { enabled: !channel.enabled } })}
            >
              {channel.enabled ? 'Turn off channel' : 'Turn on channel'}
            </Button>
            <Button kind="danger" icon="trash" onClick={() => setRemoving(true)}>
              Delete channel
            </Button>
          </div>
        )}
        {test.data && (
          <div className={`notice notice-${test.data.success ? 'allow' : 'deny'}`} role="status">
            <div>
              <strong>{test.data.success ? 'Test delivered.' : 'Test failed.'}</strong>{' '}
              <Data text={test.data.message} mono={false} max={400} />
            </div>
          </div>
        )}
        {test.error && <Failed error={test.error} />}
        {update.error && <Failed error={update.error} />}
      </section>
      <Deliveries channel={channel} admin={admin} />
      {admin && (
        <section className="form">
          <h3>Edit channel</h3>
          <ChannelForm
            key={formed.updated_at}
            channel={formed}
            onDone={(changed) => {
              setFormed(changed);
              say('Channel saved.', 'allow');
            }}
          />
        </section>
      )}
      <Remove channel={channel} open={removing} onClose={() => setRemoving(false)} onGone={onGone} />
    </>
  );
}

function Remove({
  channel,
  open,
  onClose,
  onGone,
}: {
  readonly channel: Channel;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onGone: () => void;
}): JSX.Element {
  const remove = useAction('deleteChannel', ['listChannels']);
  const waiting = useCall(
    'listDeliveries',
    { params: { channel_id: channel.id }, query: { status: 'waiting', limit: 1000 } },
    { enabled: open },
  );
  return (
    <Confirm
      title="Delete channel"
      open={open}
      onClose={onClose}
      by={remove}
      act="Delete channel"
      onAct={() =>
        remove.mutate(
          { params: { channel_id: channel.id } },
          {
            onSuccess: () => {
              onClose();
              onGone();
            },
          },
        )
      }
    >
      <p>
        <Data text={channel.name} mono={false} max={120} /> stops sending approvals.{' '}
        {waiting.data === undefined
          ? 'Unsent messages are discarded.'
          : `${counted(waiting.data.length, 'unsent message')} will be discarded.`}
      </p>
    </Confirm>
  );
}
