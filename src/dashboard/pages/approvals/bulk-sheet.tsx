// The sheet before several calls are approved: their sums, common arguments and differences.
import { useQueries } from '@tanstack/react-query';
import { type JSX, type KeyboardEvent, useState } from 'react';
import { useActionBlockReason } from '../../frame/connection.tsx';
import { call } from '../../lib/api.ts';
import { keyOf } from '../../lib/query.ts';
import { counted } from '../../lib/text.ts';
import { CallArguments } from '../../ui/arguments.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/form.tsx';
import { DataParagraph } from '../../ui/names.tsx';
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
  readonly reason: string;
  readonly onReason: (reason: string) => void;
  readonly onDecide: (approved: boolean) => void;
  readonly onClose: () => void;
}

/** The sheet over the queue; closed without a group. */
export const BulkDialog = ({
  group,
  ...rest
}: Omit<BulkSheetProps, 'group'> & { readonly group: AlikeCalls | null }): JSX.Element => (
  <Dialog
    title={`Approve ${counted(group?.calls.length ?? 0, 'call')}`}
    shape="wide"
    open={group !== null}
    onClose={rest.onClose}
  >
    {group && <BulkSheet group={group} {...rest} />}
  </Dialog>
);

/** Different arguments from which on the number of calls must be typed, in production. */
const manyDiffer = 2;

function BulkSheet({ group, reason, onReason, onDecide, onClose }: BulkSheetProps): JSX.Element {
  const calls = useWholeCalls(group.calls);
  const cannot = useActionBlockReason('decideApproval', [group.calls[0]?.env ?? 'production']);
  const [isRead, setRead] = useState(false);
  const [typed, setTyped] = useState('');
  const { same, differing } = compareArguments(calls);
  const sums = sumArguments(calls);
  const names = new Set(differing.flatMap((args) => Object.keys(args)));
  const number = String(calls.length);
  const needsNumber = group.env === 'production' && names.size >= manyDiffer;
  const canApprove = isRead && cannot === null && (!needsNumber || typed === number);
  const send = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.repeat || !canApprove) return;
    event.preventDefault();
    onDecide(true);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys of the fields and buttons inside
    <div className="form" onKeyDown={send}>
      <p>
        <Data text={group.tool} max={160} /> in <Env name={group.env} />
        {group.contracts.length > 0 && (
          <Data before=", asked by " text={group.contracts.join(', ')} max={300} />
        )}
      </p>
      <Field label="Reason" value={reason} maxLength={2000} placeholder="Optional" onValue={onReason} />
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
            <h3>{names.size === 0 ? 'Calls' : 'Different arguments'}</h3>
            <ul className="feed" aria-label="Calls">
              {calls.map((one, at) => (
                <li key={one.id} className="bulk-call">
                  <p className="bulk-call-head">
                    <Data text={one.agent_id} max={160} /> <Countdown approval={one} />
                  </p>
                  {typeof one.message === 'string' && (
                    <DataParagraph className="muted" text={one.message} mono={false} max={300} />
                  )}
                  {names.size > 0 && <CallArguments args={differing[at]} beside={same} />}
                </li>
              ))}
            </ul>
          </section>
        </div>
      </ReadToEnd>
      {!isRead && <p className="decide-unread">{unreadReason}</p>}
      {cannot && <p className="field-error">{cannot}</p>}
      {needsNumber && (
        <Field label={`Type ${number} to approve`} value={typed} inputMode="numeric" onValue={setTyped} />
      )}
      <div className="decide-buttons">
        <Button kind="primary" disabled={!canApprove} onClick={() => onDecide(true)}>
          Approve {number}
        </Button>
        <Button kind="danger" disabled={cannot !== null} onClick={() => onDecide(false)}>
          Deny {number}
        </Button>
        <Button onClick={onClose}>Cancel</Button>
        <span className="muted">The decision is sent after 5 s. Until then you can take it back.</span>
      </div>
    </div>
  );
}
