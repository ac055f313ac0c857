// The queue of pending approvals with one of them open: beside the list, or in its place on a narrow screen.
import { type JSX, useEffect, useRef, useState } from 'react';
import { useActionBlockReason } from '../../frame/connection.tsx';
import { after } from '../../lib/browser.ts';
import { useCall } from '../../lib/query.ts';
import { useFilters } from '../../lib/search.ts';
import { useStore } from '../../lib/store.ts';
import { visible } from '../../lib/text.ts';
import { useNarrow } from '../../ui/narrow.ts';
import { useKeys, useStepKeys } from '../../ui/overlay.tsx';
import { Empty, Name, Verdict } from '../../ui/parts.tsx';
import { Bulk } from './bulk.tsx';
import { ApprovalCard, Countdown } from './card.tsx';
import { Outcome } from './decide.tsx';
import { useDecideKeys } from './decide-keys.ts';
import { LinkedApproval } from './linked.tsx';
import { type Approval, byDeadline, type Decision, decide, decisions, statusOf } from './model.ts';

/**
 * The queue in its order. An approval that is decided while it is open stays in its place until the person selects
 * another one, because nothing may move under the pointer.
 */
function useQueue(list: readonly Approval[], looked: readonly (string | undefined)[]): readonly Approval[] {
  const kept = useRef(new Map<string, Approval>());
  const inList = new Map(list.map((one) => [one.id, one]));
  for (const [key, one] of kept.current) {
    const gone = !inList.has(key);
    const done = gone || inList.get(key)?.status !== 'pending';
    if (done && !looked.includes(key)) kept.current.delete(key);
    else if (gone && one.status === 'pending') {
      const decision = decisions.get()[key];
      if (decision?.state === 'decided') kept.current.set(key, decision.approval);
    }
  }
  for (const one of list)
    if (one.status === 'pending' || looked.includes(one.id)) kept.current.set(one.id, one);
  return [...kept.current.values()].sort(byDeadline);
}

/**
 * The state of the open approval after it left the list without a frame: it was decided, or a longer queue pushed it
 * out.
 */
function useOutcome(chosen: Approval | undefined, list: readonly Approval[]): Approval | undefined {
  const isLost = chosen?.status === 'pending' && !list.some(({ id }) => id === chosen.id);
  const approvalQuery = useCall(
    'getApproval',
    { params: { approval_id: chosen?.id ?? '' } },
    { enabled: isLost && decisions.get()[chosen.id]?.state !== 'decided' },
  );
  return isLost && approvalQuery.data?.id === chosen.id ? approvalQuery.data : chosen;
}

/** The latest decision on this page. Its outcome appears on the next card. */
interface Passed {
  readonly id: string;
  readonly next: string;
}

/** A new card ignores clicks for this time, because they are meant for the previous card. Milliseconds. */
const arrivalMs = 500;

const decidedOf = (decision: Decision | undefined): Approval | null =>
  decision?.state === 'decided' ? decision.approval : null;

/** Calls back after a successful decision from this card, but not if another person decided first. */
function useSentDecision(
  chosen: Approval | undefined,
  decisionsById: { readonly [id: string]: Decision },
  onDecided: (id: string) => void,
): void {
  const sent = useRef<string | null>(null);
  const id = chosen?.id;
  const decision = id === undefined ? undefined : decisionsById[id];
  useEffect(() => {
    const wasSent = sent.current === id;
    sent.current = decision?.state === 'sending' && id !== undefined ? id : null;
    if (wasSent && id !== undefined && decision?.state === 'decided' && decision.mine) onDecided(id);
  });
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

export function Queue({
  list,
  narrowed,
}: {
  readonly list: readonly Approval[];
  readonly narrowed: boolean;
}): JSX.Element {
  const [{ id }, change] = useFilters();
  const narrow = useNarrow();
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
  const queue = useQueue(list, [id ?? last.current, passed?.id]);
  const [reasons, setReasons] = useState<{ readonly [id: string]: string }>({});
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const implied =
    narrow || id !== undefined ? undefined : (queue.find((row) => row.id === last.current) ?? queue[0]);
  const listed = queue.find((row) => row.id === id) ?? implied;
  last.current = listed?.id;
  const chosen = useOutcome(listed, list);
  const cannot = useActionBlockReason('decideApproval', chosen ? [chosen.env] : []);
  const rows = queue.map((row) => (row === listed && chosen ? chosen : row));
  const at = chosen ? rows.indexOf(chosen) : -1;
  const stepped = useRef(false);
  useStepKeys(rows, at, (row) => {
    stepped.current = true;
    setArriving(false);
    change({ id: row.id }, true);
  });
  useEffect(() => {
    // The focus follows j and k: screen readers announce the row, and it scrolls into view.
    if (!stepped.current || id === undefined) return;
    stepped.current = false;
    document.querySelector<HTMLElement>('.queue-open[aria-current]')?.focus();
  }, [id]);
  const lastPick = useRef<string | null>(null);
  const open = rows.filter((row) => statusOf(row, decisionsById) === 'pending').map((row) => row.id);
  const isAll = open.length > 0 && open.every((key) => selected.has(key));
  const press = (approved: boolean): void => {
    if (!chosen || cannot) return;
    change({ id: chosen.id }, true);
    void decide(chosen.id, approved, reasons[chosen.id] ?? '');
  };
  useDecideKeys(chosen?.status === 'pending' && !isArriving ? chosen : null, press);
  useSentDecision(chosen, decisionsById, (decidedId) => {
    const place = rows.findIndex((row) => row.id === decidedId);
    const next = [...rows.slice(place + 1), ...rows.slice(0, place)].find(
      (row) => statusOf(row, decisionsById) === 'pending',
    );
    if (!next) return;
    setPassed({ id: decidedId, next: next.id });
    setArriving(true);
    change({ id: next.id }, true);
  });
  useKeys({
    x: () => chosen && toggle(chosen.id),
    'shift-x': () => setSelected(new Set(isAll ? [] : open)),
    esc: () => change({ id: undefined }, true),
  });
  const toggle = (key: string): void => {
    lastPick.current = key;
    setSelected((before) => {
      const after = new Set(before);
      if (!after.delete(key)) after.add(key);
      return after;
    });
  };
  /** With Shift, selects all rows from the previous one. */
  const pick = (key: string, isRange: boolean): void => {
    const from = open.indexOf(lastPick.current ?? '');
    const to = open.indexOf(key);
    if (!isRange || from < 0 || to < 0) toggle(key);
    else
      setSelected(
        (before) => new Set([...before, ...open.slice(Math.min(from, to), Math.max(from, to) + 1)]),
      );
  };
  const card = (approval: Approval): JSX.Element => (
    <ApprovalCard
      key={approval.id}
      approval={approval}
      isArriving={isArriving}
      reason={reasons[approval.id] ?? ''}
      onReason={(reason) => setReasons((before) => ({ ...before, [approval.id]: reason }))}
    />
  );
  if (rows.length === 0 && id === undefined) {
    return narrowed ? (
      <Empty title="No pending approvals match these filters">
        <p>Change the search text, or open the history.</p>
      </Empty>
    ) : (
      <Empty title="No pending approvals">
        <p>
          Calls appear here automatically when a contract requires approval. To try it, load the sample run.
        </p>
      </Empty>
    );
  }
  const live = open.filter((key) => selected.has(key));
  const before = passed && passed.next === chosen?.id ? decidedOf(decisionsById[passed.id]) : null;
  return (
    <>
      {live.length > 0 && (
        <Bulk
          calls={rows.filter((row) => live.includes(row.id))}
          onSelect={(ids) => setSelected(new Set(ids))}
        />
      )}
      {open.length > 1 && (
        <label className="queue-all">
          <input
            type="checkbox"
            checked={isAll}
            ref={(box) => {
              if (box) box.indeterminate = live.length > 0 && !isAll;
            }}
            onChange={() => setSelected(new Set(isAll ? [] : open))}
          />
          Select all {open.length}
        </label>
      )}
      <div className="queue">
        <ul className="queue-list" aria-label="Queue">
          {rows.map((row) => {
            const status = statusOf(row, decisionsById);
            return (
              <li key={row.id} className={`queue-item ${status === 'pending' ? '' : 'queue-done'}`}>
                <div className="queue-row">
                  <input
                    type="checkbox"
                    aria-label={`Select ${row.tool_name.slice(0, 60)} from ${row.agent_id.slice(0, 60)}`}
                    checked={selected.has(row.id)}
                    disabled={status !== 'pending'}
                    onChange={({ nativeEvent }) =>
                      pick(row.id, nativeEvent instanceof MouseEvent && nativeEvent.shiftKey)
                    }
                  />
                  <button
                    type="button"
                    className="queue-open"
                    aria-current={row === chosen ? 'true' : undefined}
                    aria-expanded={narrow ? row === chosen : undefined}
                    onClick={() => change({ id: narrow && row === chosen ? undefined : row.id }, true)}
                  >
                    <span className="queue-what">
                      <Name text={row.tool_name} />
                      <span className="muted">
                        <Name text={row.agent_id} />
                      </span>
                    </span>
                    {status === 'pending' ? <Countdown approval={row} /> : <Verdict word={status} />}
                  </button>
                </div>
                {narrow && before?.id === row.id && <PassedCard approval={before} />}
                {narrow && row === chosen && card(row)}
              </li>
            );
          })}
        </ul>
        {!narrow && (
          <div className="queue-detail">
            {before && <PassedCard approval={before} />}
            {chosen ? card(chosen) : id !== undefined && <LinkedApproval id={id} card={card} />}
          </div>
        )}
      </div>
      {narrow && !chosen && id !== undefined && <LinkedApproval id={id} card={card} />}
    </>
  );
}
