// Channels: where people are told of approvals that wait. Added with a form per kind, tested, watched by their delivery log, sent again.
import { type JSX, useState } from 'react';
import type { Input, Reply } from '../../lib/api.ts';
import { useSignedIn } from '../../lib/me.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { useFilters } from '../../lib/search.ts';
import { counted } from '../../lib/text.ts';
import { Dialog, say } from '../../ui/overlay.tsx';
import { Answer, Button, Data, Empty, Failed, Name, PageHead, Time } from '../../ui/parts.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { ChannelForm } from './form.tsx';
import { kinds } from './kinds.ts';

type Channel = Reply<'listChannels'>[number];

const columns: readonly Column<Channel>[] = [
  {
    key: 'name',
    label: 'Channel',
    width: 2,
    sort: (one) => one.name,
    cell: (one) => <Name text={one.name} />,
  },
  {
    key: 'kind',
    label: 'Kind',
    width: 1.6,
    sort: (one) => one.channel_type,
    cell: (one) => kinds[one.channel_type].label,
  },
  {
    key: 'on',
    label: 'State',
    sort: (one) => String(one.enabled),
    cell: (one) =>
      one.enabled ? <span className="tone-allow">on</span> : <span className="muted">off</span>,
  },
  {
    key: 'test',
    label: 'Last test',
    width: 1.6,
    sort: (one) => Date.parse(one.last_test_at ?? '') || 0,
    text: (one) => one.last_test_at ?? '',
    cell: (one) =>
      one.last_test_at === null ? (
        <span className="muted">never</span>
      ) : (
        <span className={one.last_test_ok ? 'tone-allow' : 'tone-deny'}>
          {one.last_test_ok ? 'arrived' : 'failed'} <Time at={one.last_test_at} />
        </span>
      ),
  },
  {
    key: 'at',
    label: 'Changed',
    width: 1.1,
    sort: (one) => Date.parse(one.updated_at),
    text: (one) => one.updated_at,
    cell: (one) => <Time at={one.updated_at} />,
  },
];

export default function Channels(): JSX.Element {
  const me = useSignedIn();
  const [{ id }, change] = useFilters();
  const [adding, setAdding] = useState(false);
  const found = useCall('listChannels', { query: { limit: 100 } });
  const chosen = found.data?.find((one) => one.id === id);
  return (
    <div className="page">
      <PageHead
        title="Channels"
        says={
          found.data &&
          `${counted(found.data.length, 'channel')} ${found.data.length === 1 ? 'tells' : 'tell'} people of approvals.`
        }
      >
        {me.is_admin ? (
          <Button kind="primary" icon="plus" onClick={() => setAdding(true)}>
            Add channel
          </Button>
        ) : (
          <p className="muted">Only admins add and change channels.</p>
        )}
      </PageHead>
      <Answer of={found}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title="Nobody is told of approvals">
              <p>
                Whoever looks at this console sees them. Add a channel, and people hear of them in a chat, by
                e-mail or by a webhook.
              </p>
            </Empty>
          ) : (
            <Table
              name="channels"
              rows={rows}
              columns={columns}
              keyOf={(one) => one.id}
              chosen={id}
              onOpen={(one) => change({ id: one.id }, true)}
            />
          )
        }
      </Answer>
      <Dialog
        title={`Channel ${chosen?.name ?? ''}`}
        shape="panel"
        open={chosen !== undefined}
        onClose={() => change({ id: undefined }, true)}
      >
        {chosen && <Detail key={chosen.id} of={chosen} isAdmin={me.is_admin} />}
      </Dialog>
      <Dialog title="Add channel" open={adding} onClose={() => setAdding(false)}>
        {adding && <ChannelForm onDone={() => setAdding(false)} />}
      </Dialog>
    </div>
  );
}

function Detail({ of: channel, isAdmin }: { readonly of: Channel; readonly isAdmin: boolean }): JSX.Element {
  const [, change] = useFilters();
  const test = useAction('testChannel', ['listChannels']);
  const update = useAction('updateChannel', ['listChannels']);
  const remove = useAction('deleteChannel', ['listChannels']);
  const [removing, setRemoving] = useState(false);
  const [editing, setEditing] = useState(false);
  const params = { channel_id: channel.id };
  if (editing) return <ChannelForm of={channel} onDone={() => setEditing(false)} />;
  return (
    <>
      <p>
        {kinds[channel.channel_type].label}, {channel.enabled ? 'on' : 'off'}
      </p>
      <dl className="facts">
        {Object.entries(channel.config).map(([name, value]) => (
          <div key={name} className="fact">
            <dt>{name.replaceAll('_', ' ')}</dt>
            <dd>
              <Data text={typeof value === 'string' ? value : JSON.stringify(value)} max={300} />
            </dd>
          </div>
        ))}
      </dl>
      {isAdmin && (
        <div className="decide-buttons starters">
          <Button kind="primary" busy={test.isPending} onClick={() => test.mutate({ params })}>
            Send a test
          </Button>
          <Button onClick={() => setEditing(true)}>Edit</Button>
          <Button
            busy={update.isPending}
            onClick={() =>
              update.mutate({ params, body: { enabled: !channel.enabled } } as Input<'updateChannel'>)
            }
          >
            {channel.enabled ? 'Turn off' : 'Turn on'}
          </Button>
          <Button kind="danger" icon="trash" onClick={() => setRemoving(true)}>
            Delete
          </Button>
        </div>
      )}
      {test.data && (
        <p className={test.data.success ? 'tone-allow' : 'tone-deny'} role="alert">
          <Data text={test.data.message} mono={false} max={400} />
        </p>
      )}
      {(test.error ?? update.error) && (
        <Failed error={(test.error ?? update.error) as NonNullable<typeof test.error>} />
      )}
      <Deliveries id={channel.id} isAdmin={isAdmin} />
      <Dialog title="Delete channel" open={removing} onClose={() => setRemoving(false)}>
        <p>
          <Data text={channel.name} max={120} /> is deleted, and what is on its way to it is not sent.
        </p>
        {remove.error && <Failed error={remove.error} />}
        <div className="decide-buttons">
          <Button
            kind="danger"
            busy={remove.isPending}
            onClick={() => remove.mutate({ params }, { onSuccess: () => change({ id: undefined }, true) })}
          >
            Delete channel
          </Button>
          <Button onClick={() => setRemoving(false)}>Keep it</Button>
        </div>
      </Dialog>
    </>
  );
}

const tones = { waiting: 'tone-ask', delivered: 'tone-allow', dead: 'tone-deny', expired: 'muted' } as const;
/** No frame tells of deliveries. */
const refetchMs = 5_000;

function Deliveries({ id, isAdmin }: { readonly id: string; readonly isAdmin: boolean }): JSX.Element {
  const found = useCall(
    'listDeliveries',
    { params: { channel_id: id }, query: { limit: 50 } },
    { refetchMs },
  );
  const again = useAction('replayDelivery', ['listDeliveries']);
  return (
    <section className="form">
      <h3>What was sent</h3>
      {again.error && <Failed error={again.error} />}
      <Answer of={found} rows={3}>
        {(list) =>
          list.length === 0 ? (
            <p className="muted">Nothing yet. Deliveries are kept for 30 days after their end.</p>
          ) : (
            <ul className="feed">
              {list.map((one) => {
                const last = one.log.at(-1);
                return (
                  <li key={one.id} className="feed-row">
                    <span>
                      <span className={tones[one.status]}>{one.status}</span> approval {one.event},{' '}
                      {counted(one.attempts, 'try', 'tries')}
                      {last?.error &&
                        `: ${last.error.replaceAll('_', ' ')}${last.status === null ? '' : ` ${last.status}`}`}{' '}
                      <Time at={one.updated_at} className="muted" />
                    </span>
                    {isAdmin && one.status !== 'waiting' && (
                      <Button
                        kind="quiet"
                        onClick={() =>
                          again.mutate(
                            { params: { channel_id: id, delivery_id: one.id } },
                            { onSuccess: () => say('It is on its way again.', 'allow') },
                          )
                        }
                      >
                        Send again
                      </Button>
                    )}
                  </li>
                );
              })}
            </ul>
          )
        }
      </Answer>
    </section>
  );
}
