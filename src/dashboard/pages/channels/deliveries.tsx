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
import { countColumn, dueColumn, timeColumn, verdictColumn } from '../../ui/columns.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Select } from '../../ui/form.tsx';
import { Button, Time, Verdict } from '../../ui/parts.tsx';
import { Failed, QueryResult } from '../../ui/query-result.tsx';
import { type Column, Table } from '../../ui/table.tsx';
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

export function Deliveries({ channel, admin }: Readonly<{ channel: Channel; admin: boolean }>): JSX.Element {
  const [{ delivery = '' }, change] = useFilters();
  const input = {
    params: { channel_id: channel.id },
    query: { limit: newest, ...(delivery === '' ? {} : { status: delivery }) },
  } as Input<'listDeliveries'>;
  const latestDeliveries = useCall('listDeliveries', input);
  const waits = latestDeliveries.data?.some(({ status }) => status === 'waiting') ?? false;
  const deliveriesQuery = useCall('listDeliveries', input, waits ? { refetchMs: attemptMs } : {});
  useSentSoon();
  const replay = useAction('replayDelivery', ['listDeliveries']);
  const [open, setOpen] = useState<string | null>(null);
  const openDelivery = deliveriesQuery.data?.find(({ id }) => id === open);
  const again = (one: Delivery): JSX.Element | null =>
    one.status === 'waiting' ? null : (
      <Button
        kind="quiet"
        icon="refresh"
        busy={replay.isPending && replay.variables?.params.delivery_id === one.id}
        onClick={() => replay.mutate({ params: { channel_id: channel.id, delivery_id: one.id } })}
      >
        Resend message
      </Button>
    );
  const columns = columnsOf(({ id }) => setOpen(id), admin ? again : null);
  return (
    <section className="form" aria-label="Deliveries">
      <div className="card-head">
        <h2>Deliveries</h2>
        <span className="decide-buttons">
          <Select
            compact
            label="Delivery status"
            value={delivery}
            options={[
              ['', 'All'],
              ['waiting', displayWord('waiting')],
              ['delivered', 'delivered'],
              ['dead', displayWord('dead')],
              ['expired', 'expired'],
            ]}
            onValue={(next) => change({ delivery: next }, true)}
          />
          <Button
            kind="quiet"
            icon="refresh"
            aria-label="Refresh deliveries"
            onClick={() => void deliveriesQuery.refetch()}
          />
        </span>
      </div>
      {replay.error && <Failed error={replay.error} />}
      <QueryResult query={deliveriesQuery} rows={3}>
        {(list) =>
          list.length === 0 ? (
            <p className="muted">
              {delivery === ''
                ? 'No deliveries yet. Messages appear here when a call that requires approval matches.'
                : 'No deliveries with this status. Select another status.'}
            </p>
          ) : (
            <Table
              name="deliveries of a channel"
              sortAs="deliveries_sort"
              rows={list}
              columns={columns}
              keyOf={(one) => one.id}
              bar={
                list.length === newest ? `newest ${newest}` : counted(list.length, 'delivery', 'deliveries')
              }
            />
          )
        }
      </QueryResult>
      <Dialog title="Delivery" open={openDelivery !== undefined} onClose={() => setOpen(null)}>
        {openDelivery && <Attempts delivery={openDelivery} />}
      </Dialog>
    </section>
  );
}

type Delivery = Reply<'listDeliveries'>[number];
type Attempt = Delivery['log'][number];

const outcomeOf = ({ error, status }: Attempt): string =>
  `${error === null ? 'delivered' : (failures[error] ?? error)}${status === null ? '' : `, status ${status}`}`;

const lastOf = ({ log }: Delivery): string => {
  const last = log.at(-1);
  return last ? outcomeOf(last) : 'not attempted yet';
};

const columnsOf = (
  open: (of: Delivery) => void,
  again: ((of: Delivery) => JSX.Element | null) | null,
): readonly Column<Delivery>[] => [
  {
    key: 'event',
    label: 'Event',
    width: 2.2,
    sort: (one) => one.event,
    cell: (one) => (
      <button type="button" className="cell-link" onClick={() => open(one)}>
        {one.event}
      </button>
    ),
  },
  verdictColumn('status', 'Status', (one) => one.status, 1.5),
  ...(again ? [{ key: 'actions', label: 'Actions', width: 1.9, cell: again }] : []),
  timeColumn('made', 'Created', (one) => one.created_at, 1.2),
  countColumn('attempts', 'Attempts', (one) => one.attempts, 1.1),
  { key: 'last', label: 'Last result', width: 2, sort: lastOf, cell: lastOf },
  dueColumn('next', 'Next attempt', (one) => one.next_attempt_at, 1.4),
];

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
