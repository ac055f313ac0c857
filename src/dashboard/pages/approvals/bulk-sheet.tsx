// The sheet before several calls are approved: their sums, common arguments and differences.
import { useQueries } from '@tanstack/react-query';
import { type JSX, type KeyboardEvent, type ReactNode, useState } from 'react';
import { call } from '../../lib/api.ts';
import { useActionBlockReason } from '../../lib/may.ts';
import { keyOf } from '../../lib/query.ts';
import { count, counted } from '../../lib/text.ts';
import { CallArguments } from '../../ui/arguments.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/form.tsx';
import { DataParagraph } from '../../ui/names.tsx';
import { Button, Data, Env, Skeleton } from '../../ui/parts.tsx';
import { Failed } from '../../ui/query-result.tsx';
import { ReadToEnd } from '../../ui/read-to-end.tsx';
import { type AlikeCalls, compareArguments, differingArguments, sumArguments } from './alike.ts';
import { Countdown } from './card.tsx';
import { type Members, useMembers } from './members.ts';
import { type Approval, unreadReason } from './model.ts';

const isCut = ({ tool_args: args }: Approval): boolean => args !== null && '_truncated' in args;

/** The calls with all their arguments, because lists leave out large ones. */
function useWholeCalls(calls: readonly Approval[]): readonly Approval[] {
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

interface BulkDialogProps {
  /** Null: the sheet is closed. */
  readonly group: AlikeCalls | null;
  readonly reason: string;
  readonly onReason: (reason: string) => void;
  /** @param calls those that the sheet shows */
  readonly onDecide: (calls: readonly Approval[], approved: boolean) => void;
  readonly onClose: () => void;
  /** True for calls that the sheet leaves out, because their decision waits or they are snoozed. */
  readonly isLeftOut: (call: Approval) => boolean;
}

/** The sheet over the queue. */
export function BulkDialog({ group, isLeftOut, ...rest }: BulkDialogProps): JSX.Element {
  const members = useMembers(group, isLeftOut);
  const { calls, next, isLoading, error } = members;
  const size = calls.length;
  const all = group && next !== null ? Math.max(group.hub?.count ?? group.calls.length, size) : size;
  return (
    <Dialog
      title={
        size < all ? `Approve ${count(size)} of ${counted(all, 'call')}` : `Approve ${counted(size, 'call')}`
      }
      shape="wide"
      open={group !== null}
      onClose={rest.onClose}
    >
      {group && size > 0 && <BulkSheet group={group} {...members} all={all} {...rest} />}
      {size === 0 && isLoading && <Skeleton rows={5} />}
      {size === 0 && error && <Failed error={error} onRetry={members.readOn} />}
      {group && size === 0 && !isLoading && !error && next === null && (
        <p className="muted">No call of this group is pending any more.</p>
      )}
    </Dialog>
  );
}

interface BulkSheetProps extends Omit<BulkDialogProps, 'group' | 'isLeftOut'>, Members {
  readonly group: AlikeCalls;
  /** Number of calls in the group. */
  readonly all: number;
}

/** Different arguments from which on the number of calls must be typed, in production. */
const manyDiffer = 2;

function Sums({ calls }: { readonly calls: readonly Approval[] }): ReactNode {
  const sums = sumArguments(calls);
  if (sums.length === 0) return null;
  return (
    <section className="form">
      <h3>Sums</h3>
      <dl className="arguments">
        {sums.map(({ name, total, calls: size }) => (
          <div key={`${name} ${total}`} className="argument">
            <dt>
              <Data text={name} />
            </dt>
            <dd className="numbers">
              <strong>{total}</strong> <span className="muted">in {counted(size, 'call')}</span>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function BulkSheet(props: BulkSheetProps): JSX.Element {
  const { group, reason, onReason, onDecide, onClose, all } = props;
  const calls = useWholeCalls(props.calls);
  const cannot = useActionBlockReason('decideApproval', [calls[0]?.env ?? 'production']);
  // More calls, and arguments that arrive later, must be read too.
  const content = JSON.stringify([calls.map(({ id }) => id), calls.filter(isCut).length]);
  const [readContent, setReadContent] = useState('');
  const isRead = readContent === content;
  const [typed, setTyped] = useState('');
  const { same, differing } = compareArguments(calls);
  const names = new Set(differing.flatMap((args) => Object.keys(args)));
  const number = String(calls.length);
  const needsNumber = group.env === 'production' && differingArguments(calls).length >= manyDiffer;
  const canApprove = isRead && cannot === null && (!needsNumber || typed === number);
  const send = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.repeat || !canApprove) return;
    event.preventDefault();
    onDecide(calls, true);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys of the fields and buttons inside
    <div className="form bulk-sheet" onKeyDown={send}>
      <p>
        <Data text={group.tool} max={160} /> in <Env name={group.env} />
        {group.contracts.length > 0 && (
          <Data before=", asked by " text={group.contracts.join(', ')} max={300} />
        )}
      </p>
      <Field label="Reason" value={reason} maxLength={2000} placeholder="Optional" onValue={onReason} />
      <ReadToEnd key={content} onRead={() => setReadContent(content)}>
        <div className="form">
          <Sums calls={calls} />
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
      {props.next !== null && (
        <p className="bulk-more">
          <Button busy={props.isLoading} onClick={props.readOn}>
            Show more calls
          </Button>{' '}
          <span className="muted">
            {count(calls.length)} of {count(all)} are listed. The decision covers these alone.
          </span>
        </p>
      )}
      {props.error && <Failed error={props.error} onRetry={props.readOn} />}
      {!isRead && <p className="decide-unread">{unreadReason}</p>}
      {cannot && <p className="field-error">{cannot}</p>}
      {needsNumber && (
        <Field label={`Type ${number} to approve`} value={typed} inputMode="numeric" onValue={setTyped} />
      )}
      <div className="decide-buttons">
        <Button kind="primary" disabled={!canApprove} onClick={() => onDecide(calls, true)}>
          Approve {number}
        </Button>
        <Button kind="danger" disabled={cannot !== null} onClick={() => onDecide(calls, false)}>
          Deny {number}
        </Button>
        <Button onClick={onClose}>Cancel</Button>
        <span className="muted">The decision is sent after 5 s. Until then you can take it back.</span>
      </div>
    </div>
  );
}
