// The channels page: notification channels with their latest test, each with a page of its own.
import { useNavigate } from '@tanstack/react-router';
import { type JSX, useState } from 'react';
import { linkTo } from '../../lib/address.ts';
import { useCommand } from '../../lib/commands.ts';
import { useSignedIn } from '../../lib/me.ts';
import { useCall } from '../../lib/query.ts';
import { counted } from '../../lib/text.ts';
import { proseColumn } from '../../ui/columns.tsx';
import { Dialog } from '../../ui/overlay.tsx';
import { Button, Empty, PageHead, Time, Verdict } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { type Column, Table } from '../../ui/table.tsx';
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

const linkOf = ({ id }: Channel) => linkTo.channel(id);

export default function Channels(): JSX.Element {
  const me = useSignedIn();
  const navigate = useNavigate();
  const channelsQuery = useCall('listChannels', { query: { limit: 1000 } });
  const [making, setMaking] = useState(false);
  useCommand('addChannel', me.is_admin ? () => setMaking(true) : null);
  const rows = channelsQuery.data ?? [];
  const on = rows.filter(({ enabled }) => enabled).length;
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
              linkOf={linkOf}
              onOpen={(channel) => void navigate({ ...linkOf(channel) })}
            />
          )
        }
      </QueryResult>
      <Dialog title="Add channel" open={making} onClose={() => setMaking(false)}>
        <ChannelForm
          onDone={(made) => {
            setMaking(false);
            void navigate({ ...linkOf(made) });
          }}
        />
      </Dialog>
    </div>
  );
}
