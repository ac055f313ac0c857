// The queue of pending approvals with one of them open: beside the list, below its row on a narrow screen, or alone on
// a phone.
import { type JSX, type ReactNode, useEffect, useRef, useState } from 'react';
import { useActionBlockReason } from '../../frame/connection.tsx';
import { after } from '../../lib/browser.ts';
import { useCommand } from '../../lib/commands.ts';
import { useFilters } from '../../lib/search.ts';
import { useStore } from '../../lib/store.ts';
import { visible } from '../../lib/text.ts';
import { useKeys, useStepKeys } from '../../ui/keys.ts';
import { useNarrow, usePhone } from '../../ui/narrow.ts';
import { Button, Empty, Name } from '../../ui/parts.tsx';
import type { AlikeCalls } from './alike.ts';
import { Bulk, useSelection } from './bulk.tsx';
import { BulkDialog } from './bulk-sheet.tsx';
import { ApprovalCard } from './card.tsx';
import { Outcome } from './decide.tsx';
import { useDecideKeys } from './decide-keys.ts';
import { useHeld } from './held.tsx';
import { LinkedApproval } from './linked.tsx';
import { type Approval, decide, decisions, statusOf } from './model.ts';
import { openCalls, QueueList, Review } from './queue-list.tsx';
import { decidedOf, useOutcome, useQueue, useSentDecision } from './queue-state.ts';
import { sectionsOf, useGroupCounts } from './sections.ts';
import { useSnoozed } from './snooze.tsx';

/** The latest decision on this page. Its outcome appears on the next card. */
interface Passed {
  readonly id: string;
  readonly next: string;
}

/** A new card ignores clicks for this time, because they are meant for the previous card. Milliseconds. */
const arrivalMs = 500;

export interface QueueProps {
  readonly list: readonly Approval[];
  readonly narrowed: boolean;
  /** The snoozed calls. */
  readonly isSnoozed: boolean;
  /** More calls are pending than the list contains. */
  readonly isCut: boolean;
}

export function Queue({ list, narrowed, isSnoozed, isCut }: QueueProps): JSX.Element {
  const [{ id }, change] = useFilters();
  const isPhone = usePhone();
  const narrow = useNarrow() && !isPhone;
  const decisionsById = useStore(decisions);
  // The first approval is open without an id in the address. It also stays after a decision.
  const last = useRef<string | undefined>(undefined);
  const [passed, setPassed] = useState<Passed | null>(null);
  const [isArriving, setArriving] = useState(false);
  useEffect(() => {
    if (!isArriving) return;
    document.querySelector('.passed')?.scrollIntoView({ block: 'nearest' });
    const timer = after(arrivalMs, () => setArriving(false));
    return () => timer.cancel();
  }, [isArriving]);
  const isAway = useSnoozed();
  const queue = useQueue(list, [id ?? last.current, passed?.id]).filter((one) => isAway(one) === isSnoozed);
  const [reasons, setReasons] = useState<{ readonly [id: string]: string }>({});
  const selection = useSelection();
  const { ids: selected, setIds: setSelected } = selection;
  const held = useHeld(({ ids, error }) => {
    selection.setError(error);
    setSelected((before) => new Set([...before, ...ids]));
  });
  const { ids: heldIds } = held;
  const isOpen = (row: Approval): boolean =>
    statusOf(row, decisionsById) === 'pending' && !heldIds.has(row.id);
  const implied =
    narrow || id !== undefined
      ? undefined
      : (queue.find((row) => row.id === last.current && !heldIds.has(row.id)) ??
        queue.find(isOpen) ??
        queue[0]);
  const listed = queue.find((row) => row.id === id) ?? implied;
  last.current = listed?.id;
  const chosen = useOutcome(listed, list);
  const cannot = useActionBlockReason('decideApproval', chosen ? [chosen.env] : []);
  const sections = sectionsOf(
    queue.map((row) => (row === listed && chosen ? chosen : row)),
    (row) => statusOf(row, decisionsById) === 'pending',
  );
  const rows = sections.flatMap((section) => section.rows);
  const counts = useGroupCounts(isCut);
  const at = chosen ? rows.indexOf(chosen) : -1;
  const stepped = useRef(false);
  const open = (row: Approval): void => {
    setArriving(false);
    change({ id: row.id }, true);
  };
  useStepKeys(rows, at, (row) => {
    stepped.current = true;
    open(row);
  });
  useEffect(() => {
    // The focus follows j and k: screen readers announce the row, and it scrolls into view.
    if (!stepped.current || id === undefined) return;
    stepped.current = false;
    document.querySelector<HTMLElement>('.queue-open[aria-current]')?.focus();
  }, [id]);
  const [review, setReview] = useState<AlikeCalls | null>(null);
  const groupOf = (row: Approval | undefined): AlikeCalls | null =>
    sections.find(({ rows: own }) => row !== undefined && own.includes(row))?.group ?? null;
  const nextGroup = [groupOf(chosen), ...sections.map(({ group }) => group)]
    .flatMap((group) => (group ? [openCalls(group, heldIds)] : []))
    .find(({ calls }) => calls.length > 0);
  useCommand('reviewGroup', nextGroup ? () => setReview(nextGroup) : null);
  const press = (approved: boolean): void => {
    if (!chosen || cannot) return;
    change({ id: chosen.id }, true);
    void decide(chosen.id, approved, reasons[chosen.id] ?? '');
  };
  useDecideKeys(chosen && isOpen(chosen) && !isArriving ? chosen : null, press);
  useSentDecision(chosen, decisionsById, (decidedId) => {
    const place = rows.findIndex((row) => row.id === decidedId);
    const next = [...rows.slice(place + 1), ...rows.slice(0, place)].find(isOpen);
    if (!next) return;
    setPassed({ id: decidedId, next: next.id });
    setArriving(true);
    change({ id: next.id }, true);
  });
  const openIds = rows.filter(isOpen).map((row) => row.id);
  const isAll = openIds.length > 0 && openIds.every((key) => selected.has(key));
  const lastPick = useRef<string | null>(null);
  const toggle = (key: string): void => {
    lastPick.current = key;
    setSelected((before) => {
      const next = new Set(before);
      if (!next.delete(key)) next.add(key);
      return next;
    });
  };
  /** With Shift, selects all rows from the previous one. */
  const pick = (key: string, isRange: boolean): void => {
    const [from, to] = [openIds.indexOf(lastPick.current ?? ''), openIds.indexOf(key)];
    if (!isRange || from < 0 || to < 0) toggle(key);
    else
      setSelected(
        (before) => new Set([...before, ...openIds.slice(Math.min(from, to), Math.max(from, to) + 1)]),
      );
  };
  useKeys({
    x: () => chosen && toggle(chosen.id),
    'shift-x': () => setSelected(new Set(isAll ? [] : openIds)),
    esc: () => change({ id: undefined }, true),
    ' ': () => document.querySelector('.queue-detail > .approval')?.scrollBy({ top: 400 }),
  });
  const card = (approval: Approval): JSX.Element => (
    <ApprovalCard
      key={approval.id}
      approval={approval}
      isArriving={isArriving}
      reason={reasons[approval.id] ?? ''}
      onReason={(reason) => setReasons((before) => ({ ...before, [approval.id]: reason }))}
    />
  );
  if (rows.length === 0 && id === undefined) return <EmptyQueue narrowed={narrowed} isSnoozed={isSnoozed} />;
  const live = openIds.filter((key) => selected.has(key));
  const before = passed && passed.next === chosen?.id ? decidedOf(decisionsById[passed.id]) : null;
  const detail: ReactNode = (
    <>
      {before && <PassedCard approval={before} />}
      {chosen ? card(chosen) : id !== undefined && <LinkedApproval id={id} card={card} />}
    </>
  );
  const group = groupOf(chosen);
  return (
    <>
      <Bulk
        calls={rows.filter((row) => live.includes(row.id))}
        held={held}
        error={selection.error}
        reason={selection.reason}
        onReason={selection.setReason}
        onSelect={(ids) => setSelected(new Set(ids))}
        onReview={setReview}
      />
      <BulkDialog
        group={review}
        reason={selection.reason}
        onReason={selection.setReason}
        onClose={() => setReview(null)}
        onDecide={(approved) => {
          if (!review) return;
          const ids = review.calls.map((one) => one.id);
          setSelected((own) => new Set([...own].filter((key) => !ids.includes(key))));
          held.hold(review.calls, approved, selection.reason);
          setReview(null);
          if (chosen && ids.includes(chosen.id)) change({ id: undefined }, true);
        }}
      />
      {openIds.length > 1 && (
        <label className="queue-all">
          <input
            type="checkbox"
            checked={isAll}
            ref={(box) => {
              if (box) box.indeterminate = live.length > 0 && !isAll;
            }}
            onChange={() => setSelected(new Set(isAll ? [] : openIds))}
          />
          Select all {openIds.length}
        </label>
      )}
      {isPhone ? (
        <div className="queue-detail">
          <Pager rows={rows} at={at} onOpen={open}>
            {group && <Review group={group} heldIds={heldIds} onReview={setReview} />}
          </Pager>
          {detail}
        </div>
      ) : (
        <div className="queue">
          <QueueList
            sections={sections}
            counts={counts}
            chosen={chosen}
            selected={selected}
            heldIds={heldIds}
            statusOf={(row) => statusOf(row, decisionsById)}
            onOpen={(row) => change({ id: narrow && row === chosen ? undefined : row.id }, true)}
            onPick={pick}
            onReview={setReview}
            folds={narrow}
            below={(row) => narrow && row === chosen && detail}
          />
          {!narrow && <div className="queue-detail">{detail}</div>}
        </div>
      )}
      {narrow && !chosen && detail}
    </>
  );
}

const PassedCard = ({ approval }: { readonly approval: Approval }): JSX.Element => (
  <article className="passed card" aria-label={`Approval of ${visible(approval.tool_name).slice(0, 80)}`}>
    <p className="passed-what">
      <Name text={approval.tool_name} />
      <span className="muted">
        <Name text={approval.agent_id} />
      </span>
    </p>
    <Outcome approval={approval} lost={false} mine />
  </article>
);

const EmptyQueue = ({ narrowed, isSnoozed }: Pick<QueueProps, 'narrowed' | 'isSnoozed'>): JSX.Element =>
  isSnoozed ? (
    <Empty title="No snoozed approvals">
      <p>Approvals that you snooze wait here, and return to the queue before their deadline.</p>
    </Empty>
  ) : narrowed ? (
    <Empty title="No pending approvals match these filters">
      <p>Change the query, or open the decided approvals.</p>
    </Empty>
  ) : (
    <Empty title="No pending approvals">
      <p>
        Calls appear here automatically when a contract requires approval. To try it, load the sample run.
      </p>
    </Empty>
  );

/** On a phone: the place of the open approval, and its neighbours. */
function Pager({
  rows,
  at,
  onOpen,
  children,
}: {
  readonly rows: readonly Approval[];
  readonly at: number;
  readonly onOpen: (row: Approval) => void;
  readonly children: ReactNode;
}): JSX.Element | null {
  if (at < 0) return null;
  const [previous, next] = [rows[at - 1], rows[at + 1]];
  return (
    <nav className="pager" aria-label="Pending approvals">
      <Button
        aria-label="Previous approval"
        disabled={!previous}
        onClick={() => previous && onOpen(previous)}
      >
        ‹
      </Button>
      <span className="numbers">
        {at + 1} of {rows.length}
      </span>
      <Button aria-label="Next approval" disabled={!next} onClick={() => next && onOpen(next)}>
        ›
      </Button>
      {children}
    </nav>
  );
}
