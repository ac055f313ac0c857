// The sheet before a bulk approval: common arguments, differences and sums of the calls.
import { useQueries } from '@tanstack/react-query';
import { type JSX, useState } from 'react';
import { call } from '../../lib/api.ts';
import { keyOf } from '../../lib/query.ts';
import { counted } from '../../lib/text.ts';
import { CallArguments } from '../../ui/arguments.tsx';
import { Button, Data, Env } from '../../ui/parts.tsx';
import { ReadToEnd } from '../../ui/read-to-end.tsx';
import { type AlikeCalls, compareArguments, sumArguments } from './alike.ts';
import { Countdown } from './card.tsx';
import { type Approval, unreadReason } from './model.ts';

/** The calls with all their arguments, because lists leave out large ones. */
function useWholeCalls(calls: readonly Approval[]): readonly Approval[] {
  const isCut = ({ tool_args: args }: Approval): boolean => args !== null && '_truncated' in args;
  const answers = useQueries({
    queries: calls.map((one) => {
      const input = { params: { approval_id: one.id } };
      return {
        queryKey: keyOf('getApproval', input),
        queryFn: ({ signal }: { readonly signal: AbortSignal }) => call('getApproval', input, signal),
        enabled: isCut(one),
      };
    }),
  });
  return calls.map((one, at) => (isCut(one) ? (answers[at]?.data ?? one) : one));
}

export interface BulkSheetProps {
  readonly group: AlikeCalls;
  /** Why decisions are impossible now; null if they are possible. */
  readonly cannot: string | null;
  readonly onApprove: () => void;
  readonly onClose: () => void;
}

export function BulkSheet(props: BulkSheetProps): JSX.Element {
  const { group, cannot, onApprove, onClose } = props;
  const calls = useWholeCalls(group.calls);
  const [isRead, setRead] = useState(false);
  const { same, differing } = compareArguments(calls);
  const sums = sumArguments(calls);
  const isSame = differing.every((args) => Object.keys(args).length === 0);
  return (
    <>
      <p>
        <Data text={group.tool} max={160} /> in <Env name={group.env} />
        {group.contracts.length > 0 && (
          <>
            , asked by <Data text={group.contracts.join(', ')} max={300} />
          </>
        )}
      </p>
      <ReadToEnd key={calls.map(({ id }) => id).join()} onRead={() => setRead(true)}>
        <div className="form">
          {sums.length > 0 && (
            <section className="form">
              <h3>Sums</h3>
              <dl className="arguments">
                {sums.map(({ name, total, calls: count }) => (
                  <div key={`${name} ${total}`} className="argument">
                    <dt>
                      <Data text={name} />
                    </dt>
                    <dd className="numbers">
                      <strong>{total}</strong> <span className="muted">in {counted(count, 'call')}</span>
                    </dd>
                  </div>
                ))}
              </dl>
            </section>
          )}
          {Object.keys(same).length > 0 && (
            <section className="form">
              <h3>Identical arguments</h3>
              <CallArguments args={same} />
            </section>
          )}
          <section className="form">
            <h3>{isSame ? 'Calls' : 'Different arguments'}</h3>
            <ul className="feed" aria-label="Calls">
              {calls.map((one, at) => (
                <li key={one.id} className="bulk-call">
                  <p className="bulk-call-head">
                    <Data text={one.agent_id} max={160} /> <Countdown approval={one} />
                  </p>
                  {typeof one.message === 'string' && (
                    <p className="muted">
                      <Data text={one.message} mono={false} max={300} />
                    </p>
                  )}
                  {!isSame && <CallArguments args={differing[at]} beside={same} />}
                </li>
              ))}
            </ul>
          </section>
        </div>
      </ReadToEnd>
      {!isRead && <p className="decide-unread">{unreadReason}</p>}
      {cannot && <p className="field-error">{cannot}</p>}
      <div className="decide-buttons">
        <Button kind="primary" disabled={!isRead || cannot !== null} onClick={onApprove}>
          Approve {calls.length}
        </Button>
        <Button onClick={onClose}>Cancel</Button>
        <span className="muted">The decision is sent after 5 s. Until then you can take it back.</span>
      </div>
    </>
  );
}
