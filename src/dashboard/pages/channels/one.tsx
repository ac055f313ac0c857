// One channel: a test, its deliveries, its form, and its deletion.

import { useNavigate } from '@tanstack/react-router';
import { type JSX, useState } from 'react';
import { useSignedIn } from '../../lib/me.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { cappedText } from '../../lib/text.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { say } from '../../ui/messages.tsx';
import { Button, Data, Empty, Notice, Time } from '../../ui/parts.tsx';
import { Failed, QueryResult } from '../../ui/query-result.tsx';
import { RemovalDialog } from '../../ui/resource.tsx';
import { Section } from '../../ui/section.tsx';
import { ThingPage, useIds } from '../../ui/thing-page.tsx';
import { Deliveries } from './deliveries.tsx';
import { ChannelForm } from './form.tsx';
import { type Channel, filterWords, kinds } from './kinds.ts';
import { channelsInput } from './save.ts';

/** Unsent messages that are counted: the longest page of their list. */
const maxWaiting = 1_000;

export default function ChannelPage(): JSX.Element {
  const { id } = useIds('id');
  const channelsQuery = useCall('listChannels', channelsInput);
  const channel = channelsQuery.data?.find((one) => one.id === id);
  return (
    <ThingPage
      kind="Channel"
      name={channel?.name ?? ''}
      back={{ to: '/admin/channels', label: 'View all channels' }}
    >
      <QueryResult query={channelsQuery}>
        {() =>
          channel === undefined ? (
            <Empty
              title="Channel not found"
              text="An admin may have deleted it. Open the list to see all channels."
            />
          ) : (
            <One key={channel.id} channel={channel} />
          )
        }
      </QueryResult>
    </ThingPage>
  );
}

function One({ channel }: { readonly channel: Channel }): JSX.Element {
  const { is_admin: admin } = useSignedIn();
  const navigate = useNavigate();
  const test = useAction('testChannel', ['listChannels', 'listDeliveries']);
  const update = useAction('updateChannel', ['listChannels']);
  const [removing, setRemoving] = useState(false);
  // The initial state of the form: a test, a switch or another person's change must not discard input.
  const [formed, setFormed] = useState(channel);
  const params = { channel_id: channel.id };
  const waiting = useCall(
    'listDeliveries',
    { params, query: { status: 'waiting', limit: maxWaiting } },
    { enabled: removing },
  );
  return (
    <>
      <section className="form">
        <h2 className="panel-name">
          <Data text={channel.name} mono={false} max={120} />
        </h2>
        <p className="muted">
          {kinds[channel.channel_type].label}, sends{' '}
          <Data text={filterWords(channel.filters)} mono={false} max={300} />. Created{' '}
          <Time at={channel.created_at} />.
        </p>
        {admin && (
          <div className="decide-buttons starters">
            <ActButton operation="testChannel" busy={test.isPending} onClick={() => test.mutate({ params })}>
              Send test
            </ActButton>
            <ActButton
              operation="updateChannel"
              busy={update.isPending}
              onClick={() => update.mutate({ params, body: { enabled: !channel.enabled } })}
            >
              {channel.enabled ? 'Turn off channel' : 'Turn on channel'}
            </ActButton>
            <Button kind="danger" icon="trash" onClick={() => setRemoving(true)}>
              Delete channel
            </Button>
          </div>
        )}
        {test.data && (
          <Notice tone={test.data.success ? 'allow' : 'deny'} role="status">
            <strong>{test.data.success ? 'Test delivered.' : 'Test failed.'}</strong>{' '}
            <Data text={test.data.message} mono={false} max={400} />
          </Notice>
        )}
        {test.error && <Failed error={test.error} />}
        {update.error && <Failed error={update.error} />}
      </section>
      <Deliveries channel={channel} admin={admin} />
      {admin && (
        <Section title="Edit channel">
          <ChannelForm
            key={formed.updated_at}
            channel={formed}
            onDone={(changed) => {
              setFormed(changed);
              say('Channel saved.', 'allow');
            }}
          />
        </Section>
      )}
      <RemovalDialog
        operation="deleteChannel"
        refreshes={['listChannels']}
        title="Delete channel"
        input={{ params }}
        open={removing}
        onClose={() => setRemoving(false)}
        onDone={() => void navigate({ to: '/admin/channels', replace: true })}
      >
        <Data text={channel.name} mono={false} max={120} /> stops sending approvals.{' '}
        {waiting.data === undefined
          ? 'Unsent messages are discarded.'
          : `${cappedText(waiting.data.length, 'unsent message', waiting.data.length === maxWaiting)} will be discarded.`}
      </RemovalDialog>
    </>
  );
}
