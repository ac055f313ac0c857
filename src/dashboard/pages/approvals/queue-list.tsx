// The rows of the queue: the head of each group with its sum and its review, and a row for each call.
import type { JSX, ReactNode } from 'react';
import { argumentLine } from '../../lib/argument-line.ts';
import { count, counted, visible } from '../../lib/text.ts';
import { Button, Data, Env, Name, Verdict } from '../../ui/parts.tsx';
import type { AlikeCalls } from './alike.ts';
import { Countdown } from './card.tsx';
import type { Approval } from './model.ts';
import { moneyIn, type Section } from './sections.ts';
import { Taken } from './take.tsx';

export interface QueueListProps {
  readonly sections: readonly Section[];
  /** Numbers of all calls, where the list contains a part. */
  readonly counts: ReadonlyMap<string, number>;
  readonly chosen: Approval | undefined;
  readonly selected: ReadonlySet<string>;
  /** Rows with an unsent decision. */
  readonly heldIds: ReadonlySet<string>;
  readonly statusOf: (row: Approval) => Approval['status'];
  readonly onOpen: (row: Approval) => void;
  readonly onPick: (id: string, withShift: boolean) => void;
  readonly onReview: (group: AlikeCalls) => void;
  /** Content below a row. */
  readonly below: (row: Approval) => ReactNode;
  /** Rows open their content below themselves. */
  readonly folds: boolean;
}

export function QueueList(props: QueueListProps): JSX.Element {
  const { sections, counts, onReview } = props;
  return (
    <div role="grid" className="queue-list" aria-label="Approvals">
      {sections.map(({ key, group, rows }) => [
        group && (
          <div role="row" key={key} className="queue-group">
            <div role="gridcell">
              <Data text={group.tool} max={60} />
              {group.contracts.length > 0 && <Data before=" · " text={group.contracts.join(', ')} max={60} />}{' '}
              <Env name={group.env} /> {count(counts.get(key) ?? group.calls.length)}
              <Sum group={group} isCut={(counts.get(key) ?? 0) > group.calls.length} />
            </div>
            <div role="gridcell">
              <Review group={group} heldIds={props.heldIds} onReview={onReview} />
            </div>
          </div>
        ),
        ...rows.map((row) => <Row key={row.id} row={row} isMember={group !== null} {...props} />),
      ])}
    </div>
  );
}

/** @param isCut the list contains a part of the group, so the sum names its number of calls */
function Sum({ group, isCut }: Readonly<{ group: AlikeCalls; isCut: boolean }>): JSX.Element | null {
  const money = moneyIn(group);
  if (money === '') return null;
  return (
    <span className="numbers">
      {' '}
      Σ {money}
      {isCut && ` in ${counted(group.calls.length, 'call')}`}
    </span>
  );
}

/** The calls of a group that have no unsent decision. */
export const openCalls = (group: AlikeCalls, heldIds: ReadonlySet<string>): AlikeCalls => ({
  ...group,
  calls: group.calls.filter(({ id }) => !heldIds.has(id)),
});

export function Review({
  group,
  heldIds,
  onReview,
}: {
  readonly group: AlikeCalls;
  readonly heldIds: ReadonlySet<string>;
  readonly onReview: (group: AlikeCalls) => void;
}): JSX.Element | null {
  const open = openCalls(group, heldIds);
  if (open.calls.length === 0) return null;
  return (
    <Button hint="Shift+A" onClick={() => onReview(open)}>
      Review {open.calls.length}
    </Button>
  );
}

function Row({
  row,
  isMember,
  chosen,
  selected,
  heldIds,
  statusOf,
  onOpen,
  onPick,
  below,
  folds,
}: QueueListProps & { readonly row: Approval; readonly isMember: boolean }): JSX.Element {
  const status = statusOf(row);
  const isHeld = heldIds.has(row.id);
  const isChosen = row.id === chosen?.id;
  const content = below(row);
  return (
    <div role="row" className={`queue-item ${status === 'pending' && !isHeld ? '' : 'queue-done'}`}>
      <div role="gridcell" className="queue-row">
        <input
          type="checkbox"
          aria-label={`Select ${visible(row.tool_name).slice(0, 60)} from ${visible(row.agent_id).slice(0, 60)}`}
          checked={selected.has(row.id)}
          disabled={status !== 'pending' || isHeld}
          onChange={({ nativeEvent }) =>
            onPick(row.id, nativeEvent instanceof MouseEvent && nativeEvent.shiftKey)
          }
        />
        <button
          type="button"
          className="queue-open"
          aria-current={isChosen ? 'true' : undefined}
          aria-expanded={folds ? isChosen : undefined}
          onClick={() => onOpen(row)}
        >
          <span className="queue-what">
            {isMember ? (
              <Name text={argumentLine(row.tool_args) || row.tool_name} />
            ) : (
              <Name text={row.tool_name} />
            )}
            <span className="muted">
              <Name text={row.agent_id} />
            </span>
          </span>
          <Taken approval={row} />
          {status === 'pending' ? <Countdown approval={row} /> : <Verdict word={status} />}
        </button>
      </div>
      {content && <div role="gridcell">{content}</div>}
    </div>
  );
}
