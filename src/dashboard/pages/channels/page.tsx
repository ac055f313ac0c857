// The channels page: notification channels with their latest test, each with a page of its own.
import { useNavigate } from '@tanstack/react-router';
import type { JSX } from 'react';
import { linkTo } from '../../lib/address.ts';
import { useSignedIn } from '../../lib/me.ts';
import { useCall } from '../../lib/query.ts';
import { counted } from '../../lib/text.ts';
import { proseColumn, timeColumn, wordColumn } from '../../ui/columns.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { PageHead, Time, Verdict } from '../../ui/parts.tsx';
import { type Resource, ResourceView } from '../../ui/resource.tsx';
import type { Column } from '../../ui/table.tsx';
import { ChannelForm } from './form.tsx';
import { type Channel, filterWords, kinds } from './kinds.ts';

const columns: readonly Column<Channel>[] = [
  proseColumn('name', 'Name', (channel) => channel.name, 2),
  wordColumn('type', 'Type', (channel) => kinds[channel.channel_type].label, 1.4),
  {
    ...wordColumn<Channel>('enabled', 'On', (channel) => (channel.enabled ? 'yes' : 'no'), 0.7),
    cell: (channel) => (channel.enabled ? 'yes' : <span className="muted">no</span>),
  },
  proseColumn('filters', 'Approvals sent', (channel) => filterWords(channel.filters), 2),
  {
    ...timeColumn<Channel>('tested', 'Last test', (channel) => channel.last_test_at, 1.4),

    cell: (channel) => (
      <>
        {channel.last_test_ok !== null && <Verdict word={channel.last_test_ok ? 'delivered' : 'failed'} />}{' '}
        <Time at={channel.last_test_at} className="muted" />
      </>
    ),
  },
];

const channels: Resource<Channel> = {
  name: 'channels',
  noun: 'channel',
  keyOf: (channel) => channel.id,
  columns,
  linkOf: ({ id }) => linkTo.channel(id),
  empty: {
    title: 'No channels yet',
    text: 'A channel sends approvals to a chat, an e-mail address or a webhook. Channels appear here when an admin adds them.',
  },
};

export default function Channels(): JSX.Element {
  const me = useSignedIn();
  const navigate = useNavigate();
  const channelsQuery = useCall('listChannels', { query: { limit: 1000 } });
  const add = {
    label: 'Add channel',
    kind: 'primary',
    command: 'addChannel',
    dialog: (close: () => void) => (
      <Dialog title="Add channel" open onClose={close}>
        <ChannelForm
          onDone={(channel) => {
            close();
            void navigate({ ...linkTo.channel(channel.id) });
          }}
        />
      </Dialog>
    ),
  } as const;
  const rows = channelsQuery.data ?? [];
  const on = rows.filter(({ enabled }) => enabled).length;
  return (
    <div className="page">
      <ResourceView
        resource={me.is_admin ? { ...channels, add } : channels}
        query={channelsQuery}
        rows={rows}
        head={(button) => (
          <PageHead
            title="Channels"
            summary={
              channelsQuery.data &&
              (on === 0
                ? `No ${rows.length > 0 ? 'active ' : ''}notification channels. Approvals appear in this console only.`
                : `${counted(on, 'active channel')}.`)
            }
          >
            {button ?? <p className="muted">Only admins can change channels.</p>}
          </PageHead>
        )}
      />
    </div>
  );
}
