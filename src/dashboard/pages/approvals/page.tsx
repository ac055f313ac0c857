// Approvals: the queue by urgency, one decided at a time or many together, and the history of who decided what.
import './approvals.css';
import { type JSX, useEffect, useRef, useState } from 'react';
import { useCannotAct } from '../../frame/connection.tsx';
import type { Input } from '../../lib/api.ts';
import { useCommand } from '../../lib/commands.ts';
import { useCall, useIsOld } from '../../lib/query.ts';
import { useEnv, useFilters } from '../../lib/search.ts';
import { useStore } from '../../lib/store.ts';
import { counted } from '../../lib/text.ts';
import { Answer } from '../../ui/answer.tsx';
import { SearchInput, Views } from '../../ui/list.tsx';
import { useNarrow } from '../../ui/narrow.ts';
import { useKeys, useStepKeys } from '../../ui/overlay.tsx';
import { Empty, Name, PageHead, Verdict } from '../../ui/parts.tsx';
import { waitingInput } from '../home/ahead.ts';
import { Bulk } from './bulk.tsx';
import { ApprovalCard, Countdown } from './card.tsx';
import { History } from './history.tsx';
import { type Approval, deadlineOf, decide, decisions, isOfSample } from './model.ts';
import { NotifySwitch } from './notify.tsx';

/** The most that the queue shows; a cap is said as one. */
const max = 200;

export default function Approvals(): JSX.Element {
  const [{ view = 'waiting', search = '' }] = useFilters();
  const env = useEnv();
  const input: Input<'listApprovals'> =
    search === ''
      ? waitingInput(env)
      : { query: { status: 'pending', limit: max, search, ...(env ? { env } : {}) } };
  const pending = useCall('listApprovals', input, { keep: true });
  const isOld = useIsOld(pending, `${env} ${search}`);
  const says = pending.data && !isOld ? saysOf(pending.data, search !== '') : null;
  return (
    <div className="page approvals-page">
      <PageHead title="Approvals" says={says}>
        <NotifySwitch />
      </PageHead>
      <Views
        label="Views of approvals"
        views={[
          ['waiting', 'Waiting'],
          ['history', 'History'],
        ]}
      />
      <search className="filter-bar">
        <SearchInput key={view} of="approvals" holds="Agent, tool, contract, message, person" />
      </search>
      {view === 'history' ? (
        <History />
      ) : (
        <Answer of={pending} isOld={isOld}>
          {(list) => <Queue list={list} narrowed={search !== ''} />}
        </Answer>
      )}
    </div>
  );
}

/** The sample run's call is named apart: neither the badge nor Home counts it. */
function saysOf(list: readonly Approval[], narrowed: boolean): string {
  const waiting = list.filter(({ status }) => status === 'pending');
  const size = waiting.filter((one) => !isOfSample(one)).length;
  const hasSample = size < waiting.length;
  if (narrowed)
    return `${counted(waiting.length, 'call')} of those that wait ${waiting.length === 1 ? 'fits' : 'fit'}.`;
  if (size === 0) return hasSample ? "Only the sample run's call waits." : 'Nothing waits for a person.';
  const calls = waiting.length === max ? `${max}+ calls` : counted(size, 'call');
  return `${calls} ${size === 1 ? 'waits' : 'wait'} for a person${hasSample ? ", and the sample run's" : ''}.`;
}

/**
 * The queue in its order, with what was decided while it was looked at: those stay in their place until another is
 * chosen, because nothing may move under a hand.
 */
function useQueue(list: readonly Approval[], id: string | undefined): readonly Approval[] {
  const kept = useRef(new Map<string, Approval>());
  const inList = new Map(list.map((one) => [one.id, one]));
  for (const [key, one] of kept.current) {
    const gone = !inList.has(key);
    const done = gone || inList.get(key)?.status !== 'pending';
    if (done && key !== id) kept.current.delete(key);
    else if (gone && one.status === 'pending') {
      const decision = decisions.get()[key];
      if (decision?.state === 'decided') kept.current.set(key, decision.approval);
    }
  }
  for (const one of list) if (one.status === 'pending' || one.id === id) kept.current.set(one.id, one);
  return [...kept.current.values()].sort((a, b) => deadlineOf(a) - deadlineOf(b));
}

/**
 * What became of the one that is looked at, where the list has it no more and no frame told: it was decided, or a
 * longer queue pushed it out.
 */
function useOutcome(chosen: Approval | undefined, list: readonly Approval[]): Approval | undefined {
  const isLost = chosen?.status === 'pending' && !list.some(({ id }) => id === chosen.id);
  const found = useCall(
    'getApproval',
    { params: { approval_id: chosen?.id ?? '' } },
    { enabled: isLost && decisions.get()[chosen.id]?.state !== 'decided' },
  );
  return isLost && found.data?.id === chosen.id ? found.data : chosen;
}

function Queue({
  list,
  narrowed,
}: {
  readonly list: readonly Approval[];
  readonly narrowed: boolean;
}): JSX.Element {
  const [{ id }, change] = useFilters();
  const narrow = useNarrow();
  const known = useStore(decisions);
  const cannot = useCannotAct();
  // The first one is chosen without being named in the address: it too stays when somebody decides it.
  const last = useRef<string | undefined>(undefined);
  const queue = useQueue(list, id ?? last.current);
  const [reasons, setReasons] = useState<{ readonly [id: string]: string }>({});
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const implied =
    narrow || id !== undefined ? undefined : (queue.find((row) => row.id === last.current) ?? queue[0]);
  const listed = queue.find((row) => row.id === id) ?? implied;
  last.current = listed?.id;
  const chosen = useOutcome(listed, list);
  const rows = queue.map((row) => (row === listed && chosen ? chosen : row));
  const at = chosen ? rows.indexOf(chosen) : -1;
  const stepped = useRef(false);
  useStepKeys(rows, at, (row) => {
    stepped.current = true;
    change({ id: row.id }, true);
  });
  useEffect(() => {
    // The focus goes along with j and k: the row is heard, and comes into view.
    if (!stepped.current || id === undefined) return;
    stepped.current = false;
    document.querySelector<HTMLElement>('.queue-open[aria-current]')?.focus();
  }, [id]);
  const lastPick = useRef<string | null>(null);
  const open = rows.filter((row) => statusOf(row, known) === 'pending').map((row) => row.id);
  const isAll = open.length > 0 && open.every((key) => selected.has(key));
  const press = (approved: boolean) => (): void => {
    if (!chosen || cannot) return;
    change({ id: chosen.id }, true);
    void decide(chosen.id, approved, reasons[chosen.id] ?? '');
  };
  const focussed = chosen?.status === 'pending' ? chosen : null;
  const named = focussed && `${focussed.tool_name} of ${focussed.agent_id}`;
  useCommand('approve', focussed && press(true), { label: `Approve ${named}`, why: cannot });
  useCommand('deny', focussed && press(false), { label: `Deny ${named}`, why: cannot });
  useKeys({
    r: () => document.querySelector<HTMLInputElement>('.approval .reason')?.focus(),
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
  /** With Shift: all from the last one that was picked. */
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
      approval={approval}
      reason={reasons[approval.id] ?? ''}
      onReason={(reason) => setReasons((before) => ({ ...before, [approval.id]: reason }))}
    />
  );
  if (rows.length === 0 && id === undefined) {
    return narrowed ? (
      <Empty title="No call that waits fits">
        <p>Change the words, or look at the history.</p>
      </Empty>
    ) : (
      <Empty title="Nothing waits for you">
        <p>An agent's call lands here when a contract asks for a person. It appears by itself.</p>
      </Empty>
    );
  }
  const live = open.filter((key) => selected.has(key));
  return (
    <>
      {live.length > 0 && <Bulk ids={live} onDone={(left) => setSelected(new Set(left))} />}
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
            const status = statusOf(row, known);
            return (
              <li key={row.id} className={`queue-item ${status === 'pending' ? '' : 'queue-done'}`}>
                <div className="queue-row">
                  <input
                    type="checkbox"
                    aria-label={`Select ${row.tool_name.slice(0, 60)} of ${row.agent_id.slice(0, 60)}`}
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
                    {status === 'pending' ? <Countdown approval={row} /> : <Verdict of={status} />}
                  </button>
                </div>
                {narrow && row === chosen && card(row)}
              </li>
            );
          })}
        </ul>
        {!narrow && (chosen ? card(chosen) : id !== undefined && <Linked id={id} card={card} />)}
      </div>
      {narrow && !chosen && id !== undefined && <Linked id={id} card={card} />}
    </>
  );
}

const statusOf = (row: Approval, known: ReturnType<typeof decisions.get>): Approval['status'] => {
  const decision = known[row.id];
  return decision?.state === 'decided' ? decision.approval.status : row.status;
};

/** An approval that a link names and the queue does not hold, because it was decided long ago. */
function Linked({
  id,
  card,
}: {
  readonly id: string;
  readonly card: (approval: Approval) => JSX.Element;
}): JSX.Element {
  const found = useCall('getApproval', { params: { approval_id: id } });
  if (found.error?.status === 404 || found.error?.status === 422) {
    return (
      <Empty title="This approval does not exist">
        <p>It may be of another workspace, or its record is no longer kept. The queue has what waits now.</p>
      </Empty>
    );
  }
  return <Answer of={found}>{(approval) => card(approval)}</Answer>;
}
