// The queue of pending approvals with one of them open: beside the list, below its row on a narrow screen, or alone on
// a phone.
import { type JSX, type ReactNode, useEffect, useRef, useState } from 'react';
import { linkTo } from '../../lib/address.ts';
import { after } from '../../lib/browser.ts';
import { useCommand } from '../../lib/commands.ts';
import { useActionBlockReason } from '../../lib/may.ts';
import { useFilters } from '../../lib/search.ts';
import { visible } from '../../lib/text.ts';
import { useThingLink } from '../../lib/thing-link.ts';
import { useKeys, useStepKeys } from '../../ui/keys.ts';
import { Empty, Name } from '../../ui/parts.tsx';
import { Split } from '../../ui/split.tsx';
import type { AlikeCalls } from './alike.ts';
import { Bulk, useSelection } from './bulk.tsx';
import { BulkDialog } from './bulk-sheet.tsx';
import { ApprovalCard } from './card.tsx';
import { Outcome } from './decide.tsx';
import { pageThroughCall, useDecideKeys } from './decide-keys.ts';
import { type Held, useHeld } from './held.tsx';
import { LinkedApproval } from './linked.tsx';
import { type Approval, decide, statusOf } from './model.ts';
import { type QueueRows, useOpenRow } from './open-row.ts';
import { openCalls, QueueList, Review } from './queue-list.tsx';
import { decidedOf, useEndOfRows, useSentDecision } from './queue-state.ts';
import { useSnoozed } from './snooze.tsx';
import { SwipedCard } from './swiped-card.tsx';

/** The latest decision on this page. Its outcome appears on the next card. */
interface Passed {
  readonly id: string;
  readonly next: string;
}

/** A new card ignores clicks for this time, because they are meant for the previous card. Milliseconds. */
const arrivalMs = 500;

interface QueueProps extends QueueRows {
  /** In place of the texts of an empty queue; null: one of these. */
  readonly empty: JSX.Element | null;
  /** Loads more calls. */
  readonly onEnd: () => void;
}

/** True for a moment after a new card replaced the decided one. */
function useArrival() {
  const [isArriving, setArriving] = useState(false);
  useEffect(() => {
    if (!isArriving) return;
    document.querySelector('.passed')?.scrollIntoView({ block: 'nearest' });
    const timer = after(arrivalMs, () => setArriving(false));
    return () => timer.cancel();
  }, [isArriving]);
  return [isArriving, setArriving] as const;
}

/** The keys j and k. The focus follows them: screen readers announce the row, and it scrolls into view. */
function useSteps(rows: readonly Approval[], at: number, open: (row: Approval) => void): void {
  const [{ id }] = useFilters();
  const stepped = useRef(false);
  useStepKeys(rows, at, (row) => {
    stepped.current = true;
    open(row);
  });
  useEffect(() => {
    if (!stepped.current || id === undefined) return;
    stepped.current = false;
    document.querySelector<HTMLElement>('.queue-open[aria-current]')?.focus();
  }, [id]);
}

/** Selects and unselects the rows that can be decided. */
function usePicks(
  openIds: readonly string[],
  { ids: selected, setIds: setSelected }: ReturnType<typeof useSelection>,
) {
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
  return {
    isAll,
    /** Selected rows that can still be decided. */
    live: openIds.filter((key) => selected.has(key)),
    toggle,
    toggleAll: () => setSelected(new Set(isAll ? [] : openIds)),
    /** With Shift, selects all rows from the previous one. */
    pick: (key: string, isRange: boolean): void => {
      const [from, to] = [openIds.indexOf(lastPick.current ?? ''), openIds.indexOf(key)];
      if (!isRange || from < 0 || to < 0) toggle(key);
      else {
        const range = openIds.slice(Math.min(from, to), Math.max(from, to) + 1);
        setSelected((before) => new Set([...before, ...range]));
      }
    },
  };
}

/** True for a pending call that no unsent decision contains. */
const isUndecided = (
  row: Approval,
  decisionsById: Parameters<typeof statusOf>[1],
  { unsentIds }: Held,
): boolean => statusOf(row, decisionsById) === 'pending' && !unsentIds.has(row.id);

/** The first group with a call that has no unsent decision. */
const firstOpenGroup = (
  groups: readonly (AlikeCalls | null)[],
  heldIds: ReadonlySet<string>,
): AlikeCalls | undefined =>
  groups.flatMap((one) => (one ? [openCalls(one, heldIds)] : [])).find(({ calls }) => calls.length > 0);

/** The group of the chosen call, and the one that a person reviews. */
function useReview({ sections, chosen }: ReturnType<typeof useOpenRow>, heldIds: ReadonlySet<string>) {
  const [review, setReview] = useState<AlikeCalls | null>(null);
  const group = sections.find(({ rows: own }) => chosen && own.includes(chosen))?.group ?? null;
  const nextGroup = firstOpenGroup([group, ...sections.map((section) => section.group)], heldIds);
  useCommand('reviewGroup', nextGroup ? () => setReview(nextGroup) : null);
  return { group, review, setReview };
}

/** The keys that decide a call. @param call null: no key decides */
function useDecisions(call: Approval | null, reasons: { readonly [id: string]: string }): void {
  const [, change] = useFilters();
  const cannot = useActionBlockReason('decideApproval', call ? [call.env] : []);
  useDecideKeys(call, (approved) => {
    if (!call || cannot) return;
    change({ id: call.id }, true);
    void decide(call.id, approved, reasons[call.id] ?? '');
  });
}

/** The other rows, from the one behind `id` on and round to it. */
function rowsAfter(rows: readonly Approval[], id: string): readonly Approval[] {
  const place = rows.findIndex((row) => row.id === id);
  return [...rows.slice(place + 1), ...rows.slice(0, place)];
}

export function Queue(props: QueueProps): JSX.Element {
  const [, change] = useFilters();
  const isAway = useSnoozed();
  const [passed, setPassed] = useState<Passed | null>(null);
  const [isArriving, setArriving] = useArrival();
  const [reasons, setReasons] = useState<{ readonly [id: string]: string }>({});
  const selection = useSelection();
  const { ids: selected, setIds: setSelected } = selection;
  const held = useHeld(props.list, ({ ids, error }) => {
    selection.setError(error);
    setSelected((before) => new Set([...before, ...ids]));
  });
  const { ids: heldIds } = held;
  const openRow = useOpenRow(props, passed?.id, heldIds);
  const { id, isPhone, narrow, decisionsById, isOpen, chosen, sections, rows } = openRow;
  useThingLink(chosen && linkTo.approval(chosen.id));
  const at = chosen ? rows.indexOf(chosen) : -1;
  useEndOfRows(at, rows.length, props.onEnd);
  const open = (row: Approval): void => {
    setArriving(false);
    change({ id: row.id }, true);
  };
  useSteps(rows, at, open);
  const { group, review, setReview } = useReview(openRow, heldIds);
  useDecisions(chosen && !isArriving && isUndecided(chosen, decisionsById, held) ? chosen : null, reasons);
  useSentDecision(chosen, decisionsById, (decidedId) => {
    const next = rowsAfter(rows, decidedId).find(isOpen);
    if (!next) return;
    setPassed({ id: decidedId, next: next.id });
    setArriving(true);
    change({ id: next.id }, true);
  });
  const openIds = rows.filter(isOpen).map((row) => row.id);
  const picks = usePicks(openIds, selection);
  useKeys({
    x: () => chosen && picks.toggle(chosen.id),
    'shift-x': picks.toggleAll,
    esc: () => change({ id: undefined }, true),
    ' ': pageThroughCall,
  });
  const card = (approval: Approval): JSX.Element => (
    <ApprovalCard
      key={approval.id}
      approval={approval}
      isArriving={isArriving}
      isHeld={held.unsentIds.has(approval.id)}
      reason={reasons[approval.id] ?? ''}
      onReason={(reason) => setReasons((before) => ({ ...before, [approval.id]: reason }))}
    />
  );
  const before = passed && passed.next === chosen?.id ? decidedOf(decisionsById.get(passed.id)) : null;
  const detail: ReactNode = (
    <>
      {before && <PassedCard approval={before} />}
      {chosen ? card(chosen) : id !== undefined && <LinkedApproval id={id} card={card} />}
    </>
  );
  return (
    <>
      <GroupDecisions
        {...{ selection, held, chosen, review, setReview }}
        isLeftOut={(call) => heldIds.has(call.id) || isAway(call) !== props.isSnoozed}
        calls={rows.filter((row) => selected.has(row.id) && isOpen(row))}
      />
      {openIds.length > 1 && <SelectAll {...picks} size={openIds.length} isCut={props.isCut} />}
      {rows.length === 0 && id === undefined ? (
        (props.empty ?? <EmptyQueue {...props} />)
      ) : isPhone ? (
        <SwipedCard
          rows={rows}
          at={at}
          onOpen={open}
          review={group && <Review group={group} heldIds={heldIds} onReview={setReview} />}
        >
          {detail}
        </SwipedCard>
      ) : (
        <div className="queue">
          <QueueList
            {...{ sections, chosen, selected, heldIds }}
            onEnd={props.onEnd}
            statusOf={(row) => statusOf(row, decisionsById)}
            onOpen={(row) => change({ id: narrow && row === chosen ? undefined : row.id }, true)}
            onPick={picks.pick}
            onReview={setReview}
            folds={narrow}
            below={(row) => narrow && row === chosen && detail}
          />
          {!narrow && (
            <>
              <Split name="inbox" label="Width of the list" side="before" />
              <div className="queue-detail">{detail}</div>
            </>
          )}
        </div>
      )}
      {narrow && !chosen && detail}
    </>
  );
}

interface GroupDecisionsProps {
  readonly selection: ReturnType<typeof useSelection>;
  readonly held: Held;
  /** The selected calls that can be decided. */
  readonly calls: readonly Approval[];
  readonly chosen: Approval | undefined;
  readonly review: AlikeCalls | null;
  readonly setReview: (group: AlikeCalls | null) => void;
  readonly isLeftOut: (call: Approval) => boolean;
}

/** The bar for the selected calls, and the sheet in which a group is reviewed. */
function GroupDecisions({
  selection,
  held,
  calls,
  chosen,
  review,
  setReview,
  isLeftOut,
}: GroupDecisionsProps): JSX.Element {
  const [, change] = useFilters();
  const { setIds: setSelected, error, reason, setReason } = selection;
  const send = (sentCalls: readonly Approval[], approved: boolean): void => {
    const ids = new Set(sentCalls.map((one) => one.id));
    setSelected((own) => new Set([...own].filter((key) => !ids.has(key))));
    held.hold(sentCalls, approved, reason);
    setReview(null);
    if (chosen && ids.has(chosen.id)) change({ id: undefined }, true);
  };
  return (
    <>
      <Bulk
        {...{ calls, held, error, reason }}
        onReason={setReason}
        onSelect={(ids) => setSelected(new Set(ids))}
        onClearError={() => selection.setError(null)}
        onReview={setReview}
      />
      <BulkDialog
        group={review}
        isLeftOut={isLeftOut}
        reason={reason}
        onReason={setReason}
        onClose={() => setReview(null)}
        onDecide={send}
      />
    </>
  );
}

const SelectAll = ({
  isAll,
  live,
  toggleAll,
  size,
  isCut,
}: Pick<ReturnType<typeof usePicks>, 'isAll' | 'live' | 'toggleAll'> & {
  readonly size: number;
  readonly isCut: boolean;
}): JSX.Element => (
  <label className="queue-all">
    <input
      type="checkbox"
      checked={isAll}
      ref={(box) => {
        if (box) box.indeterminate = live.length > 0 && !isAll;
      }}
      onChange={toggleAll}
    />
    Select all {size}
    {isCut && ' listed'}
  </label>
);

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
    <Empty
      title="No snoozed approvals"
      text="Approvals that you snooze wait here, and return to the queue before their deadline."
    />
  ) : narrowed ? (
    <Empty
      title="No pending approvals match these filters"
      text="Change the query, or open the decided approvals."
    />
  ) : (
    <Empty
      title="No pending approvals"
      text="Calls appear here automatically when a contract requires approval. To try it, load the sample run."
    />
  );
