// The deliveries to a channel, with their attempts and a button that repeats one.
import { Link } from '@tanstack/react-router';
import { type JSX, useEffect, useState } from 'react';
import { displayWord } from '../../../../packages/agent/src/rules/state-words.ts';
import { linkTo } from '../../lib/address.ts';
import type { Input, Reply } from '../../lib/api.ts';
import { after, type Timer } from '../../lib/browser.ts';
import { refresh, useAction, useCall } from '../../lib/query.ts';
import { useFilters } from '../../lib/search.ts';
import { counted } from '../../lib/text.ts';
import { followFrames } from '../../live/live.ts';
import { countColumn, dueColumn, instantColumn, verdictColumn, wordColumn } from '../../ui/columns.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Button, Time, Verdict } from '../../ui/parts.tsx';
import { Failed } from '../../ui/query-result.tsx';
import { type Resource, ResourceView, type RowAct } from '../../ui/resource.tsx';
import type { Channel } from './kinds.ts';

const newest = 100;
/** Polling interval while a delivery is in progress, in milliseconds: frames announce approvals, not attempts. */
const attemptMs = 2_000;
/** Delay after an approval's frame, in milliseconds, because its delivery is stored later. */
const writtenMs = 1_500;

const failures: { readonly [failure: string]: string } = {
  refused_address: 'address not allowed',
  unresolved: 'unknown host name',
  connection: 'no connection',
  timeout: 'no response in time',
  too_large: 'response too large',
  rate_limited: 'rate limited by the server',
  status: 'rejected by the server',
  rejected: 'rejected by the platform',
  channel_gone: 'channel deleted',
  channel_disabled: 'channel turned off',
};

/** Reloads the list shortly after a change of an approval. */
function useSentSoon(): void {
  useEffect(() => {
    let soon: Timer | null = null;
    const stop = followFrames(({ type }) => {
      if (!type.startsWith('approval_')) return;
      soon?.cancel();
      soon = after(writtenMs, () => refresh(['listDeliveries']));
    });
    return () => {
      soon?.cancel();
      stop();
    };
  }, []);
}

type Delivery = Reply<'listDeliveries'>[number];
type Attempt = Delivery['log'][number];

const outcomeOf = ({ error, status }: Attempt): string =>
  `${error === null ? 'delivered' : (failures[error] ?? error)}${status === null ? '' : `, status ${status}`}`;

const lastOf = ({ log }: Delivery): string => {
  const last = log.at(-1);
  return last ? outcomeOf(last) : 'not attempted yet';
};

const isWaiting = ({ status }: Delivery): boolean => status === 'waiting';

const deliveries: Resource<Delivery> = {
  name: 'deliveries of a channel',
  noun: 'delivery',
  sortAs: 'deliveries_sort',
  facets: [
    {
      ...{ name: 'delivery', label: 'Delivery status', all: 'All' },
      options: ['waiting', 'delivered', 'dead', 'expired'].map((word) => [word, displayWord(word)]),
    },
  ],
  empty: 'No deliveries yet. Messages appear here when a call that requires approval matches.',
  keyOf: (one) => one.id,
  columns: [
    wordColumn('event', 'Event', (one) => one.event, 2.2),
    verdictColumn('status', 'Status', (one) => one.status, 1.5),
    instantColumn('made', 'Created', (one) => one.created_at),
    countColumn('attempts', 'Attempts', (one) => one.attempts, 1.1),
    wordColumn('last', 'Last result', lastOf, 2),
    dueColumn('next', 'Next attempt', (one) => one.next_attempt_at, 1.4),
  ],
  actsWidth: 1.9,
};

export function Deliveries({ channel, admin }: Readonly<{ channel: Channel; admin: boolean }>): JSX.Element {
  const [{ delivery = '' }] = useFilters();
  const input = {
    params: { channel_id: channel.id },
    query: { limit: newest, ...(delivery === '' ? {} : { status: delivery }) },
  } as Input<'listDeliveries'>;
  const latestDeliveries = useCall('listDeliveries', input);
  const isSending = latestDeliveries.data?.some(isWaiting) ?? false;
  const deliveriesQuery = useCall('listDeliveries', input, isSending ? { refetchMs: attemptMs } : {});
  useSentSoon();
  const replay = useAction('replayDelivery', ['listDeliveries']);
  const [open, setOpen] = useState<string | null>(null);
  const rows = deliveriesQuery.data ?? [];
  const openDelivery = rows.find(({ id }) => id === open);
  const again: RowAct<Delivery> = {
    label: 'Resend message',
    name: () => 'Resend message',
    icon: 'refresh',
    isHidden: isWaiting,
    isBusy: ({ id }) => replay.isPending && replay.variables?.params.delivery_id === id,
    operation: 'replayDelivery',
    press: ({ id }) => replay.mutate({ params: { channel_id: channel.id, delivery_id: id } }),
  };
  return (
    <section className="form" aria-label="Deliveries">
      <ResourceView
        resource={{
          ...deliveries,
          acts: admin ? [again] : [],
          onOpen: ({ id }) => setOpen(id),
          bar: rows.length === newest ? `newest ${newest}` : counted(rows.length, 'delivery', 'deliveries'),
        }}
        query={deliveriesQuery}
        rows={rows}
        head={() => (
          <>
            <div className="card-head">
              <h2>Deliveries</h2>
              <Button
                kind="quiet"
                icon="refresh"
                aria-label="Refresh deliveries"
                onClick={() => void deliveriesQuery.refetch()}
              />
            </div>
            {replay.error && <Failed error={replay.error} />}
          </>
        )}
      />
      <Dialog title="Delivery" open={openDelivery !== undefined} onClose={() => setOpen(null)}>
        {openDelivery && <Attempts delivery={openDelivery} />}
      </Dialog>
    </section>
  );
}

function Attempts({ delivery }: { readonly delivery: Delivery }): JSX.Element {
  return (
    <>
      <p>
        <Verdict word={delivery.status} /> {delivery.event}, created <Time at={delivery.created_at} />.
      </p>
      {delivery.log.length === 0 ? (
        <p className="muted">Not attempted yet.</p>
      ) : (
        <ol aria-label="Attempts">
          {delivery.log.map((attempt) => (
            <li key={attempt.at}>
              <Time at={attempt.at} />: {outcomeOf(attempt)}, {attempt.duration_ms} ms
            </li>
          ))}
        </ol>
      )}
      <p>
        {delivery.next_attempt_at && (
          <>
            Next attempt <Time at={delivery.next_attempt_at} />.{' '}
          </>
        )}
        <Link {...linkTo.approval(delivery.approval_id)}> View approval </Link>
      </p>
    </>
  );
}
