// What was sent to a channel: every delivery with its attempts, and the button that sends one again.
import { Link } from '@tanstack/react-router';
import { type JSX, useEffect } from 'react';
import type { Input } from '../../lib/api.ts';
import { after, type Timer } from '../../lib/browser.ts';
import { refresh, useAction, useCall } from '../../lib/query.ts';
import { useFilters } from '../../lib/search.ts';
import { counted } from '../../lib/text.ts';
import { followFrames } from '../../live/live.ts';
import { Answer, Button, Failed, Select, Time, Verdict } from '../../ui/parts.tsx';
import type { Channel } from './kinds.ts';

const newest = 100;
/** The stream tells of approvals, not of attempts to deliver: while one is on its way the list is read again. */
const attemptMs = 2_000;
/** A delivery is written after the frame of its approval. */
const writtenMs = 1_500;

const failures: { readonly [failure: string]: string } = {
  refused_address: 'the hub may not send to this address',
  unresolved: 'the name of the host is not known',
  connection: 'no connection',
  timeout: 'no answer in time',
  too_large: 'the answer was too large',
  rate_limited: 'asked to wait',
  status: 'refused',
  rejected: 'refused by the platform',
  channel_gone: 'the channel was deleted',
  channel_disabled: 'the channel is off',
};

/** Reads the list once more a moment after an approval changed. */
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

export function Deliveries({
  channel,
  admin,
}: {
  readonly channel: Channel;
  readonly admin: boolean;
}): JSX.Element {
  const [{ delivery = '' }, change] = useFilters();
  const input = {
    params: { channel_id: channel.id },
    query: { limit: newest, ...(delivery === '' ? {} : { status: delivery }) },
  } as Input<'listDeliveries'>;
  const known = useCall('listDeliveries', input);
  const waits = known.data?.some(({ status }) => status === 'waiting') ?? false;
  const found = useCall('listDeliveries', input, waits ? { refetchMs: attemptMs } : {});
  useSentSoon();
  const replay = useAction('replayDelivery', ['listDeliveries']);
  return (
    <section className="form" aria-label="Deliveries">
      <div className="card-head">
        <h3>What was sent</h3>
        <span className="decide-buttons">
          <Select
            compact
            label="Status of deliveries"
            value={delivery}
            options={[
              ['', 'All'],
              ['waiting', 'waiting'],
              ['delivered', 'delivered'],
              ['dead', 'given up'],
              ['expired', 'expired'],
            ]}
            onValue={(next) => change({ delivery: next }, true)}
          />
          <Button
            kind="quiet"
            icon="refresh"
            aria-label="Read the deliveries again"
            onClick={() => void found.refetch()}
          />
        </span>
      </div>
      {replay.error && <Failed error={replay.error} />}
      <Answer of={found} rows={3}>
        {(list) =>
          list.length === 0 ? (
            <p className="muted">Nothing {delivery === '' ? 'was sent to it yet' : 'of this status'}.</p>
          ) : (
            <>
              <ul className="feed">
                {list.map((one) => (
                  <li key={one.id} className="feed-row">
                    <details className="delivery">
                      <summary>
                        <Verdict of={one.status} /> {one.event} <Time at={one.created_at} className="muted" />{' '}
                        <span className="muted">{counted(one.attempts, 'attempt')}</span>
                      </summary>
                      <ol>
                        {one.log.map((attempt) => (
                          <li key={attempt.at}>
                            <Time at={attempt.at} />:{' '}
                            {attempt.error === null
                              ? 'delivered'
                              : (failures[attempt.error] ?? attempt.error)}
                            {attempt.status === null ? '' : `, status ${attempt.status}`},{' '}
                            {attempt.duration_ms} ms
                          </li>
                        ))}
                      </ol>
                      <p>
                        {one.next_attempt_at && (
                          <>
                            Next attempt <Time at={one.next_attempt_at} />.{' '}
                          </>
                        )}
                        <Link to="/approvals" search={{ id: one.approval_id } as never}>
                          The approval
                        </Link>
                      </p>
                    </details>
                    {admin && one.status !== 'waiting' && (
                      <Button
                        kind="quiet"
                        icon="refresh"
                        busy={replay.isPending && replay.variables?.params.delivery_id === one.id}
                        onClick={() =>
                          replay.mutate({ params: { channel_id: channel.id, delivery_id: one.id } })
                        }
                      >
                        Send again
                      </Button>
                    )}
                  </li>
                ))}
              </ul>
              {list.length === newest && <p className="muted">The newest {newest}.</p>}
            </>
          )
        }
      </Answer>
    </section>
  );
}
